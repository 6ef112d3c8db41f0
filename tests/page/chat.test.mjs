// The example front end in a browser: a message, its button, the preview, a conflict, and undo.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { browse } from "./world.mjs";

/** Returns a port that nobody listens on. */
async function free() {
  const server = net.createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

async function start(t) {
  const port = await free();
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "ckpt-chat.")));
  for (const folder of ["home", "workspace", "app"]) fs.mkdirSync(path.join(root, folder));
  const server = spawn(process.env.CKPT_CHAINLIT, ["run", process.env.CKPT_CHAT, "--headless", "--port", String(port)], {
    cwd: path.join(root, "app"),
    env: {
      ...process.env,
      HOME: path.join(root, "home"),
      CKPT_HOOK_HOME: path.join(root, "store"),
      CHAT_WORKSPACE: path.join(root, "workspace"),
      CHAINLIT_APP_ROOT: path.join(root, "app"),
    },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const { browser, end } = await browse();
  t.after(async () => {
    await end();
    server.kill();
    await new Promise((done) => server.once("exit", done));
    fs.rmSync(root, { recursive: true, force: true });
  });
  const tab = await browser.newPage();
  for (;;) {
    const is = await tab.goto(`http://127.0.0.1:${port}/`).then(() => true, () => false);
    if (is) break;
    assert.equal(server.exitCode, null, "the chat runs");
    await new Promise((done) => setTimeout(done, 500));
  }
  return { tab, list: path.join(root, "workspace/shopping.txt") };
}

async function say(tab, text) {
  const input = tab.locator("#chat-input");
  await input.click();
  await input.pressSequentially(text);
  // It can be pressed once the chat is connected.
  await tab.locator("#chat-submit").click();
}

test("a message has a button, a preview, a conflict and an undo", { timeout: 240_000 }, async (t) => {
  const { tab, list } = await start(t);
  tab.setDefaultTimeout(90_000);
  await say(tab, "add butter");
  await tab.getByText("I added butter.").waitFor();
  await say(tab, "add flour");
  await tab.getByText("I added flour.").waitFor();
  assert.equal(fs.readFileSync(list, "utf8"), "butter\nflour\n");
  const back = tab.getByRole("button", { name: "Back to before this" });
  await back.nth(1).click();
  await tab.getByText("shopping.txt").last().waitFor();
  assert.equal(fs.readFileSync(list, "utf8"), "butter\nflour\n", "a preview changes nothing");
  if (process.env.CKPT_SHOTS) await tab.screenshot({ path: path.join(process.env.CKPT_SHOTS, "chat.png") });
  await tab.getByRole("button", { name: "Do it" }).click();
  await tab.getByText("Done.", { exact: true }).waitFor();
  assert.equal(fs.readFileSync(list, "utf8"), "butter\n");
  await tab.getByRole("button", { name: "Undo" }).click();
  await tab.getByText("All is as it was").waitFor();
  assert.equal(fs.readFileSync(list, "utf8"), "butter\nflour\n");
  fs.writeFileSync(list, "butter\nrye flour\n");
  await back.nth(1).click();
  await tab.getByText("stays:").waitFor();
  await tab.getByRole("button", { name: "Plan again with the earlier version" }).click();
  await tab.getByRole("button", { name: "Do it" }).last().click();
  await tab.getByText("Done.", { exact: true }).nth(1).waitFor();
  assert.equal(fs.readFileSync(list, "utf8"), "butter\n");
});
