// The extension in Theia, an editor with a real extension host, and in a real Chromium: a scripted agent works, everything is clicked, and
// the files on disk are compared. `.ci/vscode --theia` runs it. $CKPT_SHOTS is a folder for pictures.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";

const { CKPT_CHROMIUM, CKPT_HOOK_BINARY, CKPT_PLUGINS, CKPT_SHOTS, CKPT_THEIA } = process.env;
const { chromium } = createRequire(path.join(CKPT_THEIA, "package.json"))("playwright-core");

/** An editor that saves by itself has no unsaved text for long. */
const PREFERENCES = { "files.autoSave": "off", "files.autoSaveDelay": 1_000_000 };

const LONGEST = 120_000;
const LINES = Array.from({ length: 12 }, (_, at) => `${at + 1}\n`).join("");

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "ckpt-theia.")));
const shop = path.join(root, "shop");
const settings = path.join(root, "home", ".theia", "settings.json");
const env = {
  ...process.env,
  CKPT_HOOK_HOME: path.join(root, "store"),
  HOME: path.join(root, "home"),
  THEIA_CONFIG_DIR: path.join(root, "home", ".theia"),
  PATH: `${path.join(root, "bin")}:${process.env.PATH}`,
};
let theia;
let browser;
let page;
let address;

const read = (name) => fs.readFileSync(path.join(shop, name), "utf8");
const write = (name, text) => fs.writeFileSync(path.join(shop, name), text);

function event(kind, id, more = {}) {
  const input = JSON.stringify({ event: kind, session_id: "chat", message_id: id, cwd: shop, ...more });
  const { status, stderr } = spawnSync(CKPT_HOOK_BINARY, ["event"], { input, env, encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

function begin(id, prompt, more = {}) {
  event("user_message", id, { prompt, ...more });
  event("tool_start", id, { tool_use_id: id, tool_name: "shell", ...more });
}

function end(id, more = {}) {
  event("tool_finish", id, { tool_use_id: id, tool_name: "shell", ...more });
  event("turn_end", id, more);
}

function play(id, prompt, work) {
  begin(id, prompt);
  work();
  end(id);
}

/** A free port. */
function port() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function shot(name, where = page) {
  if (CKPT_SHOTS) await where.screenshot({ path: path.join(CKPT_SHOTS, `${name}.png`) });
}

/** A row of a tree, by a part of its text. */
const row = (text, where = page) => where.locator(".theia-TreeNode", { hasText: text }).first();
/** A row of a file, by its name. */
const file = (name, where = page) => row(new RegExp(`^${name.replace(".", "\\.")}`), where);
const dialog = (text) => page.locator(".dialogBlock, .theia-notification-list-item", { hasText: text }).first();
const said = (text) => page.locator(".theia-notification-list-item", { hasText: text }).first();
const tab = (text) => page.locator(".lm-TabBar-tab", { hasText: text }).first();

const modified = (text) => page.locator(".monaco-diff-editor .modified .view-line", { hasText: text }).first();
const title = (text) => page.locator(`[title^="${text}"]:visible`).last();

async function press(text, title) {
  const found = row(text);
  await found.hover();
  await found.locator(`[title^="${title}"]`).click();
}

/** Picks a command from the palette. */
async function command(name) {
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input").first();
  await input.waitFor({ state: "visible" });
  await input.fill(`>ckpt-hook: ${name}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
}

async function pick(text) {
  await page.locator(".quick-input-list .monaco-list-row", { hasText: text }).first().click();
}

async function open(url = address) {
  const opened = await browser.newPage({ viewport: { width: 1400, height: 880 } });
  opened.setDefaultTimeout(LONGEST);
  await opened.goto(url);
  await opened.locator("#theia-left-content-panel, .theia-app-left").first().waitFor();
  return opened;
}

/** Theia fills a view that is open when the window comes, not one that is opened for the first time later. */
async function view(opened) {
  await opened
    .locator('[id$="view-container:workbench.view.extension.ckpt-hook"], .lm-TabBar-tab[title="ckpt-hook"]')
    .first()
    .click();
  await opened.locator('[id="plugin-view:ckpt-hook.messages"]').first().waitFor();
  await opened.waitForTimeout(1500);
  await opened.reload();
  await opened.locator("#theia-left-content-panel, .theia-app-left").first().waitFor();
}

async function until(holds, what) {
  const last = Date.now() + LONGEST;
  while (!(await holds())) {
    assert.ok(Date.now() < last, what);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Closes what was said, so that a test sees only its own. */
async function quiet() {
  for (const close of await page.locator(".theia-notification-toasts .codicon-close").all())
    await close.click({ timeout: 1000 }).catch(() => {});
}

before(
  async () => {
    for (const folder of ["home", "bin", "shop"]) fs.mkdirSync(path.join(root, folder));
    fs.symlinkSync(fs.realpathSync(CKPT_HOOK_BINARY), path.join(root, "bin", "ckpt-hook"));
    assert.equal(spawnSync("git", ["init", "--quiet", shop]).status, 0);
    fs.mkdirSync(path.dirname(settings));
    fs.writeFileSync(settings, JSON.stringify(PREFERENCES));
    write("a.txt", LINES);
    play("m1", "spell it out", () => write("a.txt", LINES.replace("2\n", "two\n").replace("11\n", "eleven\n")));
    write("a.txt", read("a.txt").replace("6\n", "six\n"));
    const at = await port();
    address = `http://127.0.0.1:${at}/#${shop}`;
    const log = fs.openSync(path.join(root, "log"), "w");
    theia = spawn(
      "node_modules/.bin/theia",
      ["start", shop, "--hostname=127.0.0.1", `--port=${at}`, `--plugins=local-dir:${CKPT_PLUGINS}`],
      {
        cwd: CKPT_THEIA,
        env,
        stdio: ["ignore", log, log],
        detached: true,
      },
    );
    await until(
      () =>
        fetch(`http://127.0.0.1:${at}`).then(
          () => true,
          () => false,
        ),
      "Theia starts",
    );
    browser = await chromium.launch({ executablePath: CKPT_CHROMIUM, args: ["--no-sandbox"] });
    page = await open();
  },
  { timeout: 3 * LONGEST },
);

afterEach(async (context) => {
  if (context.error || context.passed === false) await shot(`failed ${context.name}`);
});

after(async () => {
  await browser?.close();
  if (theia) process.kill(-theia.pid);
  fs.rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

test("an untrusted folder is looked at, and nothing is reverted", async () => {
  await page.getByText("No, I don't trust the authors").click();
  await view(page);
  await page
    .getByText("No, I don't trust the authors")
    .click({ timeout: 15_000 })
    .catch(() => {});
  await row("spell it out").waitFor();
  await shot("untrusted");
  const before = read("a.txt");
  await press("spell it out", "Revert to Here…");
  await row("Change 1 file").click();
  await said("not trusted").waitFor();
  assert.equal(read("a.txt"), before);
  await row("Cancel").click();
});

test("the folder is trusted, and a step appears while the agent works", async () => {
  await page.reload();
  await page.getByText("Yes, I trust the authors").click();
  await row("spell it out").waitFor();
  begin("m2", "add more");
  await row("add more").filter({ hasText: "at work" }).waitFor();
  await page.locator("#theia-statusBar", { hasText: "agent at work" }).waitFor();
  await shot("at-work");
  write("b.txt", LINES);
  fs.mkdirSync(path.join(shop, "src"));
  fs.renameSync(path.join(shop, "a.txt"), path.join(shop, "src", "a.txt"));
  end("m2");
  await row("add more").filter({ hasText: "2 files" }).waitFor();
  await row("add more").click();
  await row("renamed from a.txt").waitFor();
  await shot("messages");
});

test("a file opens in the editor's own diff, and the prompt is copied", async () => {
  await row("add more").click();
  await row("spell it out").click();
  await file("a.txt").click();
  await tab("a.txt (“spell it out”)").waitFor();
  await page.locator(".monaco-diff-editor", { hasText: "eleven" }).first().waitFor();
  await shot("diff");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await press("spell it out", "Copy Prompt");
  await until(
    async () => (await page.evaluate(() => navigator.clipboard.readText())) === "spell it out",
    "the prompt is copied",
  );
});

test("only a message is taken back, and undone by the notification's button", async () => {
  await press("add more", "Revert Only This Message");
  await row("Change 3 files").waitFor();
  await shot("plan");
  await row("Change 3 files").click();
  await said("Took back only “add more”").waitFor();
  assert.equal(fs.existsSync(path.join(shop, "b.txt")), false);
  assert.match(read("a.txt"), /two/);
  await page.locator("#theia-statusBar", { hasText: "1 message undone alone" }).waitFor();
  await shot("banner");
  await said("Took back only").getByText("Undo").click();
  await row("Change 3 files").click();
  await said("Undone").waitFor();
  assert.equal(read("b.txt"), LINES);
  await quiet();
});

test("a conflict stays with its reason, and is overwritten only if that is chosen", async () => {
  play("m3", "shout", () => write("b.txt", LINES.replace("5\n", "FIVE\n")));
  await row("shout").waitFor();
  write("b.txt", LINES.replace("5\n", "mine\n"));
  await press("shout", "Revert to Here…");
  await row("same lines").waitFor();
  await shot("conflict");
  await row("same lines").click();
  await tab("b.txt (Go back").waitFor();
  await press("same lines", "Overwrite");
  await row("though").waitFor();
  await press("though", "Keep");
  await row("Stays").waitFor();
  await row("Cancel").click();
  assert.match(read("b.txt"), /mine/);
});

test("unsaved text is named, and saved before a plan is carried out", async () => {
  write("b.txt", LINES.replace("5\n", "FIVE\n"));
  await press("shout", "Show Changes");
  await tab("b.txt (“shout”)").waitFor();
  await command("Open File");
  await tab(/^b\.txt$/).click();
  const editor = page.locator(".monaco-editor:not(.diff-editor *)", { hasText: "FIVE" }).last();
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("unsaved");
  await press("shout", "Revert to Here…");
  await row("unsaved text in the editor: b.txt").waitFor();
  await shot("unsaved");
  await row("Change 1 file").click();
  await dialog("Unsaved text would not go back").waitFor();
  assert.doesNotMatch(read("b.txt"), /unsaved/);
  await page.getByRole("button", { name: "Save and Plan Again" }).click();
  await row("What you saved counts as yours").waitFor();
  assert.match(read("b.txt"), /FIVE[^]*unsaved/);
  await row("Change 1 file").click();
  await said("Went back to before “shout”").waitFor();
  assert.equal(read("b.txt"), `${LINES}unsaved`);
  await page.locator(".monaco-editor:visible .view-line", { hasText: "FIVE" }).last().waitFor({ state: "hidden" });
  await quiet();
});

test("the status bar leads forward again", async () => {
  const bar = page.locator("#theia-statusBar");
  await bar.getByText("1 message hidden").waitFor();
  await bar.getByText("Redo", { exact: true }).click();
  await row("Change 1 file").click();
  await said("Redone").waitFor();
  assert.match(read("b.txt"), /FIVE[^]*unsaved/);
  await bar.getByText("1 message hidden").waitFor({ state: "hidden" });
  await quiet();
});

test("a file and a hunk are reverted from the title of the diff", async () => {
  await press("shout", "Show Changes");
  await tab("b.txt (“shout”)").click();
  await modified("FIVE").click();
  await title("Revert This Hunk").click();
  await said("Reverted one hunk of b.txt").waitFor();
  await shot("hunk");
  assert.equal(read("b.txt"), `${LINES}unsaved`);
  await modified("FIVE").click();
  await title("Revert This Hunk").click();
  await said("nothing of this message is at this line").waitFor();
  await said("Reverted one hunk of b.txt").getByText("Undo").click();
  await row("Change 1 file").click();
  await said("Undone: Restored").waitFor();
  assert.equal(read("b.txt"), `${LINES.replace("5\n", "FIVE\n")}unsaved`);
  await quiet();
  await modified("FIVE").click();
  await title("Revert This File").click();
  await row("Change 1 file").click();
  await said("Reverted b.txt").waitFor();
  assert.equal(read("b.txt"), `${LINES}unsaved`);
  await command("Undo the Last Operation");
  await row("Change 1 file").click();
  await said("Undone: Reverted “shout” alone").waitFor();
  assert.match(read("b.txt"), /FIVE/);
  await quiet();
});

test("a line names its author, and its hover leads back", async () => {
  await tab(/^b\.txt$/).click();
  const line = page.locator(".monaco-editor .view-line", { hasText: "FIVE" }).last();
  await line.click();
  await command("Show or Hide Who Wrote This");
  const note = () =>
    line.evaluate((one) =>
      [...one.querySelectorAll("span")].map((part) => getComputedStyle(part, "::after").content).join(),
    );
  await until(async () => (await note()).includes("“shout”, generic"), "the line names its author");
  await shot("annotated");
  const text = line.locator("span", { hasText: "FIVE" }).last();
  await text.hover();
  const hover = page.locator(".monaco-hover", { hasText: "Written for" }).first();
  await hover.waitFor();
  await shot("hover");
  await hover.getByText("Show message").click();
  await page.locator(".theia-TreeNode.theia-mod-selected", { hasText: "shout" }).waitFor();
  await page.mouse.move(700, 400);
  await text.hover();
  await hover.getByText("Revert this hunk").click();
  await said("Reverted one hunk of b.txt").waitFor();
  assert.equal(read("b.txt"), `${LINES}unsaved`);
  await command("Show or Hide Who Wrote This");
  await quiet();
});

test("a search and a filter leave what was asked for", async () => {
  await command("Search Prompts and Paths");
  await page.locator(".quick-input-widget", { hasText: "Search prompts and paths" }).first().waitFor();
  await page.locator(".quick-input-widget input").first().fill("spell");
  await page.keyboard.press("Enter");
  await row("shout").waitFor({ state: "hidden" });
  await row("spell it out").waitFor();
  await page.getByText("Search: spell").waitFor();
  await shot("search");
  await command("Show Everything Again");
  await row("shout").waitFor();
  await command("Filter…");
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "agent" }).first().waitFor();
  await shot("filter");
  await page.keyboard.press("Escape");
});

test("what changed since a message is compared with the files themselves", async () => {
  await page.locator(".theia-TreeNode", { hasText: "add more" }).first().click({ button: "right" });
  await page.locator(".lm-Menu-item", { hasText: "Show Changes Since This Message" }).first().click();
  // Theia has no editor for several diffs: the files are offered in a list.
  await page.locator(".quick-input-list .monaco-list-row", { hasText: "b.txt" }).first().waitFor();
  await shot("since");
  await pick("b.txt");
  await tab("since before “add more”").waitFor();
});

test("another window and another agent are seen", async () => {
  const other = await open();
  await other
    .getByText("Yes, I trust the authors")
    .click({ timeout: 8_000 })
    .catch(() => {});
  await view(other);
  await row("spell it out", other).waitFor();
  begin("m5", "from elsewhere");
  begin("m6", "and elsewhere", { session_id: "third" });
  for (const one of [page, other]) {
    await row("from elsewhere", one).filter({ hasText: "at work" }).waitFor();
    await row("and elsewhere", one).filter({ hasText: "at work" }).waitFor();
  }
  await press("add more", "Revert to Here…");
  await row("is at work here").waitFor();
  await shot("busy");
  await row("Cancel").click();
  end("m5");
  end("m6", { session_id: "third" });
  for (const one of [page, other])
    await row("and elsewhere", one).filter({ hasText: "at work" }).waitFor({ state: "hidden" });
  await other.close();
});

test("a server that dies comes again", async () => {
  const { stdout } = spawnSync("ps", ["-e", "-o", "pid=,args="], { encoding: "utf8" });
  const servers = stdout
    .split("\n")
    .filter((one) => one.includes(path.join(root, "bin", "ckpt-hook")) && one.includes("serve --stdio"));
  assert.notEqual(servers.length, 0);
  for (const server of servers) {
    try {
      process.kill(Number.parseInt(server, 10), "SIGKILL");
    } catch (error) {
      // That of the window that was closed ends by itself.
      if (error.code !== "ESRCH") throw error;
    }
  }
  play("m7", "after the end", () => write("c.txt", "c\n"));
  await row("after the end").waitFor();
});

test("setting up shows what would be changed, and what doctor says", async () => {
  await command("Install the Hook into All Agents");
  await tab("install.txt").waitFor();
  await page.getByText("left out: no program `claude`").first().waitFor();
  await said("No agent's settings would change").waitFor();
  await shot("install");
  await command("Check the Installation");
  await tab("doctor.txt").waitFor();
  await page.getByText("not installed in any agent").first().waitFor();
  await shot("doctor");
});

test("unclear changes are taken back only if that is chosen, and all is redone", async () => {
  write("u.txt", "before\n");
  event("user_message", "m8", { prompt: "lost", tells_of_tools: true });
  event("step_start", "m8");
  write("u.txt", "after\n");
  event("step_finish", "m8", { tools: [{ tool_use_id: "lost", tool_name: "shell" }] });
  event("turn_end", "m8");
  await row("lost").waitFor();
  await press("lost", "Revert to Here…");
  await row("Stays").waitFor();
  await shot("unclear");
  await press(/^u\.txt/, "Take the Unclear");
  await row("Change 1 file").click();
  await said("Went back to before “lost”").waitFor();
  assert.equal(read("u.txt"), "before\n");
  await page.locator("#theia-statusBar").getByText("Redo All", { exact: true }).click();
  await row("Change 1 file").click();
  await said("Redone all").waitFor();
  assert.equal(read("u.txt"), "after\n");
  await quiet();
});

test("a file and a step are reverted from the tree", async () => {
  event("user_message", "m9", { prompt: "two steps" });
  for (const name of ["s.txt", "t.txt"]) {
    event("step_start", "m9");
    event("tool_start", "m9", { tool_use_id: name, tool_name: "edit" });
    write(name, "1\n");
    event("tool_finish", "m9", { tool_use_id: name, tool_name: "edit" });
    event("step_finish", "m9");
  }
  event("turn_end", "m9");
  await row("two steps").filter({ hasText: "2 files" }).click();
  await press(/^s\.txt/, "Revert This File");
  await row("Change 1 file").click();
  await said("Reverted s.txt").waitFor();
  assert.deepEqual([fs.existsSync(path.join(shop, "s.txt")), read("t.txt")], [false, "1\n"]);
  await row(/^2 steps/).click();
  const step = page.locator(".theia-TreeNode", { hasText: /^edit/ }).last();
  await step.hover();
  await shot("steps");
  await step.locator('[title^="Revert This Step"]').click();
  await row("Change 1 file").click();
  await said("Took back a step of “two steps”").waitFor();
  assert.equal(fs.existsSync(path.join(shop, "t.txt")), false);
  await quiet();
});

test("keys lead through a plan", async () => {
  await row("spell it out").click();
  await page.keyboard.press("Delete");
  await pick("spell it out");
  await row("Cancel").waitFor();
  await page.keyboard.press("Escape");
  await row("Cancel").waitFor({ state: "hidden" });
  await page.keyboard.press("Control+Alt+Backspace");
  await pick("after the end");
  await row("Change 1 file").waitFor();
  await page.keyboard.press("Control+Enter");
  await said("Went back to before “after the end”").waitFor();
  assert.equal(fs.existsSync(path.join(shop, "c.txt")), false);
  await command("Undo the Last Operation");
  await row("Change 1 file").click();
  await said("Undone").waitFor();
  assert.equal(read("c.txt"), "c\n");
  await quiet();
});

/** A message of Claude Code, which keeps a transcript that can be forked. */
function chat(id, before) {
  const session = "0a0a0a0a-0000-4000-8000-000000000001";
  const transcript = path.join(root, "home", ".claude", "projects", "-w", `${session}.jsonl`);
  fs.mkdirSync(path.dirname(transcript), { recursive: true });
  const tell = (name, more) => {
    const payload = { session_id: session, transcript_path: transcript, cwd: shop, hook_event_name: name, prompt_id: id };
    const input = JSON.stringify({ ...payload, ...more });
    const { status, stderr } = spawnSync(CKPT_HOOK_BINARY, ["event", "--agent", "claude-code"], { input, env });
    assert.equal(status, 0, String(stderr));
  };
  const entry = { isSidechain: false, version: "2.1.332", cwd: shop, sessionId: session };
  const asked = { type: "user", uuid: `${id}-1`, parentUuid: before ?? null, promptId: id, message: { role: "user", content: id } };
  const answer = { type: "assistant", uuid: `${id}-2`, parentUuid: `${id}-1`, message: { content: [{ type: "text", text: "done" }] } };
  const tool = { tool_name: "Bash", tool_use_id: id, tool_input: { command: "make" } };
  tell("UserPromptSubmit", { prompt: id });
  for (const one of [asked, answer])
    fs.appendFileSync(transcript, `${JSON.stringify({ ...entry, ...one })}\n`, { mode: 0o600 });
  tell("PreToolUse", tool);
  write(`${id}.txt`, "made\n");
  tell("PostToolUse", tool);
  tell("PostToolBatch", { tool_calls: [tool] });
  tell("Stop", {});
}

test("a conversation is forked with its files, and goes on in a terminal", async () => {
  const started = path.join(root, "started");
  const agent = `#!/bin/sh\npwd >"${started}.part"; echo "$@" >>"${started}.part"; mv "${started}.part" "${started}"\n`;
  fs.writeFileSync(path.join(root, "bin", "claude"), agent, { mode: 0o755 });
  chat("first");
  chat("second", "first-2");
  await row(/^second/).filter({ hasText: "claude-code" }).waitFor();
  await press(/^second/, "Revert to Here and Fork");
  await row("The conversation goes on in a new one").waitFor();
  await shot("fork");
  await row("Change 1 file").click();
  await said("Went back to before “second”").getByText("Go On in a Terminal").click();
  assert.deepEqual([fs.existsSync(path.join(shop, "second.txt")), read("first.txt")], [false, "made\n"]);
  await until(() => fs.existsSync(started), "the agent is started");
  await shot("terminal");
  assert.match(fs.readFileSync(started, "utf8"), new RegExp(`^${shop}\n--resume [0-9a-f-]{36}\n$`));
  await quiet();
});

test("the hook is installed after what would change was seen", async () => {
  fs.mkdirSync(path.join(root, "home", ".qwen"));
  await command("Install the Hook into All Agents");
  await tab("install.txt").click();
  const file = path.join(root, "home", ".qwen", "settings.json");
  await said("settings of these agents").waitFor();
  assert.equal(fs.existsSync(file), false);
  await shot("installing");
  await said("settings of these agents").getByText("Install", { exact: true }).click();
  await tab("installed.txt").waitFor();
  await said("Start the agents again").waitFor();
  assert.match(fs.readFileSync(file, "utf8"), /ckpt-hook event --agent qwen-code/);
  await quiet();
});

test("a folder with no history says why, and one in the workspace has its history", async () => {
  for (const folder of ["empty", "shop/src"]) fs.mkdirSync(path.join(root, folder), { recursive: true });
  for (const [folder, text] of [["empty", "No messages were recorded here"], ["shop/src", "spell it out"]]) {
    const other = await open(address.replace(/#.*/, `#${path.join(root, folder)}`));
    await other.getByText("Yes, I trust the authors").click({ timeout: 15_000 }).catch(() => {});
    await view(other);
    const found = other.getByText(text).first().waitFor({ timeout: 20_000 });
    await found.finally(() => shot(folder.replace("/", "-"), other));
    if (folder === "empty") await row("Install the Hook into All Agents", other).waitFor();
    await other.close();
  }
});

test("dark and high contrast are the theme's", async () => {
  await press("shout", "Revert to Here…");
  await row("Cancel").waitFor();
  for (const theme of ["dark", "hc-theia"]) {
    const known = JSON.parse(fs.readFileSync(settings, "utf8"));
    fs.writeFileSync(settings, JSON.stringify({ ...known, "workbench.colorTheme": theme }));
    const background = () =>
      page.evaluate(() => getComputedStyle(document.body).getPropertyValue("--theia-editor-background"));
    await until(async () => /^#[0-3]/.test(await background()), "the background is dark");
    await page.waitForTimeout(500);
    await shot(theme);
  }
  await row("Cancel").click();
});
