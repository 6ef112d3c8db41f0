// The server of a window, with the real program.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Client } from "ckpt-hook";
import { World } from "../../typescript/test/world.js";
import { Follower } from "../src/follower.js";

interface Followed {
  world: World;
  follower: Follower;
  /** Resolves once a condition holds, at the latest after a notification. */
  until(holds: () => boolean): Promise<void>;
}

async function followed(rule: (followed: Followed) => Promise<void>, binary?: (world: World) => string): Promise<void> {
  const world = new World();
  const waiting = new Set<() => void>();
  const start = () =>
    Client.start({ workspace: world.workspace, env: world.env, binary: binary?.(world) ?? world.env.CKPT_HOOK_BINARY });
  const follower = new Follower(start, () => {
    for (const check of [...waiting]) check();
  });
  const until = (holds: () => boolean) =>
    new Promise<void>((resolve) => {
      const check = () => {
        if (!holds()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  try {
    await rule({ world, follower, until });
  } finally {
    await follower.end();
    await world[Symbol.asyncDispose]();
  }
}

const prompts = (follower: Follower) =>
  follower.history.entries.map((entry) => (entry.type === "message" ? entry.prompt : entry.type));

test("a step appears while the agent works", () =>
  followed(async ({ world, follower, until }) => {
    await follower.begin();
    world.event("user_message", "m1", { prompt: "one" });
    world.begin("m1");
    await until(() =>
      follower.history.entries.some(
        (entry) => entry.type === "message" && entry.steps === 1 && entry.finished === null,
      ),
    );
    assert.equal(follower.history.status?.agents_at_work.length, 1);
    world.write("a", "1\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await until(() =>
      follower.history.entries.some(
        (entry) => entry.type === "message" && entry.files === 1 && entry.finished !== null,
      ),
    );
  }));

test("what another window does is seen", () =>
  followed(async ({ world, follower, until }) => {
    world.play("m1", "one", "a", "1\n");
    await follower.begin();
    const other = await world.client();
    const [message] = await other.messages();
    await message?.revert();
    await until(() => follower.history.status?.messages_hidden.length === 1);
    assert.deepEqual(prompts(follower), ["operation", "one"]);
    await other.undo();
    await until(() => follower.history.status?.messages_hidden.length === 0);
  }));

test("two agents at once are both seen", () =>
  followed(async ({ world, follower, until }) => {
    await follower.begin();
    for (const session of ["one", "two"]) {
      world.event("user_message", `m ${session}`, { session_id: session, prompt: session });
      world.event("tool_start", `m ${session}`, { session_id: session, tool_use_id: session, tool_name: "shell" });
    }
    await until(() => follower.history.status?.agents_at_work.length === 2);
    assert.deepEqual(prompts(follower).sort(), ["one", "two"]);
  }));

test("a server that died comes again, and nothing is missed", () => {
  // The program tells its process id, so that just this one is killed.
  const binary = (world: World) => {
    const path = join(world.scratch, "told");
    writeFileSync(path, `#!/bin/sh\necho $$ > ${world.scratch}/pid\nexec ${world.env.CKPT_HOOK_BINARY} "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  };
  return followed(async ({ world, follower, until }) => {
    await follower.begin();
    assert.notEqual(follower.client, null);
    spawnSync("sh", ["-c", `kill -9 $(cat ${world.scratch}/pid)`]);
    await until(() => follower.trouble !== null);
    assert.equal(follower.client, null);
    assert.match(follower.trouble ?? "", /signal SIGKILL/);
    world.play("m1", "meanwhile", "a", "1\n");
    await until(() => follower.trouble === null && prompts(follower).includes("meanwhile"));
    world.play("m2", "afterwards", "a", "2\n");
    await until(() => prompts(follower).includes("afterwards"));
  }, binary);
});

test("a program that is none is said, and tried again", () => {
  let path = "/bin/false";
  return followed(
    async ({ world, follower, until }) => {
      await follower.begin();
      assert.match(follower.trouble ?? "", /exit code 1/);
      path = world.env.CKPT_HOOK_BINARY;
      await until(() => follower.trouble === null && follower.client !== null);
    },
    () => path,
  );
});

/** A server that prints some lines for each that it is asked, and ends when it is asked for more. */
const scripted =
  (...answers: object[][]) =>
  (world: World) => {
    const path = join(world.scratch, "scripted");
    const print = (answer: object) => `echo '${JSON.stringify({ jsonrpc: "2.0", ...answer })}'\n`;
    const lines = answers.map((some) => `read -r _\n${some.map(print).join("")}`);
    writeFileSync(path, `#!/bin/sh\n${lines.join("")}read -r _ && exit 3\n`, { mode: 0o755 });
    return path;
  };

const initialized = (methods: string[], notifications: string[]) => ({
  id: 1,
  result: { methods: ["initialize", ...methods], notifications, protocol: 1, documents: 1, seq: 1, server: {} },
});

const listed = (id: number, prompt: string) => ({
  id,
  result: { messages: [{ id: "a1", prompt, seq: 1 }], set_aside: null, unknown_workspaces: 0, version: 1 },
});

test("an older server is asked only for what it has", () =>
  followed(
    async ({ follower }) => {
      await follower.begin();
      assert.deepEqual([follower.trouble, prompts(follower)], [null, ["old"]]);
      assert.equal(follower.can("blame"), false);
    },
    scripted([initialized(["messages"], [])], [listed(2, "old")]),
  ));

test("what only a newer server tells of is read, too", () =>
  followed(
    async ({ follower, until }) => {
      await follower.begin();
      await until(() => prompts(follower)[0] === "after it");
    },
    scripted(
      [initialized(["messages", "subscribe"], ["novel"])],
      [{ id: 2, result: { seq: 1 } }],
      [listed(3, "before it"), { method: "novel", params: { type: "novel", seq: 2 } }],
      [listed(4, "after it")],
    ),
  ));

test("a search asks the server, and goes on while things happen", () =>
  followed(async ({ world, follower, until }) => {
    world.play("m1", "one", "needle", "1\n");
    world.play("m2", "two", "other", "2\n");
    await follower.begin();
    follower.question = { search: "needle" };
    await follower.read();
    const found = () => follower.history.found.map((entry) => (entry.type === "message" ? entry.prompt : entry.type));
    assert.deepEqual(found(), ["one"]);
    world.play("m3", "needle, too", "other", "3\n");
    await until(() => found().length === 2);
    assert.equal(prompts(follower).filter((prompt) => prompt !== "outside").length, 3, "the rest is known as well");
    follower.question = {};
    await follower.read();
    assert.deepEqual(found(), prompts(follower));
  }));
