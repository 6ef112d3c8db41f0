// The page in a real browser: looked at, reverted, in conflict, undone, live, attacked, for everybody, on a phone.
// `CKPT_SHOTS` is a folder for pictures of it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { createRequire } from "node:module";
import { bakery, browse, World } from "./world.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let open = null;

before(async () => {
  open = await browse();
});
after(() => open?.end());

/** Opens the page of a world; whatever the browser reports as wrong fails the test in the end. */
async function page(t, world, options = {}) {
  const tab = await open.browser.newPage();
  const wrong = [];
  tab.on("pageerror", (error) => wrong.push(String(error)));
  tab.on("console", (message) => message.type() === "error" && !/ERR_|Failed to load resource|requires 'TrustedHTML'/.test(message.text()) && wrong.push(message.text()));
  t.after(async () => {
    await tab.close();
    world.end();
    if (!options.mayComplain) assert.deepEqual(wrong, [], "the browser has nothing to complain about");
  });
  await tab.emulateMedia({ colorScheme: options.dark ? "dark" : "light", reducedMotion: "reduce" });
  if (options.size) await tab.setViewportSize(options.size);
  // Files as they are here, without a build of the program.
  const site = process.env.CKPT_SITE;
  if (site) {
    const types = { js: "text/javascript", css: "text/css", html: "text/html", svg: "image/svg+xml" };
    await tab.route(/\/[a-z./]*\.(js|css|svg)$/, (route) => route.fulfill({
      path: path.join(site, new URL(route.request().url()).pathname),
      contentType: types[route.request().url().split(".").at(-1)],
    }));
  }
  const address = await world.serve();
  await tab.goto(address);
  await tab.locator("body[data-ready]").waitFor();
  return { tab, address, origin: address.split("/#")[0] };
}

/** The pictures that docs/page.md shows. */
const documented = ["light", "dark", "conflict", "blame", "phone"];

async function shot(tab, name) {
  const isWanted = documented.includes(name) || process.env.CKPT_SHOTS_ALL;
  if (process.env.CKPT_SHOTS && isWanted) await tab.screenshot({ path: path.join(process.env.CKPT_SHOTS, `page-${name}.png`) });
}

async function accessible(tab) {
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join("\n   ")}`);
  assert.deepEqual(told, []);
}

const row = (tab, text) => tab.getByRole("treeitem").filter({ hasText: text }).first();
/** The row of a message: an operation names the prompt that it went back to as well. */
const message = (tab, text) => tab.locator(".row.message").filter({ hasText: text }).first();

test("the history is there, with messages, operations, what changed outside and what was discarded", async (t) => {
  const { tab } = await page(t, bakery());
  assert.equal(await message(tab, "Round the tip").getAttribute("aria-selected"), "true", "the newest is shown");
  await row(tab, "Reverted to before: Draw a new logo").waitFor();
  await row(tab, "Changed outside").waitFor();
  assert.match(await message(tab, "Draw a new logo").innerText(), /discarded/);
  assert.equal(new URL(tab.url()).hash, "", "the secret is not in the address any more");
  await message(tab, "Charge VAT").click();
  await tab.getByRole("heading", { name: "Charge VAT" }).waitFor();
  await tab.locator("td.come ins").first().waitFor();
  await tab.locator("td.code .k").first().waitFor();
  await shot(tab, "light");
  await message(tab, "Charge VAT").press("ArrowRight").catch(() => {});
});

test("files side by side and unified, folded, as pictures, and as bytes", async (t) => {
  const { tab } = await page(t, bakery());
  await message(tab, "Draw a new logo").click();
  await tab.locator(".pictures img").nth(1).waitFor();
  await tab.getByText("Binary: 5 bytes → 6 bytes").waitFor();
  await shot(tab, "pictures");
  await message(tab, "Round the tip").click();
  await tab.locator("table.split").waitFor();
  const fold = tab.locator("button.fold").first();
  const many = await tab.locator("table.diff tr").count();
  await fold.click();
  assert.ok((await tab.locator("table.diff tr").count()) > many, "what was folded is shown");
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("s");
  await tab.locator("table.unified").waitFor();
  await shot(tab, "unified");
});

test("a renamed file has the lines that were edited in it, not all of them", async (t) => {
  const world = bakery();
  world.play("moved", "Move the rye bread", () => {
    world.write("bread/rye.md", `${world.read("recipes/rye.md")}- time\n`);
    fs.rmSync(path.join(world.workspace, "recipes/rye.md"));
  });
  const { tab } = await page(t, world);
  await message(tab, "Move the rye bread").click();
  await tab.getByRole("heading", { name: "Move the rye bread" }).waitFor();
  assert.match(await tab.locator("#detail .sum").innerText(), /1 file\s+\+1/);
  assert.equal(await tab.locator("#detail details.file .kind").getAttribute("title"), "renamed");
});

test("what cannot be shown here is told of with a command that shows it", async (t) => {
  const world = new World();
  world.write("large.txt", "a line of text\n".repeat(1_200_000));
  world.play("m1", " ", () => {
    fs.appendFileSync(path.join(world.workspace, "large.txt"), "the end\n");
    world.write("text.txt", "1\n");
    fs.symlinkSync("text.txt", path.join(world.workspace, "link"));
    fs.writeFileSync(Buffer.concat([Buffer.from(`${world.workspace}/`), Buffer.from([0xff, 0x2e, 0x74])]), "1\n");
  });
  world.play("m2", "Something else", () => world.write("text.txt", "2\n"));
  const { tab } = await page(t, world);
  assert.equal(await message(tab, "4 files").locator(".title").innerText(), "(no text)");
  await message(tab, "4 files").click();
  await tab.getByRole("heading", { name: "(no text)" }).waitFor();
  const command = await tab.locator("p.note code").innerText();
  const [program, ...words] = command.split(" ");
  assert.equal(program, "ckpt-hook");
  assert.match(world.run(...words), /^diff --git a\/large\.txt /m, "it prints the change of that message");
  const blamed = tab.locator("details.file").filter({ has: tab.locator(".blame") }).locator("summary .path");
  assert.deepEqual(await blamed.allInnerTexts(), ["large.txt", "text.txt", "\ufffd.t"], "a link has no lines");
});

test("a revert is planned, carried out, and undone from the toast", async (t) => {
  const world = bakery();
  const { tab } = await page(t, world);
  const before = world.read("order.py");
  await message(tab, "Charge VAT").click();
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByText("messages taken back").waitFor();
  assert.equal(world.read("order.py"), before, "a plan changes nothing");
  await dialog.getByText("order.py", { exact: true }).first().click();
  await dialog.locator("td.gone").first().waitFor();
  await shot(tab, "plan");
  await accessible(tab);
  await tab.locator("#apply").click();
  await tab.getByRole("button", { name: "Undo", exact: true }).nth(1).waitFor();
  assert.doesNotMatch(world.read("order.py"), /VAT/);
  assert.ok(!world.exists("test_order.py"), "what the agent made is gone");
  assert.match(world.read("recipes/rye.md"), /12 g salt/, "the user's edit stays");
  await tab.getByText("taken back.").waitFor();
  await shot(tab, "reverted");
  await tab.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await tab.waitForFunction(() => !document.querySelector("#forward"));
  assert.equal(world.read("order.py"), before, "all is as it was");
  await row(tab, "Reverted to before: Charge VAT").getByText("undone", { exact: true }).waitFor();
  assert.equal(await row(tab, "Undone:").count(), 0, "an operation and its undo are one row");
});

test("a conflict shows both sides, and nothing is overwritten unless it is planned", async (t) => {
  const world = bakery();
  const mine = world.read("recipes/rye.md").replace("12 g Salz", "15 g Salz, und Kümmel");
  world.write("recipes/rye.md", mine.replace("Roggenbrot", "Mein Brot"));
  const { tab } = await page(t, world);
  let plans = 0;
  tab.on("request", (request) => {
    if (request.postData()?.includes('"method":"plan"')) plans += 1;
  });
  await message(tab, "Translate the recipes").click();
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByRole("heading", { name: "Changed since" }).waitFor();
  await dialog.locator(".conflicts summary").click();
  await dialog.getByText("The earlier version", { exact: false }).first().waitFor();
  await dialog.locator(".conflicts td.gone").first().waitFor();
  assert.equal(plans, 1, "both sides come with the plan: the workspace is looked at once");
  await shot(tab, "conflict");
  await accessible(tab);
  await tab.locator("#apply").click();
  await tab.locator(".toast").waitFor();
  assert.match(world.read("recipes/rye.md"), /Mein Brot/, "what the user wrote stays");
  assert.ok(world.exists("notes.txt"), "the rest went back");
  await tab.getByText("taken back.").waitFor();
  await tab.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await tab.waitForFunction(() => !document.querySelector("#forward"));
  await message(tab, "Translate the recipes").click();
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await tab.locator("#overwrite").click();
  await dialog.getByRole("heading", { name: "Changed since" }).waitFor({ state: "detached" });
  await tab.locator("#apply").click();
  await dialog.waitFor({ state: "detached" });
  assert.match(world.read("recipes/rye.md"), /Rye bread/, "the earlier version, as planned");
});

test("a plan that does not hold any more is planned again, and nothing was done", async (t) => {
  const world = bakery();
  const { tab } = await page(t, world);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await tab.locator("#apply").waitFor();
  world.write("order.py", "# mine\n");
  await tab.locator("#apply").click();
  await tab.getByText("nothing was done").waitFor();
  assert.equal(world.read("order.py"), "# mine\n");
});

test("it moves while an agent works", async (t) => {
  const world = bakery();
  const { tab } = await page(t, world);
  world.event({ event: "user_message", message_id: "m5", prompt: "Add a shopping list" });
  await message(tab, "Add a shopping list").waitFor();
  world.tool("m5-0", () => world.write("shopping.txt", "yeast\n"));
  await message(tab, "Add a shopping list").getByText("at work").waitFor();
  assert.doesNotMatch(await message(tab, "Add a shopping list").innerText(), /0 files/, "nothing is counted before the step ends");
  await message(tab, "Add a shopping list").click();
  await tab.getByText("What it changes is shown when its step ends.").waitFor();
  await message(tab, "Round the tip").click();
  world.event({ event: "turn_end" });
  await message(tab, "Add a shopping list").getByText("1 file").waitFor();
  assert.equal(await message(tab, "Round the tip").getAttribute("aria-selected"), "true", "what is read stays chosen");
});

test("a page whose server has ended says so, and nothing that it does not know", async (t) => {
  const world = bakery();
  const { tab } = await page(t, world, { mayComplain: true });
  for (const server of world.servers) server.kill();
  await tab.getByRole("alert").getByText("The server has ended").waitFor();
  await accessible(tab);
  await message(tab, "Draw a new logo").click();
  await tab.getByRole("heading", { name: "This cannot be shown" }).waitFor();
  await tab.locator("#detail").getByText("The server has ended").waitFor();
  assert.doesNotMatch(await tab.locator("#detail").innerText(), /No file|0 files/, "nobody knows");
});

test("what is being read stays where it is while the agent goes on", async (t) => {
  const world = bakery();
  const many = (word) => Array.from({ length: 300 }, (_, at) => `${word} ${at}\n`).join("");
  world.play("m5", "Count the loaves", () => world.write("loaves.txt", many("loaf")));
  const { tab } = await page(t, world);
  await tab.getByRole("heading", { name: "Count the loaves" }).waitFor();
  await tab.locator("td.come").nth(200).waitFor();
  await tab.locator("#file-0 summary").focus();
  await tab.locator("#detail").evaluate((place) => { place.scrollTop = 2000; });
  world.tool("m5-1", () => world.write("rolls.txt", many("roll")));
  world.event({ event: "turn_end" });
  await tab.locator("#file-1").waitFor({ state: "attached" });
  assert.equal(await tab.locator("#detail").evaluate((place) => place.scrollTop), 2000, "it does not jump");
  assert.equal(await tab.evaluate(() => document.activeElement.closest("details")?.id), "file-0", "the focus is where it was");
  await tab.keyboard.press("k");
  await tab.keyboard.press("j");
  await tab.getByRole("heading", { name: "Round the tip" }).waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.id), "detail", "the focus stays beside the history");
  await tab.getByRole("button", { name: "Side by side" }).press("Enter");
  await tab.locator("table.unified").first().waitFor();
  assert.equal(await tab.evaluate(() => document.activeElement.id), "split");
});

test("prompts, paths and contents are searched", async (t) => {
  const { tab } = await page(t, bakery());
  await tab.keyboard.press("/");
  await tab.keyboard.type("notes.txt");
  await tab.getByText("1 match").waitFor();
  await message(tab, "Translate the recipes").waitFor();
  await tab.locator("#query").fill("Roggenmehl");
  await tab.getByText("No match").waitFor();
  await tab.locator("#where").selectOption("text");
  await tab.getByText("1 match").waitFor();
});

test("a file says who wrote each line", async (t) => {
  const { tab } = await page(t, bakery());
  await tab.locator("details.file .blame").first().click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByRole("button", { name: "Charge VAT" }).first().waitFor();
  await dialog.getByText("before the history begins").first().waitFor();
  await shot(tab, "blame");
  await accessible(tab);
  await dialog.getByRole("button", { name: "Charge VAT" }).first().click();
  await tab.getByRole("heading", { name: "Charge VAT" }).waitFor();
});

test("a long line scrolls by itself, and a long file is all there in the end", async (t) => {
  const world = new World();
  world.play("m1", "Write much", () => {
    world.write("one.txt", "word ".repeat(12_000));
    world.write("many.txt", Array.from({ length: 5000 }, (_, at) => `line ${at + 1}\n`).join(""));
  });
  const { tab } = await page(t, world);
  await message(tab, "Write much").click();
  const long = tab.locator("details.file .long").first();
  await long.waitFor();
  assert.ok((await long.boundingBox()).height < 300, "the rest of the page is not far away");
  await accessible(tab);
  const many = tab.locator("details.file").filter({ hasText: "many.txt" });
  await many.getByRole("button", { name: "3,000 lines more: show 2,000" }).waitFor();
  await many.locator(".blame").click();
  await tab.locator("dialog.blame tr").nth(4999).waitFor({ state: "attached" });
  assert.match(await tab.locator("dialog.blame tr").nth(4999).innerText(), /line 5000/);
});

test("a file whose name is no text says who wrote it as well", async (t) => {
  const world = bakery();
  const name = Buffer.concat([Buffer.from(`${world.workspace}/caf`), Buffer.from([0xe9])]);
  world.play("m5", "Write a menu", () => fs.writeFileSync(name, "espresso\n"));
  const { tab } = await page(t, world);
  await tab.locator("details.file .blame").first().click();
  const dialog = tab.getByRole("dialog");
  await dialog.getByRole("button", { name: "Write a menu" }).waitFor();
  await dialog.getByText("espresso").waitFor();
});

test("the button is of the row that was chosen, also while that is being read", async (t) => {
  const { tab } = await page(t, bakery());
  await tab.getByRole("heading", { name: "Round the tip" }).waitFor();
  let go = null;
  const isHeld = new Promise((done) => { go = done; });
  await tab.route("**/rpc", async (route) => {
    if (route.request().postDataJSON().method === "show") await isHeld;
    await route.continue();
  });
  await message(tab, "Translate the recipes").click();
  assert.equal(await tab.locator("#revert").isDisabled(), true, "it would plan for the row before");
  go();
  await tab.getByRole("heading", { name: "Translate the recipes" }).waitFor();
  await tab.locator("#revert").click();
  await tab.getByRole("dialog").getByText("Go back to before “Translate the recipes").waitFor();
});

test("an operation that a search found names its prompt", async (t) => {
  const world = bakery();
  world.write("order.py", "my own\n");
  world.run("revert", "m4", "--on-conflict", "overwrite");
  const { tab } = await page(t, world);
  await tab.locator("#where").selectOption("text");
  await tab.locator("#query").fill("my own");
  await tab.getByText(/match/).waitFor();
  await tab.locator(".row.operation").getByText("to before: Round the tip").waitFor();
});

test("everything can be done with keys", async (t) => {
  const { tab } = await page(t, bakery());
  await tab.keyboard.press("?");
  await tab.getByRole("dialog").getByText("side by side or unified").waitFor();
  await shot(tab, "keys");
  await accessible(tab);
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("j");
  await tab.getByRole("heading", { name: "Translate the recipes" }).waitFor();
  await tab.getByRole("tree").focus();
  await tab.keyboard.press("ArrowRight");
  await tab.locator(".row.step").first().waitFor();
  await tab.keyboard.press("ArrowDown");
  await tab.getByRole("heading", { name: "write" }).waitFor();
  await tab.keyboard.press("ArrowLeft");
  await tab.keyboard.press("Enter");
  assert.equal(await tab.evaluate(() => document.activeElement.id), "detail");
  await tab.getByRole("heading", { name: "Translate the recipes" }).waitFor();
  await tab.locator("details.file").first().waitFor();
  await tab.keyboard.press("n");
  assert.equal(await tab.evaluate(() => document.activeElement.tagName), "SUMMARY");
  await tab.keyboard.press("r");
  await tab.getByRole("dialog").waitFor();
  await tab.keyboard.press("Escape");
  await tab.getByRole("dialog").waitFor({ state: "detached" });
});

test("nothing keeps anybody out: axe finds nothing, light or dark", async (t) => {
  const { tab } = await page(t, bakery());
  await message(tab, "Charge VAT").click();
  await tab.locator("td.come ins").first().waitFor();
  await accessible(tab);
  await tab.keyboard.press("t");
  assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), "dark");
  await shot(tab, "dark");
  await accessible(tab);
  await tab.evaluate(() => localStorage.clear());
});

test("on a phone the history fills the screen, and an entry does", async (t) => {
  const { tab } = await page(t, bakery(), { size: { width: 360, height: 740 }, dark: true });
  await shot(tab, "phone");
  await accessible(tab);
  await message(tab, "Charge VAT").click();
  await tab.getByRole("heading", { name: "Charge VAT" }).waitFor();
  await tab.locator("td.come").first().waitFor();
  await shot(tab, "phone-detail");
  await accessible(tab);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 360, `nothing sticks out: ${wide}`);
  await tab.getByRole("button", { name: "Back", exact: true }).click();
  await message(tab, "Charge VAT").waitFor();
});

test("on the narrowest screen buttons stay in one line and names make room for them", async (t) => {
  const world = new World();
  world.write("kept", "1\n");
  const name = `${"a-long-name-".repeat(10)}.txt`;
  world.play("m1", "Write it", () => world.write(name, "1\n"));
  world.play("m2", "Write the other", () => world.write("other", "1\n"));
  world.write("other", "mine\n");
  const { tab } = await page(t, world, { size: { width: 320, height: 640 } });
  await message(tab, "Write it").click();
  await tab.locator("details.file .blame").first().click();
  const box = (place) => place.boundingBox();
  const heading = await box(tab.getByRole("dialog").locator("h2 .path"));
  const close = await box(tab.getByRole("dialog").getByRole("button", { name: "Close" }));
  assert.ok(heading.x + heading.width <= close.x, "the name ends where the button begins");
  await tab.keyboard.press("Escape");
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Change 1 file" }).click();
  const undo = tab.locator(".toast").getByRole("button", { name: "Undo" });
  await undo.waitFor();
  assert.ok((await box(undo)).width > (await box(undo)).height, "its word is in one line");
});

test("a history whose session store is gone is not called empty", async (t) => {
  const world = new World();
  world.play("m1", "Write it", () => world.write("text", "1\n"));
  for (const file of fs.readdirSync(path.join(world.root, "store")).filter((file) => file.startsWith("sessions.db"))) fs.rmSync(path.join(world.root, "store", file));
  const { tab } = await page(t, world);
  await tab.getByText("There are snapshots of 1 workspace here, but their session store is gone").waitFor();
});

test("names and contents that are markup are shown as text", async (t) => {
  const world = new World();
  const evil = "<img src=x onerror=alert(1)>";
  world.play("m1", `${evil}<script>alert(2)</script> \u202egnp.exe`, () => {
    world.write(`${evil.replaceAll("/", "")}.html`, `<script>alert(3)</script>\n${evil}\n`);
    world.write("pic.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(4)"><script>alert(5)</script></svg>`);
    world.write("a\nb.txt", "\u001b[31mred\n");
  });
  const { tab } = await page(t, world);
  let asked = 0;
  tab.on("dialog", (dialog) => {
    asked += 1;
    dialog.dismiss();
  });
  await tab.getByRole("heading", { name: "<img src=x onerror=alert(1)><script>alert(2)</script>" }).waitFor();
  await tab.getByText("\\u{202e}").first().waitFor();
  await tab.getByText("<script>alert(3)</script>").first().waitFor();
  assert.equal(await tab.locator("main script, main img:not(.pictures img)").count(), 0, "no element came of it");
  assert.equal(asked, 0, "nothing ran");
  const refused = await tab.evaluate(() => {
    try {
      document.body.innerHTML = "<b>x</b>";
      return false;
    } catch (error) {
      return error instanceof TypeError;
    }
  });
  assert.ok(refused, "the policy lets no text become markup");
});

test("another page gets nothing, frames nothing and reads nothing", async (t) => {
  const world = bakery();
  const { tab, origin } = await page(t, world, { mayComplain: true });
  const token = await tab.evaluate(() => sessionStorage.getItem("ckpt-hook-token"));
  const other = http.createServer((_, answer) => answer.setHeader("Content-Type", "text/html").end("<!doctype html><title>other</title>"));
  await new Promise((done) => other.listen(0, "127.0.0.1", done));
  t.after(() => other.close());
  await tab.goto(`http://127.0.0.1:${other.address().port}/`);
  const tries = await tab.evaluate(async ({ origin, token }) => {
    const asked = { jsonrpc: "2.0", id: 1, method: "messages", params: {} };
    const attempt = async (options) => {
      try {
        const answer = await fetch(`${origin}/rpc`, { method: "POST", body: JSON.stringify(asked), ...options });
        return answer.type === "opaque" ? "opaque" : await answer.text();
      } catch {
        return "refused";
      }
    };
    const framed = document.createElement("iframe");
    framed.src = `${origin}/`;
    const script = document.createElement("script");
    script.src = `${origin}/page.js`;
    const ran = new Promise((done) => {
      script.onload = () => done("ran");
      script.onerror = () => done("refused");
    });
    document.body.append(framed, script);
    return [
      await attempt({ headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` } }),
      await attempt({ mode: "no-cors" }),
      await attempt({ credentials: "include" }),
      await ran,
    ];
  }, { origin, token });
  assert.deepEqual(tries, ["refused", "refused", "refused", "refused"]);
  const framed = tab.frames().find((frame) => frame !== tab.mainFrame());
  assert.equal(await framed?.evaluate(() => document.querySelector("#timeline")?.id ?? null).catch(() => null), null, "no frame shows it");
  await tab.goto(`${origin}/`);
  await tab.goto("about:blank");
  const stranger = await open.browser.newPage();
  await stranger.goto(`${origin}/#${"0".repeat(64)}`);
  await stranger.getByText("it carries the key").waitFor();
  assert.equal(await stranger.getByRole("treeitem").count(), 0, "a wrong key shows nothing");
  await stranger.close();
});

test("a long history is shown at once and scrolls smoothly", async (t) => {
  const world = new World();
  for (let at = 0; at < 12; at += 1) world.play(`m${at}`, `Message ${at}`, () => world.write("file.txt", `${at}\n`));
  const { tab } = await page(t, world);
  const paint = await tab.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  t.diagnostic(`first paint after ${Math.round(paint)} ms`);
  // As many rows as 20,000 steps have, from the same documents: only what is in view may be an element.
  const frames = await tab.evaluate(async () => {
    const { Timeline } = await import("/timeline.js");
    const place = document.createElement("div");
    place.style.height = "600px";
    document.querySelector("#timeline").replaceChildren(place);
    const timeline = new Timeline(place, () => {}, async () => []);
    const one = { type: "message", prompt: "a prompt", time: 1, state: "live", agent: "a", files: 1, steps: 5, additions: 1, deletions: 2, labels: [], finished: 1 };
    timeline.set(Array.from({ length: 20_000 }, (_, at) => ({ ...one, id: `m${at}` })));
    const times = [];
    for (let at = 0; at < 60; at += 1) {
      const from = performance.now();
      timeline.list.scrollTop = at * 19_000;
      timeline.draw();
      timeline.list.getBoundingClientRect();
      times.push(performance.now() - from);
      await new Promise(requestAnimationFrame);
    }
    timeline.select(19_999);
    return { elements: place.querySelectorAll("*").length, last: timeline.selected().id, times: times.sort((a, b) => a - b) };
  });
  t.diagnostic(`a frame takes ${frames.times[30].toFixed(1)} ms, at most ${frames.times[59].toFixed(1)} ms`);
  assert.ok(frames.elements < 800, `only what is in view: ${frames.elements}`);
  assert.equal(frames.last, "m19999");
});

const dialogOf = (tab) => tab.getByRole("dialog");
/** Carries out the plan that is shown. */
async function go(tab) {
  await tab.locator("#apply").click();
  await dialogOf(tab).waitFor({ state: "detached" });
  await tab.locator(".toast").waitFor();
}

const numbered = (from, to, change = {}) => Array.from({ length: to - from + 1 }, (_, at) => `${change[from + at] ?? from + at}\n`).join("");

/** A file changed at both ends, then two messages with files of their own. */
function ends() {
  const world = new World();
  world.write("long.txt", numbered(1, 60));
  world.play("m1", "Change both ends", () => world.write("long.txt", numbered(1, 60, { 5: "five", 50: "fifty" })));
  world.play("m2", "Write one", () => world.write("one.txt", "1\n"));
  world.play("m3", "Write two and three", () => world.write("two.txt", "2\n"), () => world.write("three.txt", "3\n"));
  return world;
}

test("an address names its entry and file, and survives a reload and the way back", async (t) => {
  const { tab } = await page(t, ends());
  await message(tab, "Write one").click();
  await tab.getByRole("heading", { name: "Write one" }).waitFor();
  assert.match(tab.url(), /#at=[0-9a-f]+$/);
  await message(tab, "Write two and three").click();
  await tab.locator("nav.files a").filter({ hasText: "two.txt" }).click();
  assert.match(tab.url(), /&file=two\.txt$/);
  await tab.reload();
  await tab.locator("body[data-ready]").waitFor();
  await tab.getByRole("heading", { name: "Write two and three" }).waitFor();
  await tab.waitForFunction(() => document.activeElement.closest("details.file")?.dataset.path === "two.txt");
  await tab.goBack();
  await tab.getByRole("heading", { name: "Write one" }).waitFor();
  assert.equal(await message(tab, "Write one").getAttribute("aria-selected"), "true");
  await tab.goForward();
  await tab.getByRole("heading", { name: "Write two and three" }).waitFor();
});

test("on a phone the browser's way back leads to the history", async (t) => {
  const { tab } = await page(t, ends(), { size: { width: 390, height: 780 } });
  await message(tab, "Write one").click();
  await tab.getByRole("heading", { name: "Write one" }).waitFor();
  await tab.goBack();
  await message(tab, "Write one").waitFor();
  assert.equal(await tab.locator("#detail").isVisible(), false);
});

test("a file is taken back, and brought back", async (t) => {
  const world = ends();
  const { tab } = await page(t, world);
  await tab.locator("details.file").filter({ hasText: "two.txt" }).locator(".tools .take").click();
  await dialogOf(tab).getByText("1 file to change").waitFor();
  await go(tab);
  assert.deepEqual([world.exists("two.txt"), world.exists("three.txt")], [false, true]);
  await tab.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await tab.locator(".toast").getByText("Done").waitFor();
  assert.ok(world.exists("two.txt"));
});

test("a hunk is taken back, also below lines that came since", async (t) => {
  const world = ends();
  world.write("long.txt", `new\n${world.read("long.txt")}`);
  const { tab } = await page(t, world);
  await message(tab, "Change both ends").click();
  await tab.getByRole("heading", { name: "Change both ends" }).waitFor();
  await tab.locator("tr.hunk .take").nth(1).click();
  const box = dialogOf(tab).getByRole("checkbox", { name: "Take long.txt" });
  await box.waitFor();
  assert.ok(await box.evaluate((element) => element.indeterminate));
  await dialogOf(tab).locator("summary").filter({ hasText: "long.txt" }).click();
  await dialogOf(tab).locator("tr.hunk input").nth(1).waitFor();
  assert.deepEqual(await dialogOf(tab).locator("tr.hunk input").evaluateAll((boxes) => boxes.map(({ checked }) => checked)), [false, true]);
  await shot(tab, "hunks");
  await accessible(tab);
  await go(tab);
  assert.equal(world.read("long.txt"), `new\n${numbered(1, 60, { 5: "five" })}`);
  assert.ok(world.exists("one.txt"), "later messages stay");
});

test("a file of a plan is left out, and then it is a part", async (t) => {
  const world = ends();
  const { tab } = await page(t, world);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await dialogOf(tab).getByText("1 message taken back").waitFor();
  await dialogOf(tab).getByRole("checkbox", { name: "Take two.txt" }).uncheck();
  await dialogOf(tab).getByText("no message is taken back").waitFor();
  await tab.getByRole("button", { name: "Change 1 file" }).waitFor();
  await dialogOf(tab).getByRole("checkbox", { name: "Take three.txt" }).uncheck();
  assert.ok(await tab.locator("#apply").isDisabled(), "nothing is taken");
  await dialogOf(tab).getByRole("checkbox", { name: "Take three.txt" }).check();
  await go(tab);
  assert.deepEqual([world.exists("two.txt"), world.exists("three.txt")], [true, false]);
});

test("files of another directory of the session are in the plan, and are chosen", async (t) => {
  const world = new World();
  const lib = path.join(world.root, "lib");
  fs.mkdirSync(lib);
  fs.mkdirSync(path.join(world.root, "home/.config/ckpt-hook"), { recursive: true });
  fs.writeFileSync(path.join(world.root, "home/.config/ckpt-hook/config.toml"), `roots = [${JSON.stringify(lib)}]\n`);
  world.write("a", "before\n");
  for (const name of ["b", "c"]) fs.writeFileSync(path.join(lib, name), "before\n");
  world.play("m1", "move it", () => {
    world.write("a", "after\n");
    for (const name of ["b", "c"]) fs.writeFileSync(path.join(lib, name), "after\n");
  });
  const { tab } = await page(t, world);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await tab.getByRole("button", { name: "Change 3 files" }).waitFor();
  await dialogOf(tab).getByRole("checkbox", { name: `Take ${lib}/b` }).uncheck();
  await go(tab);
  assert.equal(world.read("a"), "before\n");
  assert.deepEqual(["b", "c"].map((name) => fs.readFileSync(path.join(lib, name), "utf8")), ["after\n", "before\n"]);
});

test("what stays in another directory of the session is taken by its own button", async (t) => {
  const world = new World();
  const lib = path.join(world.root, "lib");
  fs.mkdirSync(lib);
  fs.mkdirSync(path.join(world.root, "home/.config/ckpt-hook"), { recursive: true });
  fs.writeFileSync(path.join(world.root, "home/.config/ckpt-hook/config.toml"), `roots = [${JSON.stringify(lib)}]\n`);
  world.write("a", "before\n");
  fs.writeFileSync(path.join(lib, "b"), "before\n");
  world.play("m1", "move it", () => {
    world.write("a", "after\n");
    fs.writeFileSync(path.join(lib, "b"), "after\n");
  });
  world.write("a", "the user's\n");
  fs.writeFileSync(path.join(lib, "b"), "the user's\n");
  const { tab } = await page(t, world);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await dialogOf(tab).locator("section", { hasText: `${lib}/b` }).getByRole("button", { name: "Take the earlier version of these" }).click();
  await tab.getByRole("button", { name: "Change 1 file" }).waitFor();
  await go(tab);
  assert.equal(world.read("a"), "the user's\n", "it was not meant");
  assert.equal(fs.readFileSync(path.join(lib, "b"), "utf8"), "before\n");
});

test("a plan is chosen and carried out with keys alone", async (t) => {
  const world = ends();
  const { tab } = await page(t, world);
  await tab.getByRole("heading", { name: "Write two and three" }).waitFor();
  await tab.keyboard.press("r");
  await tab.locator("#apply").waitFor();
  const named = () => tab.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.id);
  const goTo = async (name, key) => {
    for (let at = 0; at < 20 && (await named()) !== name; at += 1) await tab.keyboard.press(key);
    assert.equal(await named(), name);
  };
  await goTo("Take two.txt", "Shift+Tab");
  await tab.keyboard.press("Space");
  await goTo("apply", "Tab");
  await tab.keyboard.press("Enter");
  await tab.locator(".toast").waitFor();
  assert.deepEqual([world.exists("two.txt"), world.exists("three.txt")], [true, false]);
});

test("one message alone is undone, and a hidden one goes forward", async (t) => {
  const world = ends();
  const { tab } = await page(t, world);
  await message(tab, "Write one").click();
  await tab.getByRole("button", { name: "Undo this alone" }).click();
  await go(tab);
  assert.deepEqual([world.exists("one.txt"), world.exists("two.txt")], [false, true]);
  await tab.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await tab.waitForFunction(() => document.querySelectorAll(".row.alone").length === 0);
  world.run("revert", "m2");
  await tab.locator(".row.message.hidden").nth(1).waitFor();
  await message(tab, "Write two and three").click();
  await tab.locator("#detail").getByRole("button", { name: "One forward" }).click();
  await go(tab);
  assert.deepEqual([world.exists("one.txt"), world.exists("two.txt")], [true, false]);
  await message(tab, "Write two and three").click();
  await tab.locator("#detail").getByRole("button", { name: "Bring back" }).click();
  await go(tab);
  assert.ok(world.exists("two.txt"));
});

test("of what is already so, nothing can be done", async (t) => {
  const world = ends();
  fs.rmSync(path.join(world.workspace, "one.txt"));
  const { tab } = await page(t, world);
  await message(tab, "Write one").click();
  await tab.getByRole("button", { name: "Undo this alone" }).click();
  await dialogOf(tab).getByText("No file would change.").waitFor();
  assert.match(await dialogOf(tab).innerText(), /Already so\s+one\.txt\s+already so/, "nothing of it stays");
  assert.equal(await tab.locator("#apply").count(), 0);
  await accessible(tab);
});

test("what is unclear has a section and a button of its own", async (t) => {
  const world = new World();
  world.write("kept.txt", "1\n");
  world.play("m0", "Begin", () => world.write("begun.txt", "1\n"));
  world.event({ event: "user_message", message_id: "m1", prompt: "Write", tells_of_tools: true });
  world.event({ event: "step_start", step_id: "x1" });
  world.write("unclear.txt", "1\n");
  world.event({ event: "step_finish", step_id: "x1" });
  world.event({ event: "step_start", step_id: "x2" });
  world.tool("m1-0", () => world.write("made.txt", "1\n"));
  world.event({ event: "step_finish", step_id: "x2" });
  world.event({ event: "turn_end" });
  const { tab } = await page(t, world);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  const section = dialogOf(tab).locator("[data-kind=unclear]");
  await section.getByText("unclear.txt").waitFor();
  assert.equal(await dialogOf(tab).locator("[data-kind=changed]").count(), 0, "it is not called somebody's edit");
  await section.locator(".force").click();
  await dialogOf(tab).getByText("no message is taken back").waitFor();
  await section.waitFor({ state: "detached" });
  await go(tab);
  assert.equal(world.exists("unclear.txt"), false, "the button did what it says");
});

// The other surfaces go through these cases in tests/cli/kept.rs.
const cases = JSON.parse(fs.readFileSync(new URL("kept.json", import.meta.url)));

for (const { name, kind, world: work, unforeseen, why, keys, button, file, then, first = [], not_as_root: notAsRoot } of cases) {
  // The page restores nothing, and root reads everything.
  const skip = button === null || (notAsRoot && process.getuid() === 0);
  test(`what stays has a sentence and a way out that are true: ${name}`, { skip }, async (t) => {
    const world = new World();
    world.follow(work);
    const { tab } = await page(t, world);
    const plan = async () => {
      await tab.locator(".row.message").nth(keys.length - 1).click();
      await tab.getByRole("button", { name: "Go back to before this" }).first().click();
    };
    await plan();
    const says = new RegExp(why, "i");
    if (unforeseen) {
      await go(tab);
      await tab.locator(".toast").getByText(says).waitFor();
      world.clear(first);
      await plan();
    } else {
      const section = dialogOf(tab).locator(`[data-kind=${kind}]`);
      await section.getByText(says).first().waitFor();
      world.clear(first);
      await section.getByRole("button", { name: button }).click();
      await section.waitFor({ state: "detached" });
    }
    await go(tab);
    assert.equal(world.exists(file) ? world.read(file) : null, then, "the button did what it says");
  });
}

test("what stays of git's state has a reason and a way out", async (t) => {
  const world = new World();
  const git = (...words) => execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.org", ...words], { cwd: world.workspace, env: world.environment, encoding: "utf8" }).trim();
  const commit = (text) => {
    world.write("x.txt", text);
    for (const words of [["add", "."], ["commit", "-qm", text.trim()]]) git(...words);
    return git("rev-parse", "HEAD");
  };
  git("init", "-qb", "main");
  const first = commit("1\n");
  world.play("m1", "Commit it", () => commit("2\n"));
  world.run("revert", "last", "--git");
  world.run("undo");
  const mine = commit("3\n");
  const { tab } = await page(t, world);
  await tab.locator("#undo").click();
  const section = dialogOf(tab).locator("[data-kind=git]");
  await section.waitFor();
  const text = await section.innerText();
  assert.match(text, /main .*git update-ref refs\/heads\/main/s);
  assert.ok(text.includes(`${first} ${mine}`), text);
  await accessible(tab);
});

test("a rewritten file is shown", async (t) => {
  const world = new World();
  const random = (seed) => Array.from({ length: 6000 }, (_, at) => `${((at + 1) * seed) % 100_003} ${seed}\n`).join("");
  world.write("data.txt", random(7919));
  world.play("m1", "Rewrite it", () => world.write("data.txt", random(104_729)));
  const { tab } = await page(t, world);
  await tab.locator("td.come").first().waitFor();
  await tab.locator("td.gone").first().waitFor();
});

test("a long file comes by the piece", async (t) => {
  const world = new World();
  world.write("large.txt", numbered(1, 300_000));
  world.play("m1", "Write the end", () => world.write("large.txt", numbered(1, 300_000, { 299_000: "the end" })));
  const { tab } = await page(t, world);
  await tab.locator("td.come").getByText("the end").waitFor();
  const rows = () => tab.locator("table.diff tr").count();
  const before = await rows();
  await tab.locator("button.fold").first().click();
  assert.equal(await rows(), before + 2000, "a piece, and what is left of the fold");
  await tab.getByRole("button", { name: /lines the same: show 2,000/ }).waitFor();
});

test("many files are folded by directory, and a directory that moved is one row", async (t) => {
  const world = new World();
  for (let at = 0; at < 33; at += 1) world.write(`tools/${at}.txt`, `tool ${at}\n`.repeat(9));
  world.play("m1", "Move the tools", () => fs.renameSync(path.join(world.workspace, "tools"), path.join(world.workspace, "scripts")));
  world.play("m2", "Generate", () => {
    for (let at = 0; at < 40; at += 1) world.write(`gen/${at}.txt`, `${at}\n`);
    world.write("index.txt", "1\n");
  });
  const { tab } = await page(t, world);
  const list = tab.locator("nav.files > ul > li");
  assert.deepEqual((await list.allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim()).sort(), ["40 files added in gen/ +40", "A added index.txt +1"].sort());
  await list.getByText("gen/").click();
  await tab.locator("nav.files a").filter({ hasText: "39.txt" }).waitFor();
  await message(tab, "Move the tools").click();
  await tab.getByRole("heading", { name: "Move the tools" }).waitFor();
  assert.match((await list.allInnerTexts()).join("|").replace(/\s+/g, " "), /^33 files ?tools\/ → scripts\/$/);
  await tab.getByRole("button", { name: "Go back to before this" }).click();
  await dialogOf(tab).getByText("scripts/ → tools/").waitFor();
  await dialogOf(tab).getByText("40 files removed in").waitFor();
  await accessible(tab);
  await shot(tab, "folded");
  await go(tab);
  assert.ok(world.exists("tools/32.txt") && !world.exists("scripts/0.txt") && !world.exists("gen/1.txt"));
});

test("what is shown is printed, and the page around it is not", async (t) => {
  const { tab } = await page(t, ends());
  await message(tab, "Change both ends").click();
  await tab.getByRole("heading", { name: "Change both ends" }).waitFor();
  await tab.evaluate(() => { globalThis.print = () => { document.body.dataset.printed = ""; }; });
  await tab.locator("#print").click();
  await tab.locator("body[data-printed]").waitFor({ state: "attached" });
  await tab.emulateMedia({ media: "print" });
  assert.deepEqual(await Promise.all(["#top", "#history", ".actions", ".tools"].map((place) => tab.locator(place).first().isVisible())), [false, false, false, false]);
  assert.ok(await tab.locator("td.come").first().isVisible());
  const { length } = await tab.pdf();
  assert.ok(length > 1000);
  await shot(tab, "print");
});

test("on a phone a prompt has two lines", async (t) => {
  const world = new World();
  world.play("m1", "Charge VAT on every order, and print it on the receipt below the sum of all prices", () => world.write("one.txt", "1\n"));
  const { tab } = await page(t, world, { size: { width: 390, height: 780 } });
  const box = await message(tab, "Charge VAT").locator(".title").boundingBox();
  assert.ok(box.height > 30, `two lines: ${box.height}`);
  await shot(tab, "phone-prompt");
  await accessible(tab);
});

test("what the agent left by a rewind of its own is marked, and goes back by a button", async (t) => {
  const world = new World();
  const transcript_path = path.join(world.root, "home/rewound.jsonl");
  const say = (number, parentUuid) => {
    const prompt = `Bake number ${number}`;
    const entry = { type: "user", uuid: `u${number}`, parentUuid, promptId: `p${number}`, version: "2.1.332", message: { content: prompt } };
    fs.appendFileSync(transcript_path, `${JSON.stringify(entry)}\n`);
    const event = (hook_event_name, more = {}) => world.event({ hook_event_name, transcript_path, prompt, prompt_id: `p${number}`, ...more }, "--agent", "claude-code");
    event("UserPromptSubmit");
    const tool = { tool_name: "Bash", tool_use_id: `t${number}`, tool_input: { command: "make" } };
    event("PreToolUse", tool);
    world.write(`${number}.txt`, "baked\n");
    event("PostToolUse", tool);
    event("Stop");
  };
  say(1, null);
  say(2, "u1");
  say(3, "u1");
  const { tab } = await page(t, world);
  await tab.locator(".row.message").filter({ hasText: "Bake number 2" }).getByText("left by the agent").waitFor();
  await tab.getByText("1 message no longer in the agent's conversation.").waitFor();
  await accessible(tab);
  await tab.locator("#left").getByRole("button", { name: "Take back" }).click();
  await go(tab);
  assert.deepEqual([1, 2, 3].map((number) => world.exists(`${number}.txt`)), [true, false, false]);
});
