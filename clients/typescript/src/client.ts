// A client of `ckpt-hook serve --stdio`.

import { findBinary } from "./binary.js";
import { type CallOptions, Connection, type Events } from "./connection.js";
import type { Event, EventReport, MessagesParameters, OperationReport, SubscribeParameters } from "./documents.js";
import { Message } from "./message.js";
import { type ApplyOptions, Plan } from "./plan.js";
import type {
  Force,
  Method,
  Parameters,
  Place,
  PlanParameters,
  RedoParameters,
  RestoreParameters,
  Result,
  RevertParameters,
  Server,
} from "./protocol.js";

/** The version of the protocol that this client speaks. */
const PROTOCOL = 1;

export interface StartOptions {
  /** A directory of the workspace; the current one without it. */
  workspace?: string;
  /** The binary; else it is looked for: see `findBinary`. */
  binary?: string;
  /** The server's environment; this process's own without it. */
  env?: NodeJS.ProcessEnv;
}

/** What each operation takes. */
export interface Operations {
  revert: RevertParameters;
  redo: RedoParameters;
  unrevert: RedoParameters;
  restore: RestoreParameters;
  undo: Place;
}

export class Client {
  /** What the server is and can. */
  readonly server: Server;
  readonly #connection: Connection;

  private constructor(connection: Connection, server: Server) {
    this.#connection = connection;
    this.server = server;
  }

  /** Starts a server in the workspace. It ends with `close`, or with this process. */
  static async start(options: StartOptions = {}): Promise<Client> {
    const { workspace = process.cwd(), env = process.env, binary = findBinary(env) } = options;
    const connection = new Connection(binary, workspace, env);
    try {
      const server = await connection.call("initialize", { protocol: PROTOCOL });
      return new Client(connection, server);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Calls a method of the protocol. Everything below is made of it. */
  request<M extends Method>(method: M, params: Parameters<M>, options: CallOptions = {}): Promise<Result<M>> {
    return this.#connection.call(method, params, options);
  }

  /** Returns the messages, as `log` lists them. */
  async messages(asked: MessagesParameters = {}): Promise<Message[]> {
    const { messages } = await this.request("messages", asked);
    return messages.map((report) => new Message(this.#connection, report));
  }

  /** Plans an operation. Nothing is changed. */
  plan(asked: PlanParameters, options: CallOptions = {}): Promise<Plan> {
    return Plan.make(this.#connection, asked, options);
  }

  /** Applies a plan by its token, whichever client made it. */
  apply(token: string, { force, ...options }: ApplyOptions = {}): Promise<OperationReport> {
    return this.request("apply", { plan: token, force: force ?? false }, options);
  }

  revert(asked: RevertParameters & Force, options: CallOptions = {}): Promise<OperationReport> {
    return this.request("revert", asked, options);
  }

  redo(asked: RedoParameters & Force = {}, options: CallOptions = {}): Promise<OperationReport> {
    return this.request("redo", asked, options);
  }

  unrevert(asked: RedoParameters & Force = {}, options: CallOptions = {}): Promise<OperationReport> {
    return this.request("unrevert", asked, options);
  }

  restore(asked: RestoreParameters & Force, options: CallOptions = {}): Promise<OperationReport> {
    return this.request("restore", asked, options);
  }

  /** Takes back the last operation of the workspace, whatever it was. */
  undo(asked: Force & Place = {}, options: CallOptions = {}): Promise<OperationReport> {
    return this.request("undo", asked, options);
  }

  /** Records an event of an agent or a chat. */
  record(event: Event): Promise<EventReport> {
    return this.request("record", { event });
  }

  /** Returns all bytes of a blob, as `old_blob` and `new_blob` name one. */
  async contents(blob: string, place: Place = {}): Promise<Buffer> {
    const parts: Buffer[] = [];
    let offset: number | null = 0;
    while (offset !== null) {
      const part: Result<"contents"> = await this.request("contents", { ...place, blob, offset });
      parts.push(Buffer.from(part.content.text ?? "", part.content.encoding));
      offset = part.next_offset;
    }
    return Buffer.concat(parts);
  }

  /** Calls a listener at each event of a name, after `subscribe`. Returns what takes the listener away. */
  on<N extends keyof Events>(name: N, listener: (event: Events[N]) => void): () => void {
    return this.#connection.on(name, listener);
  }

  /** Calls the listeners from now on; with `since`, the last `seq` that was handled, also for everything after that. */
  async subscribe(asked: SubscribeParameters = {}): Promise<number> {
    if (asked.since != null) this.#connection.seq = asked.since;
    const { seq } = await this.request("subscribe", asked);
    // What was told before the answer came is later than that.
    this.#connection.seq ??= seq;
    return seq;
  }

  async unsubscribe(): Promise<void> {
    await this.request("unsubscribe", {});
  }

  /** The `seq` of the last thing that listeners were told: `since` of the next client. */
  get seq(): number | null {
    return this.#connection.seq;
  }

  /** Ends the server once it has answered what it was asked. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
