// The page in a real browser: looked at, reverted, in conflict, undone, live, attacked, for everybody, on a phone.
// `CKPT_SHOTS` is a folder for pictures of it.

import assert from "node:assert/strict";
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
});

test("what cannot be shown here is told of with a command that shows it", async (t) => {
  const world = new World();
  world.write("large.txt", "a line of text\n".repeat(200_000));
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
  assert.match(world.run(...words), /^\+the end$/m, "it prints the change of that message");
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
  await row(tab, "Undone: Reverted to before: Charge VAT").click();
  await tab.getByRole("heading", { name: /^Undone: operation [0-9a-f]{8}$/ }).waitFor();
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
  await tab.locator("details.file").filter({ hasText: "many.txt" }).locator(".blame").click();
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
