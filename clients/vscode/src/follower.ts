// A server for as long as a window needs one: it comes again when it dies, and tells when there is something new.

import type { Client, Notification, StatusReport, TimelineEntry } from "ckpt-hook";
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

export class Follower {
  history = EMPTY;
  client: Client | null = null;
  /** Why there is no server. */
  trouble: string | null = null;
  question: Question = {};
  readonly #connect: () => Promise<Client>;
  readonly #changed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #seq: number | null = null;
  #isOver = false;
  #reading: Promise<void> | undefined;
  #isDue = false;

  /** `changed` is called when there is something new to show. */
  constructor(connect: () => Promise<Client>, changed: () => void) {
    this.#connect = connect;
    this.#changed = changed;
  }

  async begin(): Promise<void> {
    try {
      const client = await this.#connect();
      if (this.#isOver) return void (await client.close());
      this.client = client;
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

  /** Whether the server has a method: an older one may not. */
  can(method: string): boolean {
    return this.client?.server.methods.includes(method) ?? false;
  }

  get isSearched(): boolean {
    return Boolean(this.question.search ?? this.question.text);
  }

  /** The agents whose conversations can be forked. */
  get forks(): Set<string> {
    const abilities = Object.entries(this.client?.server.conversation ?? {});
    return new Set(abilities.filter(([, can]) => can.fork).map(([agent]) => agent));
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
    this.#changed();
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
        this.#changed();
      });
    }, TOGETHER);
  }

  #lost(trouble: string): void {
    const client = this.client;
    this.client = null;
    if (this.#isOver) return;
    if (client) void client.close().catch(() => {});
    this.trouble = trouble;
    this.#changed();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.begin(), Math.min(LATEST, SOONEST * 2 ** this.#failures));
    this.#failures += 1;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const client = this.client;
    this.client = null;
    await client?.close();
  }
}
