// A server for as long as a window needs one: it comes again when it dies, and tells when there is something new.

import { randomUUID } from "node:crypto";
import {
  type ApplyParameters,
  type CallOptions,
  type Client,
  ClosedError,
  type Notification,
  type OperationReport,
  type StatusReport,
  type TimelineEntry,
} from "ckpt-hook";
import { failure } from "./decide/words.js";

/** What is read of a workspace. */
export interface History {
  entries: TimelineEntry[];
  /** What was searched for; everything, if nothing was. */
  found: TimelineEntry[];
  status: StatusReport | null;
}

/** What the history is searched for: prompts and paths, or text that was added or removed in a file. */
export interface Question {
  search?: string;
  text?: string;
}

export const EMPTY: History = { entries: [], found: [], status: null };

/** How long several notifications count as one, in milliseconds. */
const TOGETHER = 80;

/** How long to wait for a server that ended, at first and at most, in milliseconds. */
const SOONEST = 500;
const LATEST = 30_000;

/** How often a plan is sent whose server is lost each time. */
const TRIES = 3;

/** What is said where the server was lost with the answer. */
const UNCLEAR =
  "The server was lost, and it is unclear whether this was carried out. Once the server is back, the list of messages shows what was done.";

export class Follower {
  history = EMPTY;
  client: Client | null = null;
  /** Why there is no server. */
  trouble: string | null = null;
  question: Question = {};
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #seq: number | null = null;
  #isOver = false;
  #reading: Promise<void> | undefined;
  #isDue = false;
  /** What waits for the next server. */
  readonly #waiting = new Set<() => void>();

  /** `changed` is called when there is something new to show. */
  constructor(
    private readonly connect: () => Promise<Client>,
    private readonly changed: () => void,
  ) {}

  async begin(): Promise<void> {
    try {
      const client = await this.connect();
      if (this.#isOver) return void (await client.close());
      this.client = client;
      this.#wake();
      client.on("close", (reason) => {
        if (client === this.client) this.#lost(failure(reason));
      });
      // Also what only a newer server tells of: there is something to read.
      for (const event of client.server.notifications) client.on(event as "message", (told) => this.#told(told));
      const seq = this.#seq ?? client.server.seq;
      if (this.can("subscribe")) await client.subscribe(seq === null ? {} : { since: seq });
      await this.read();
      this.#failures = 0;
    } catch (error) {
      this.#lost(failure(error));
    }
  }

  /**
   * Carries out a plan. If the answer is lost with the server, the next one is asked, by the same key: it reports what was done, and does
   * what was not, if the plan still holds.
   */
  async apply(asked: ApplyParameters, options: CallOptions = {}): Promise<OperationReport> {
    const once = { ...asked, key: randomUUID() };
    // What a first server may have done cannot be cancelled any more.
    let { signal, ...again } = options;
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (!this.client && tries > 0) await new Promise<void>((resolve) => this.#waiting.add(resolve));
      if (!this.client) break;
      try {
        return await this.client.request("apply", once, { ...again, ...(signal && { signal }) });
      } catch (error) {
        if (!(error instanceof ClosedError)) throw error;
        signal = undefined;
      }
    }
    throw new Error(UNCLEAR);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Whether the server has a method: an older one may not. */
  can(method: string): boolean {
    return this.client?.server.methods.includes(method) ?? false;
  }

  get isSearched(): boolean {
    return Boolean(this.question.search ?? this.question.text);
  }

  /** Reads everything again; what is asked meanwhile is read once more afterwards. */
  read(): Promise<void> {
    this.#isDue = true;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    try {
      while (this.#isDue && this.client) {
        this.#isDue = false;
        const client = this.client;
        const [entries, found, status] = await Promise.all([
          this.#entries(client, {}),
          this.isSearched ? this.#entries(client, this.question) : null,
          this.can("status") ? client.request("status", {}) : null,
        ]);
        this.history = { entries, found: found ?? entries, status };
        this.trouble = null;
      }
    } finally {
      // Before anything is told: a listener may ask again at once.
      this.#reading = undefined;
    }
    this.changed();
  }

  async #entries(client: Client, question: Question): Promise<TimelineEntry[]> {
    if (this.can("timeline")) return (await client.request("timeline", { ...question })).entries;
    const { messages } = await client.request("messages", {});
    return messages.map((message) => ({ ...message, type: "message" }));
  }

  #told(told: Notification): void {
    this.#seq = told.type === "reset" ? null : told.seq;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.read().catch((error: unknown) => {
        // A server that is gone says so itself; of anything else, the last history is better than none.
        this.trouble = failure(error);
        this.changed();
      });
    }, TOGETHER);
  }

  #lost(trouble: string): void {
    const client = this.client;
    this.client = null;
    // One that does not even start is not waited for.
    if (!client) this.#wake();
    if (this.#isOver) return;
    if (client) void client.close().catch(() => {});
    this.trouble = trouble;
    this.changed();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.begin(), Math.min(LATEST, SOONEST * 2 ** this.#failures));
    this.#failures += 1;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#wake();
    const client = this.client;
    this.client = null;
    await client?.close();
  }
}
