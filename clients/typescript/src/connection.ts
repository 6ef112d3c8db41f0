// A server's process, and JSON-RPC 2.0 with it: one message a line.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { ErrorReport, Notification } from "./documents.js";
import { ClosedError, errorOf, type RpcError } from "./errors.js";
import type { Method, Parameters, Result } from "./protocol.js";

/** How far an operation is. Some of it may be dropped. */
export type Progress =
  | { phase: "looking"; files: number; bytes: number }
  | { phase: "applying"; done: number; of: number };

export interface CallOptions {
  onProgress?: (progress: Progress) => void;
  /** Cancels the request. What has already begun to change files is carried out and answered. */
  signal?: AbortSignal;
}

/** What a listener is given, by the name of the event. */
export type Events = { [N in Notification as N["type"]]: N } & {
  checkpoint: Notification;
  restored: Notification;
  /** What went wrong in a hook, or why the server cannot tell what happens. */
  error: Notification | ErrorReport;
  /** The server ended. */
  close: ClosedError;
};

type Listener = (event: never) => void;

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
  onProgress: ((progress: Progress) => void) | undefined;
}

type Line =
  | { id: number; result: unknown }
  | { id: number | null; error: RpcError }
  | { method: string; params: Record<string, unknown> };

/** No more of the server's stderr is kept than this, for the error's text. */
const KEPT_STDERR = 4096;

/** No more of a line that is none of the protocol's is quoted than this. */
const KEPT_LINE = 200;

export class Connection {
  /** The `seq` of the last thing that listeners were told. */
  seq: number | null = null;
  readonly #server: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Map<string, Set<Listener>>();
  readonly #ended: Promise<void>;
  #asked = 0;
  #closed: ClosedError | undefined;
  #stderr = "";
  /** A line whose end has not come yet. */
  #begun: Buffer[] = [];

  constructor(binary: string, workspace: string, environment: NodeJS.ProcessEnv) {
    this.#server = spawn(binary, ["serve", "--stdio"], { cwd: workspace, env: environment });
    this.#server.stdout.on("data", (bytes: Buffer) => this.#read(bytes));
    this.#server.stderr.on("data", (bytes: Buffer) => {
      this.#stderr = (this.#stderr + bytes.toString()).slice(-KEPT_STDERR);
    });
    // A server that has gone away is told of once, by its end.
    this.#server.stdin.on("error", () => {});
    this.#ended = new Promise((resolve) => {
      this.#server.on("error", (cause) => {
        this.#end(new ClosedError(`cannot start ${binary} in ${workspace}`, { cause }));
        resolve();
      });
      this.#server.on("close", (code, signal) => {
        const how = signal ? `signal ${signal}` : `exit code ${code}`;
        this.#end(new ClosedError(`the server ended with ${how}: ${this.#stderr.trim()}`));
        resolve();
      });
    });
  }

  call<M extends Method>(method: M, params: Parameters<M>, options: CallOptions = {}): Promise<Result<M>> {
    const { onProgress, signal } = options;
    if (this.#closed) return Promise.reject(this.#closed);
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = ++this.#asked;
    const cancel = () => this.#write({ method: "cancel", params: { id } });
    const answer = new Promise<Result<M>>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress });
    });
    signal?.addEventListener("abort", cancel, { once: true });
    this.#write({ id, method, params });
    return answer.finally(() => signal?.removeEventListener("abort", cancel));
  }

  on<N extends keyof Events>(name: N, listener: (event: Events[N]) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Ends the server once it has answered what it was asked. */
  async close(): Promise<void> {
    this.#server.stdin.end();
    await this.#ended;
  }

  #write(message: object): void {
    this.#server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  // Not node:readline: it takes U+2028, which JSON does not escape, for the end of a line.
  #read(bytes: Buffer): void {
    if (this.#closed) return;
    let end: number;
    while ((end = bytes.indexOf(0x0a)) !== -1) {
      this.#begun.push(bytes.subarray(0, end));
      const line = Buffer.concat(this.#begun).toString();
      this.#begun = [];
      bytes = bytes.subarray(end + 1);
      const parsed = parse(line);
      if (!parsed) {
        this.#end(new ClosedError(`the server does not speak the protocol: ${line.slice(0, KEPT_LINE)}`));
        this.#server.kill();
        return;
      }
      this.#handle(parsed);
    }
    if (bytes.length > 0) this.#begun.push(bytes);
  }

  #handle(line: Line): void {
    if ("method" in line) {
      this.#told(line.method, line.params);
      return;
    }
    const waiting = line.id === null ? undefined : this.#waiting.get(line.id);
    if (!waiting || line.id === null) return;
    this.#waiting.delete(line.id);
    if ("error" in line) waiting.reject(errorOf(line.error));
    else waiting.resolve(line.result as never);
  }

  #told(method: string, params: Record<string, unknown>): void {
    if (method === "progress") {
      const { id, ...progress } = params;
      const onProgress = this.#waiting.get(id as number)?.onProgress;
      if (onProgress) shielded(() => onProgress(progress as Progress));
      return;
    }
    this.#emit(method, params);
    if (typeof params["seq"] === "number") this.seq = params["seq"];
  }

  #emit(name: string, event: unknown): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      shielded(() => listener(event as never));
    }
  }

  #end(closed: ClosedError): void {
    if (this.#closed) return;
    this.#closed = closed;
    for (const { reject } of this.#waiting.values()) reject(closed);
    this.#waiting.clear();
    this.#emit("close", closed);
  }
}

/** Returns a line of the protocol, if it is one. */
function parse(line: string): Line | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    const isObject = (value: unknown) => typeof value === "object" && value !== null;
    if (!isObject(parsed)) return undefined;
    const { id, method, params, result, error } = parsed as Record<string, unknown>;
    const isNotification = typeof method === "string" && id === undefined && isObject(params);
    const isAnswer = method === undefined && id !== undefined && (result !== undefined || isObject(error));
    return isNotification || isAnswer ? (parsed as Line) : undefined;
  } catch {
    return undefined;
  }
}

/** Calls what is not ours: what it throws is reported as uncaught, and the next line is read all the same. */
function shielded(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
