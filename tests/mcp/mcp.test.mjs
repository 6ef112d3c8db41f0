// `ckpt-hook mcp` with the official client: what it lists, what it refuses, a revert in two steps, and a person who is asked.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const binary = process.env.CKPT_HOOK_BINARY;

class World {
  constructor(t) {
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "ckpt-mcp.")));
    this.workspace = path.join(this.root, "workspace");
    for (const folder of ["home", "workspace"]) fs.mkdirSync(path.join(this.root, folder));
    this.env = { HOME: path.join(this.root, "home"), CKPT_HOOK_HOME: path.join(this.root, "store"), PATH: "/usr/bin:/bin" };
    t.after(() => fs.rmSync(this.root, { recursive: true, force: true }));
    this.write("changed", "1\n");
    this.event({ event: "user_message", message_id: "m1", prompt: "change it", tells_of_tools: true });
    this.event({ event: "tool_start", tool_use_id: "t1", tool_name: "write" });
    this.write("changed", "2\n");
    this.write("made", "2\n");
    this.event({ event: "tool_finish", tool_use_id: "t1", tool_name: "write" });
    this.event({ event: "turn_end" });
  }

  event(event) {
    const input = JSON.stringify({ session_id: "s", cwd: this.workspace, ...event });
    const done = spawnSync(binary, ["event", "--strict"], { cwd: this.workspace, env: this.env, input, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
  }

  write(name, text) {
    fs.writeFileSync(path.join(this.workspace, name), text);
  }

  read(name) {
    return fs.readFileSync(path.join(this.workspace, name), "utf8");
  }

  /** Starts a server with a client; `answer` is what a person answers, if the client can ask. */
  async client(t, options = [], answer = null) {
    const client = new Client({ name: "test", version: "1" }, { capabilities: answer === null ? {} : { elicitation: {} } });
    const asked = [];
    if (answer !== null) {
      client.setRequestHandler(ElicitRequestSchema, (request) => {
        asked.push(request.params);
        return answer;
      });
    }
    await client.connect(new StdioClientTransport({ command: binary, args: ["mcp", ...options], cwd: this.workspace, env: this.env }));
    t.after(() => client.close());
    const call = async (name, args) => {
      const result = await client.callTool({ name, arguments: args });
      return { isError: result.isError ?? false, document: result.structuredContent };
    };
    return { client, call, asked };
  }
}

test("it lists tools that only look, and has no other unless it may", async (t) => {
  const world = new World(t);
  const { client, call } = await world.client(t);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["list", "show", "diff", "blame", "status", "plan"]);
  for (const tool of tools) {
    assert.equal(tool.annotations.readOnlyHint, true, tool.name);
    assert.equal(tool.inputSchema.properties.workspace, undefined, "nothing leads out of the workspace");
  }
  assert.equal((await call("list", {})).document.messages[0].prompt, "change it");
  assert.match((await call("diff", { id: "last" })).document.patch.text, /-1\n\+2/);
  assert.equal((await call("show", { id: "last" })).document.message.agent_id, "m1");
  assert.equal((await call("blame", { path: "made" })).document.hunks[0].by, "agent");
  const { document } = await call("plan", { message: "m1" });
  await assert.rejects(call("apply", { plan: document.plan }), /read-only/);
  for (const method of ["revert", "undo", "record", "subscribe"]) await assert.rejects(call(method, { message: "m1" }), /no such tool/);
  await assert.rejects(call("status", { workspace: "/" }), /one workspace/);
  assert.equal(world.read("changed"), "2\n", "nothing was changed");
  const unknown = await call("show", { id: "nobody" });
  assert.ok(unknown.isError);
  assert.equal(unknown.document.data.kind, "unknown");
});

test("a plan is applied by its token, once, and only while it holds", async (t) => {
  const world = new World(t);
  const { client, call } = await world.client(t, ["--allow-revert"]);
  const { tools } = await client.listTools();
  const apply = tools.find((tool) => tool.name === "apply");
  assert.equal(apply.annotations.destructiveHint, true);
  let { document } = await call("plan", { message: "m1" });
  world.write("changed", "mine\n");
  const stale = await call("apply", { plan: document.plan });
  assert.equal(stale.document.data.kind, "stale");
  assert.equal(world.read("changed"), "mine\n", "nothing moved");
  world.write("changed", "2\n");
  ({ document } = await call("plan", { message: "m1" }));
  assert.equal((await call("apply", { plan: document.plan })).document.outcome, "restored");
  assert.equal(world.read("changed"), "1\n");
  ({ document } = await call("plan", { operation: "undo" }));
  await call("apply", { plan: document.plan });
  assert.equal(world.read("changed"), "2\n");
  const other = new World(t);
  const dryRun = ["--json", "revert", "m1", "--dry-run"];
  const { plan } = JSON.parse(spawnSync(binary, dryRun, { cwd: other.workspace, env: other.env, encoding: "utf8" }).stdout);
  const refused = await call("apply", { plan });
  assert.match(refused.document.message, /another workspace/);
  assert.equal(other.read("changed"), "2\n", "nothing moved");
});

test("an agent that forces says that it is at work, and takes no database from a program", async (t) => {
  const world = new World(t);
  world.write("x.db", "1\n");
  world.event({ event: "user_message", message_id: "m2", prompt: "write the database", tells_of_tools: true });
  world.event({ event: "tool_start", tool_use_id: "t2", tool_name: "write" });
  world.write("x.db", "2\n");
  world.write("made", "3\n");
  world.event({ event: "tool_finish", tool_use_id: "t2", tool_name: "write" });
  world.event({ event: "tool_start", tool_use_id: "t3", tool_name: "apply" });
  const { call } = await world.client(t, ["--allow-revert"]);
  const program = fs.openSync(path.join(world.workspace, "x.db"), "r+");
  t.after(() => fs.closeSync(program));
  const { document } = await call("plan", { message: "m2" });
  const busy = await call("apply", { plan: document.plan });
  assert.equal(busy.document.data.kind, "busy");
  assert.equal(world.read("made"), "3\n", "nothing moved");
  const applied = await call("apply", { plan: document.plan, force: true });
  assert.equal(applied.document.outcome, "partial", JSON.stringify(applied));
  assert.equal(world.read("x.db"), "2\n", "a program has it open");
  assert.equal(world.read("made"), "2\n", "the rest went back");
});

test("garbage, wrong parameters and a store that is gone are errors, never an end", async (t) => {
  const world = new World(t);
  const { client, call } = await world.client(t);
  client.transport._process.stdin.write("garbage {\n[]\n");
  const wrong = await call("show", { id: 5 });
  assert.ok(wrong.isError);
  assert.match(wrong.document.message, /expected a string/);
  await assert.rejects(client.request({ method: "nonsense" }, ElicitRequestSchema), /nonsense/);
  fs.rmSync(path.join(world.root, "store"), { recursive: true });
  fs.writeFileSync(path.join(world.root, "store"), "no folder\n");
  const gone = await call("list", {});
  assert.ok(gone.isError);
  assert.ok(gone.document.message, "it says what is wrong");
  assert.ok(await client.ping(), "and goes on");
});

test("a person is asked about files that were changed since", async (t) => {
  for (const [answer, expected] of [
    [{ action: "accept", content: { files: "overwrite" } }, "1\n"],
    [{ action: "accept", content: { files: "keep" } }, "mine\n"],
    [{ action: "decline" }, "mine\n"],
    [{ action: "cancel" }, "mine\n"],
  ]) {
    const world = new World(t);
    world.write("changed", "mine\n");
    const { call, asked } = await world.client(t, ["--allow-revert"], answer);
    const { document } = await call("plan", { message: "m1" });
    assert.equal(asked.length, 1);
    assert.match(asked[0].message, /changed/);
    await call("apply", { plan: document.plan });
    assert.equal(world.read("changed"), expected, JSON.stringify(answer));
    assert.ok(!fs.existsSync(path.join(world.workspace, "made")), "the rest went back");
  }
  const world = new World(t);
  world.write("changed", "mine\n");
  const { call } = await world.client(t, ["--allow-revert"]);
  const { document } = await call("plan", { message: "m1" });
  await call("apply", { plan: document.plan });
  assert.equal(world.read("changed"), "mine\n", "where nobody can be asked, it stays");
});
