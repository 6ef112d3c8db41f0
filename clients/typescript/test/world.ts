// A home, a store and a workspace in a scratch directory, and the real binary.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type EventKind, findBinary } from "ckpt-hook";

export class World {
  readonly scratch = realpathSync(mkdtempSync(join(tmpdir(), "ckpt-client-")));
  readonly workspace = join(this.scratch, "workspace");
  readonly env = {
    CKPT_HOOK_BINARY: findBinary(),
    CKPT_HOOK_HOME: join(this.scratch, "store"),
    HOME: join(this.scratch, "home"),
    PATH: "/usr/bin:/bin",
  };
  readonly #clients: Client[] = [];

  constructor() {
    mkdirSync(this.workspace);
    mkdirSync(this.env.HOME);
  }

  async client(): Promise<Client> {
    const client = await Client.start({ workspace: this.workspace, env: this.env });
    this.#clients.push(client);
    return client;
  }

  /** Returns the client of a server that answers as it is told, and then ends with the exit code 3. */
  async scripted(...answers: object[]): Promise<Client> {
    const binary = join(this.scratch, "scripted");
    const lines = [{ id: 1, result: {} }, ...answers].map((answer) => `read -r _; echo '${JSON.stringify(answer)}'\n`);
    writeFileSync(binary, `#!/bin/sh\n${lines.join("")}read -r _ && echo broken >&2 && exit 3\n`, { mode: 0o755 });
    const client = await Client.start({ workspace: this.workspace, binary });
    this.#clients.push(client);
    return client;
  }

  read(name: string): string {
    return readFileSync(join(this.workspace, name), "utf-8");
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.workspace, name), text);
  }

  /** Sends an event as an agent's hook does, from another process. */
  event(event: EventKind, message: string, more: object = {}): void {
    const text = JSON.stringify({ event, session_id: "chat", message_id: message, cwd: this.workspace, ...more });
    const { status, stderr } = spawnSync(this.env.CKPT_HOOK_BINARY, ["event"], { input: text, env: this.env });
    if (status !== 0) throw new Error(`event: ${stderr}`);
  }

  /** Plays a message with a step that writes a file. */
  play(message: string, prompt: string, name: string, text: string): void {
    this.event("user_message", message, { prompt });
    this.begin(message);
    this.write(name, text);
    this.event("tool_finish", message, { tool_use_id: message, tool_name: "shell" });
    this.event("turn_end", message);
  }

  begin(message: string): void {
    this.event("tool_start", message, { tool_use_id: message, tool_name: "shell" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    rmSync(this.scratch, { recursive: true });
  }
}
