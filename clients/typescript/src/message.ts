// A message with its button.

import type { CallOptions, Connection } from "./connection.js";
import type { MessageReport, OperationReport } from "./documents.js";
import { type ApplyOptions, Plan } from "./plan.js";
import type { RevertParameters } from "./protocol.js";

export type RevertOptions = Pick<RevertParameters, "only" | "on_conflict" | "unclear" | "git" | "alone" | "exact">;

/** Options of a plan: `contents` reports what the files hold before and after. */
export type PreviewOptions = RevertOptions & { contents?: boolean };

/** A message: all fields of its report, and what can be done with it. */
export interface Message extends Readonly<MessageReport> {}

export class Message {
  readonly #connection: Connection;

  constructor(connection: Connection, report: MessageReport) {
    this.#connection = connection;
    Object.assign(this, report);
  }

  /** Plans to go back to just before this message. Nothing is changed. */
  preview({ onProgress, signal, ...options }: PreviewOptions & CallOptions = {}): Promise<Plan> {
    const asked = { ...options, workspace: this.workspace, message: this.id, session: this.session };
    return Plan.make(this.#connection, asked, {
      ...(onProgress && { onProgress }),
      ...(signal && { signal }),
    });
  }

  /** Goes back to just before this message: plans, and carries out the plan. */
  async revert({ force, ...options }: RevertOptions & ApplyOptions = {}): Promise<OperationReport> {
    const plan = await this.preview(options);
    return plan.apply({ ...options, force: force ?? false });
  }
}
