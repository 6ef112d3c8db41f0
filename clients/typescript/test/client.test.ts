import assert from "node:assert/strict";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  AmbiguousError,
  BinaryNotFoundError,
  BusyError,
  CancelledError,
  Client,
  ClosedError,
  type Events,
  findBinary,
  type Method,
  type Message,
  type Progress,
  ProtocolError,
  StaleError,
  UnknownError,
} from "ckpt-hook";
import { World } from "./world.js";

async function inWorld(rule: (world: World) => Promise<void>): Promise<void> {
  const world = new World();
  try {
    await rule(world);
  } finally {
    await world[Symbol.asyncDispose]();
  }
}

async function only(client: Client): Promise<Message> {
  const [message, ...more] = await client.messages();
  assert.ok(message && more.length === 0, "there is one message");
  return message;
}

/** Resolves with the next event of a name. */
function next<N extends keyof Events>(client: Client, name: N): Promise<Events[N]> {
  return new Promise((resolve) => {
    const takeAway = client.on(name, (event) => {
      takeAway();
      resolve(event);
    });
  });
}

test("a message is previewed, reverted and brought back", () =>
  inWorld(async (world) => {
    world.write("file", "before\n");
    // JSON leaves U+2028 as it is, and some readers of lines take it for an end.
    world.play("m1", "rename\u2028it", "file", "after\n");
    const client = await world.client();
    const prompts = [];
    for (const message of await client.messages()) prompts.push(message.prompt);
    assert.deepEqual(prompts, ["rename\u2028it"]);
    const message = await only(client);
    assert.equal(message.revertable, true);
    assert.equal(message.agent_id, "m1");
    const plan = await message.preview();
    assert.equal(plan.report.dry_run, true);
    assert.deepEqual(
      plan.report.files.map(({ path, action }) => [path, action]),
      [["file", "write"]],
    );
    assert.equal(world.read("file"), "after\n", "a preview changes nothing");
    const progress: Progress[] = [];
    const report = await plan.apply({ onProgress: (told) => progress.push(told) });
    assert.equal(report.outcome, "restored");
    assert.equal(world.read("file"), "before\n");
    assert.ok(
      progress.some((told) => told.phase === "applying" && told.of === 1),
      JSON.stringify(progress),
    );
    await client.unrevert();
    assert.equal(world.read("file"), "after\n");
    assert.equal((await (await only(client)).revert()).outcome, "restored");
    assert.equal(world.read("file"), "before\n");
    assert.equal((await client.undo()).outcome, "restored");
    assert.equal(world.read("file"), "after\n");
  }));

test("a plan that no longer holds is stale, and nothing moves", () =>
  inWorld(async (world) => {
    world.write("file", "before\n");
    world.play("m1", "change it", "file", "after\n");
    const client = await world.client();
    const plan = await (await only(client)).preview();
    world.write("file", "mine\n");
    await assert.rejects(plan.apply(), (error) => error instanceof StaleError && error.kind === "stale");
    assert.equal(world.read("file"), "mine\n");
  }));

test("of two clients that apply one plan, one wins", () =>
  inWorld(async (world) => {
    world.play("m1", "make it", "file", "after\n");
    const [one, other] = [await world.client(), await world.client()];
    const { token } = await one.plan({ message: "m1" });
    assert.ok(token);
    const outcomes = await Promise.allSettled([one.apply(token), other.apply(token)]);
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    const lost = outcomes.find((outcome) => outcome.status === "rejected");
    assert.ok(lost?.reason instanceof StaleError, String(lost?.reason));
  }));

test("while an agent is at work a revert is refused unless it is forced", () =>
  inWorld(async (world) => {
    world.write("file", "before\n");
    world.play("m1", "change it", "file", "after\n");
    world.event("user_message", "m2", { prompt: "and again" });
    world.begin("m2");
    const client = await world.client();
    const message = (await client.messages()).find(({ agent_id }) => agent_id === "m1");
    assert.ok(message);
    assert.equal((await message.preview()).report.busy, true);
    await assert.rejects(message.revert(), BusyError);
    assert.equal(world.read("file"), "after\n");
    await message.revert({ force: true });
    assert.equal(world.read("file"), "before\n");
  }));

test("an error is of its kind's class", () =>
  inWorld(async (world) => {
    world.play("m1", "make it", "file", "1\n");
    const client = await world.client();
    await assert.rejects(client.revert({ message: "nothing-has-this-id" }), UnknownError);
    await assert.rejects(client.request("messages", { limit: -1 }), ProtocolError);
    assert.equal((await client.messages()).length, 1, "the server goes on");
    const failure = { code: 1, message: "two", causes: [], hint: null, notes: [] };
    const candidates = [{ kind: "message", id: "1", name: "1" }];
    const scripted = await world.scripted(
      { id: 2, error: { code: -32000, message: "two", data: { ...failure, kind: "ambiguous", candidates } } },
      { id: 3, error: { code: -32000, message: "two", data: { ...failure, kind: "of tomorrow", candidates: [] } } },
      { id: 4, error: { code: -32800, message: "two", data: { ...failure, kind: "cancelled", candidates: [] } } },
      { id: 5, error: { code: -32601, message: "two", data: { ...failure, kind: "usage", candidates: [] } } },
      { id: 6, error: { code: -32601, message: "two" } },
    );
    await assert.rejects(
      scripted.messages(),
      (error) => error instanceof AmbiguousError && error.candidates[0]?.id === "1",
    );
    await assert.rejects(scripted.messages(), { name: "FailureError", kind: "of tomorrow" });
    await assert.rejects(scripted.messages(), { name: "CancelledError", kind: "cancelled" });
    await assert.rejects(scripted.messages(), { name: "ProtocolError", code: -32601 });
    await assert.rejects(scripted.messages(), { name: "ProtocolError", code: -32601 }, "a server of before");
  }));

test("a text that is cut or too long costs nothing but its own request", () =>
  inWorld(async (world) => {
    const client = await world.client();
    const event = { event: "user_message", session_id: "chat", message_id: "cut", prompt: "cake \u{1f382}".slice(0, -1) } as const;
    await client.record(event);
    assert.equal((await only(client)).prompt, "cake \ufffd");
    await assert.rejects(client.record({ ...event, prompt: "x".repeat(5 << 20) }), { name: "ProtocolError", code: -32600 });
    assert.equal((await client.messages()).length, 1, "the server goes on");
  }));

test("events are told, and a client that was away goes on from the last seq", () =>
  inWorld(async (world) => {
    const first = await world.client();
    const since = await first.subscribe();
    const sent = next(first, "message");
    world.play("m1", "make it", "file", "1\n");
    assert.equal((await sent).message.prompt, "make it");
    assert.ok(first.seq !== null && first.seq > since);
    const { seq } = first;
    await first.close();
    world.play("m2", "and again", "file", "2\n");
    const second = await world.client();
    const prompts: (string | null)[] = [];
    second.on("message", ({ message }) => prompts.push(message.prompt));
    const restored = next(second, "restored");
    await second.subscribe({ since: seq, events: ["message", "restored"] });
    await second.revert({ message: "m2" });
    assert.equal((await restored).type, "operation");
    assert.ok(prompts.includes("and again"), "what happened meanwhile is told");
  }));

test("what the chat records can be reverted by its own ids", () =>
  inWorld(async (world) => {
    const client = await world.client();
    const base = { session_id: "chat", message_id: "m1" };
    await client.record({ event: "user_message", ...base, prompt: "make it" });
    await client.record({ event: "tool_start", ...base, tool_use_id: "t", tool_name: "shell" });
    world.write("file", "ü\n");
    await client.record({ event: "tool_finish", ...base, tool_use_id: "t", tool_name: "shell" });
    await client.record({ event: "turn_end", ...base });
    const { files } = await client.request("patch", { id: (await only(client)).id });
    assert.equal((await client.contents(files[0]?.new_blob ?? "")).toString(), "ü\n");
    assert.equal((await client.revert({ message: "m1" })).outcome, "restored");
    assert.throws(() => world.read("file"), "what the step made is gone");
  }));

test("every method of the server is known, and the other way round", () =>
  inWorld(async (world) => {
    const client = await world.client();
    const known: Record<Method | "cancel", true> = {
      initialize: true,
      sessions: true,
      messages: true,
      operations: true,
      timeline: true,
      show: true,
      patch: true,
      contents: true,
      blame: true,
      plan: true,
      apply: true,
      revert: true,
      redo: true,
      unrevert: true,
      restore: true,
      undo: true,
      status: true,
      doctor: true,
      install: true,
      record: true,
      subscribe: true,
      unsubscribe: true,
      cancel: true,
    };
    assert.deepEqual(client.server.methods.sort(), Object.keys(known).sort());
  }));

test("a request can be cancelled", () =>
  inWorld(async (world) => {
    world.play("m1", "make it", "file", "1\n");
    const client = await world.client();
    const early = AbortSignal.abort();
    await assert.rejects(client.request("status", {}, { signal: early }), { name: "AbortError" });
    const controller = new AbortController();
    const asked = Array.from({ length: 50 }, () => client.request("show", { id: "last" }));
    const last = client.request("show", { id: "last" }, { signal: controller.signal });
    controller.abort();
    // It may have been answered before it was cancelled; it is not forgotten.
    const [outcome] = await Promise.allSettled([last]);
    if (outcome.status === "rejected") assert.ok(outcome.reason instanceof CancelledError);
    assert.equal((await Promise.all(asked)).length, 50);
  }));

test("a server that ends ends what waits for it", () =>
  inWorld(async (world) => {
    const client = await world.scripted();
    const closed = next(client, "close");
    await assert.rejects(client.messages(), /exit code 3: broken/);
    assert.ok((await closed) instanceof ClosedError);
    await assert.rejects(client.messages(), ClosedError);
    const nowhere = Client.start({ workspace: join(world.scratch, "nowhere"), env: world.env });
    await assert.rejects(nowhere, ClosedError);
  }));

test("a notification of a later version is passed over, and its seq counts", () =>
  inWorld(async (world) => {
    const later = { method: "of_tomorrow", params: { type: "of_tomorrow", seq: 7, of: { tomorrow: [] } } };
    const script = await world.scripted(later, { id: 2, result: { messages: [] } });
    assert.deepEqual(await Promise.race([script.messages(), script.request("status", {})]), []);
    assert.equal(script.seq, 7);
  }));

test("what is no line of the protocol ends the client with what the server said", () =>
  inWorld(async (world) => {
    for (const line of ["Update available!", "null", "[]", "{}", '{"id":2}', '{"id":1,"method":"m","params":{}}']) {
      const binary = join(world.scratch, "talkative");
      writeFileSync(binary, `#!/bin/sh\necho '${line}'\nread -r _\nread -r _\n`, { mode: 0o755 });
      await assert.rejects(Client.start({ workspace: world.workspace, binary }), (error) => {
        assert.ok(error instanceof ClosedError, line);
        assert.equal(error.message, `the server does not speak the protocol: ${line}`);
        return true;
      });
    }
  }));

test("the binary is found by the environment, the platform's package, and the PATH", () =>
  inWorld(async (world) => {
    assert.equal(findBinary({ CKPT_HOOK_BINARY: "/there", PATH: "/usr/bin" }), "/there");
    assert.throws(() => findBinary({ PATH: world.scratch }), BinaryNotFoundError);
    const binary = join(world.scratch, "ckpt-hook");
    writeFileSync(binary, "#!/bin/sh\n", { mode: 0o755 });
    assert.equal(findBinary({ PATH: `/nowhere:${world.scratch}` }), binary);
    const modules = join(world.scratch, "node_modules");
    const packaged = join(modules, `ckpt-hook-${process.platform}-${process.arch}`, "bin");
    mkdirSync(packaged, { recursive: true });
    cpSync(binary, join(packaged, "ckpt-hook"));
    cpSync(new URL("../dist", import.meta.url), join(modules, "ckpt-hook/dist"), { recursive: true });
    cpSync(new URL("../package.json", import.meta.url), join(modules, "ckpt-hook/package.json"));
    const copy: typeof import("ckpt-hook") = await import(join(modules, "ckpt-hook/dist/index.js"));
    assert.equal(copy.findBinary({ PATH: world.scratch }), join(packaged, "ckpt-hook"));
  }));
