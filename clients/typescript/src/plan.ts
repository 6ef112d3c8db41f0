// What an operation would do, and doing just that.

import type { CallOptions, Connection } from "./connection.js";
import type { OperationReport } from "./documents.js";
import type { Force, PlanParameters } from "./protocol.js";

export type ApplyOptions = CallOptions & Force;

export class Plan {
  /** The token, which another process can apply as well; `null` if there is nothing to carry out. */
  readonly token: string | null;
  /** What would be done, file by file. */
  readonly report: OperationReport;
  readonly #connection: Connection;

  private constructor(connection: Connection, token: string | null, report: OperationReport) {
    this.#connection = connection;
    this.token = token;
    this.report = report;
  }

  static async make(connection: Connection, asked: PlanParameters, options: CallOptions = {}): Promise<Plan> {
    const { plan, report } = await connection.call("plan", asked, options);
    return new Plan(connection, plan, report);
  }

  /**
   * Carries out just this plan, or nothing. Where there is nothing to carry out, that is the answer.
   *
   * @throws StaleError where something that the plan rests on has changed.
   * @throws BusyError while an agent is at work, unless `force` is given.
   */
  async apply({ force, ...options }: ApplyOptions = {}): Promise<OperationReport> {
    if (this.token === null) return this.report;
    return this.#connection.call("apply", { plan: this.token, force: force ?? false }, options);
  }
}
