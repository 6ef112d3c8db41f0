// A home, a store and a workspace of their own, in which an agent has worked, and the page of it in a browser.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const flags = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** A red or a blue square of 24 by 24, as a BMP. */
export function picture(red) {
  const side = 24;
  const bytes = Buffer.alloc(54 + side * side * 3);
  bytes.write("BM", 0);
  bytes.writeUInt32LE(bytes.length, 2);
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(side, 18);
  bytes.writeInt32LE(side, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  for (let at = 54; at < bytes.length; at += 3) bytes[red ? at + 2 : at] = 210;
  return bytes;
}

export class World {
  constructor() {
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "ckpt-page.")));
    this.workspace = path.join(this.root, "bakery");
    this.servers = [];
    this.open = [];
    for (const folder of ["home", "bakery"]) fs.mkdirSync(path.join(this.root, folder));
  }

  get environment() {
    return { HOME: path.join(this.root, "home"), CKPT_HOOK_HOME: path.join(this.root, "store"), PATH: "/usr/bin:/bin", TZ: "UTC" };
  }

  run(...words) {
    const done = spawnSync(process.env.CKPT_HOOK_BINARY, words, { cwd: this.workspace, env: this.environment, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${words.join(" ")}: ${done.status}: ${done.stderr}`);
    return done.stdout;
  }

  write(name, content) {
    const file = path.join(this.workspace, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content);
  }

  read(name) {
    return fs.readFileSync(path.join(this.workspace, name), "utf8");
  }

  exists(name) {
    return fs.existsSync(path.join(this.workspace, name));
  }

  event(event, ...words) {
    const text = JSON.stringify({ session_id: "bread", agent: "baker", cwd: this.workspace, ...event });
    const done = spawnSync(process.env.CKPT_HOOK_BINARY, ["event", "--strict", ...words], { cwd: this.workspace, env: this.environment, input: text, encoding: "utf8" });
    if (done.status !== 0) throw new Error(`${text}: ${done.stderr}`);
  }

  /** A message, and a tool for each piece of work. */
  play(message, prompt, ...work) {
    this.event({ event: "user_message", message_id: message, prompt, tells_of_tools: true });
    work.forEach((piece, index) => this.tool(`${message}-${index}`, piece));
    this.event({ event: "turn_end" });
  }

  tool(id, work, name = "write") {
    this.event({ event: "tool_start", tool_use_id: id, tool_name: name });
    work();
    this.event({ event: "tool_finish", tool_use_id: id, tool_name: name });
  }

  /** Does what a case of `tests/fixtures/kept.json` says. What it opens is open until `clear`. */
  follow(steps) {
    const at = (name) => path.join(this.workspace, name);
    const told = (event) => this.event({ agent: "generic", ...event });
    const does = {
      write: ([name, text]) => this.write(name, text),
      remove: (name) => fs.rmSync(at(name), { recursive: true }),
      rename: ([from, to]) => fs.renameSync(at(from), at(to)),
      mode: ([name, mode]) => fs.chmodSync(at(name), mode),
      open: (name) => this.open.push(fs.openSync(at(name), "a")),
      settings: (text) => {
        const folder = path.join(this.root, "home/.config/ckpt-hook");
        fs.mkdirSync(folder, { recursive: true });
        fs.writeFileSync(path.join(folder, "config.toml"), text);
      },
      git: (words) => spawnSync("git", words, { cwd: this.workspace, env: this.environment }),
      event: told,
      hook: (event) => this.event({ agent: undefined, ...event }, "--agent", "codex", "--event", event.hook_event_name),
      message: ({ id, session, prompt, work }) => {
        for (const event of ["user_message", "step_start"]) told({ event, session_id: session, message_id: id, prompt });
        this.follow(work);
        for (const event of ["step_finish", "turn_end"]) told({ event, session_id: session });
      },
    };
    for (const [name, value] of steps.flatMap(Object.entries)) does[name](value);
  }

  /** Does what a way out asks for first. */
  clear(first) {
    for (const file of this.open.splice(0)) fs.closeSync(file);
    this.follow(first);
  }

  /** Starts the server, and returns its address. */
  async serve(...options) {
    const server = spawn(process.env.CKPT_HOOK_BINARY, ["page", "--no-open", ...options], { cwd: this.workspace, env: this.environment });
    this.servers.push(server);
    server.stderr.pipe(process.stderr);
    const lines = createInterface({ input: server.stdout });
    return new Promise((done, fail) => {
      lines.once("line", done);
      server.once("exit", (code) => fail(new Error(`the server ended: ${code}`)));
    });
  }

  end() {
    for (const server of this.servers) server.kill();
    fs.rmSync(this.root, { recursive: true, force: true });
  }
}

/** A browser with a new profile. */
export async function browse() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "ckpt-chromium."));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CKPT_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: flags,
    chromiumSandbox: false,
    viewport: { width: 1360, height: 860 },
  });
  return { browser, end: async () => {
    await browser.close();
    fs.rmSync(profile, { recursive: true, force: true });
  } };
}

/** A bakery's program: four messages, one of them taken back for good, an edit of the user's and a conflict to come. */
export function bakery() {
  const world = new World();
  world.write("order.py", "def total(prices):\n    return sum(prices)\n\n\ndef receipt(prices):\n    lines = []\n    for price in prices:\n        lines.append(f\"{price:.2f}\")\n    return \"\\n\".join(lines)\n\n\ndef tip(prices):\n    return round(total(prices) * 0.1)\n\n\ndef main():\n    print(receipt([1.2, 3.4]))\n");
  world.write("recipes/rye.md", "# Rye bread\n\n- 500 g rye flour\n- 10 g salt\n- water\n");
  world.write("notes.txt", "order flour on Monday\ncall the miller\n");
  world.write("logo.bmp", picture(true));
  world.write("oven.bin", Buffer.from([0, 1, 2, 3, 255]));
  world.play("m1", "Charge VAT on every order, and print it on the receipt",
    () => world.write("order.py", world.read("order.py").replace("def total(prices):\n    return sum(prices)", "VAT = 0.07\n\n\ndef total(prices):\n    return sum(prices) * (1 + VAT)")),
    () => world.write("order.py", world.read("order.py").replace("print(receipt([1.2, 3.4]))", "print(receipt([1.2, 3.4]), f\"including {VAT:.0%} VAT\")")),
    () => world.write("test_order.py", "from order import total\n\n\ndef test_total():\n    assert total([1.0]) == 1.07\n"));
  world.write("recipes/rye.md", "# Rye bread\n\n- 500 g rye flour\n- 12 g salt\n- 350 ml water\n");
  world.play("m2", "Draw a new logo in blue", () => world.write("logo.bmp", picture(false)), () => world.write("oven.bin", Buffer.from([0, 9, 2, 3, 255, 7])));
  world.run("revert", "m2");
  world.play("m3", "Translate the recipes to German, and tidy up the notes",
    () => world.write("recipes/rye.md", "# Roggenbrot\n\n- 500 g Roggenmehl\n- 12 g Salz\n- 350 ml Wasser\n"),
    () => fs.unlinkSync(path.join(world.workspace, "notes.txt")));
  world.play("m4", "Round the tip up to whole euros", () => world.write("order.py", world.read("order.py").replace("round(total(prices) * 0.1)", "math.ceil(total(prices) * 0.1)").replace("VAT = 0.07", "import math\n\nVAT = 0.07")));
  return world;
}
