// What can go wrong, a class a kind.

import type { CandidateReport, Failure, FailureKind } from "./documents.js";

/** Anything that this package throws. */
export class CkptHookError extends Error {
  override get name(): string {
    return this.constructor.name;
  }
}

/** There is no binary. */
export class BinaryNotFoundError extends CkptHookError {}

/** The server ended, or was closed, before it answered. */
export class ClosedError extends CkptHookError {}

/** The server did not take the request: one of JSON-RPC's own codes. */
export class ProtocolError extends CkptHookError {
  constructor(
    /** The code: -32602 is a wrong parameter. */
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** What was asked for failed. A kind that this version does not know is of this class alone. */
export class FailureError extends CkptHookError {
  /** The failure as the documents have it. */
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }

  get kind(): FailureKind {
    return this.failure.kind;
  }

  get hint(): string | null {
    return this.failure.hint;
  }

  /** What an ambiguous id may mean. */
  get candidates(): CandidateReport[] {
    return this.failure.candidates;
  }
}

export class FailedError extends FailureError {}
export class UsageError extends FailureError {}
export class UnknownError extends FailureError {}
export class AmbiguousError extends FailureError {}
export class UnavailableError extends FailureError {}
/** An agent is at work in the workspace. */
export class BusyError extends FailureError {}
/** Something has changed since the plan was made; nothing was done. Plan again. */
export class StaleError extends FailureError {}
export class UnfinishedError extends FailureError {}
export class LateError extends FailureError {}
/** The request was cancelled; nothing was changed. */
export class CancelledError extends FailureError {}

// A kind that the schema has and this table has not does not compile.
const KINDS: Record<FailureKind, typeof FailureError> = {
  failed: FailedError,
  usage: UsageError,
  unknown: UnknownError,
  ambiguous: AmbiguousError,
  unavailable: UnavailableError,
  busy: BusyError,
  stale: StaleError,
  unfinished: UnfinishedError,
  late: LateError,
  cancelled: CancelledError,
};

/** The codes of errors that tell what became of a request; those of JSON-RPC itself tell that it is none. */
const FAILED = -32000;
const CANCELLED = -32800;

/** An error of JSON-RPC. */
export interface RpcError {
  code: number;
  message: string;
  data?: Failure;
}

/** Returns the error that an answer stands for. */
export function errorOf({ code, message, data }: RpcError): CkptHookError {
  if (!data || (code !== FAILED && code !== CANCELLED)) return new ProtocolError(code, message);
  const known = Object.hasOwn(KINDS, data.kind);
  return new (known ? KINDS[data.kind] : FailureError)(data);
}
