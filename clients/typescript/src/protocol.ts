// The methods of `ckpt-hook serve --stdio`: what each takes and answers. docs/embedding.md describes them.

import type {
  ApplyParameters,
  BlameParameters,
  BlameReport,
  ContentsParameters,
  ContentsResult,
  DoctorParameters,
  DoctorReport,
  Event,
  EventReport,
  InitializeResult,
  InstallParameters,
  InstallReport,
  LogReport,
  MessagesParameters,
  OperationReport,
  OperationsReport,
  PatchResult,
  PathText,
  PlanResult,
  SessionsReport,
  ShowParameters,
  ShowReport,
  StatusReport,
  SubscribeParameters,
  SubscribeResult,
  TimelineParameters,
  TimelineReport,
} from "./documents.js";

/** The directory that is asked about; the server's own without it. */
export interface Place {
  workspace?: string | null;
}

/** A path: its text, or `path` and `path_hex` as documents have them. A file of a report may be passed as it is. */
export type PathParameter = string | PathText;

/** What the server is and can. */
export type Server = InitializeResult;

/** Ids in full: no prefix, no label, no `last`. */
export interface Exact {
  exact?: boolean;
}

export interface RevertParameters extends Place, Exact {
  message?: string;
  /** That message alone, while later ones stay. */
  alone?: boolean;
  step?: string;
  session?: string;
  /** These paths alone. */
  only?: PathParameter[];
  on_conflict?: "merge" | "keep" | "overwrite";
  unclear?: "keep" | "take";
  /** Take the branch, HEAD and the index back as well. */
  git?: boolean;
  /** What becomes of the agent's conversation; without it, it stays. `Server.conversation` says what each agent's can. */
  conversation?: "fork" | "only" | "cut" | "no";
}

export interface RedoParameters extends Place, Exact {
  session?: string;
  on_conflict?: "merge" | "keep" | "overwrite";
  git?: boolean;
}

export interface RestoreParameters extends Place, Exact {
  id: string;
  only?: PathParameter[];
  git?: boolean;
  /** What to do with files that the user changed since: kept without it. */
  on_conflict?: "keep" | "overwrite";
}

/** Goes on although an agent is at work. */
export interface Force {
  force?: boolean;
}

export type PlanParameters = Force & {
  /** Report what the files hold before and after. */
  contents?: boolean;
} & (
    | ({ operation?: "revert" } & RevertParameters)
    | ({ operation: "redo" | "unrevert" } & RedoParameters)
    | ({ operation: "restore" } & RestoreParameters)
    | ({ operation: "undo" } & Place)
  );

/** Each method with its parameters and its result. */
export interface Methods {
  initialize: [{ protocol?: number }, Server];
  sessions: [Place & { everywhere?: boolean }, SessionsReport];
  messages: [MessagesParameters, LogReport];
  operations: [Place, OperationsReport];
  timeline: [TimelineParameters, TimelineReport];
  show: [ShowParameters, ShowReport];
  patch: [Place & ({ id: string } | { from?: string; to?: string; paths?: PathParameter[] }), PatchResult];
  contents: [ContentsParameters, ContentsResult];
  blame: [BlameParameters, BlameReport];
  plan: [PlanParameters, PlanResult];
  apply: [ApplyParameters, OperationReport];
  revert: [Force & RevertParameters, OperationReport];
  redo: [Force & RedoParameters, OperationReport];
  unrevert: [Force & RedoParameters, OperationReport];
  restore: [Force & RestoreParameters, OperationReport];
  undo: [Force & Place, OperationReport];
  status: [Place & { session?: string }, StatusReport];
  doctor: [DoctorParameters, DoctorReport];
  install: [InstallParameters, InstallReport];
  record: [{ event: Event }, EventReport];
  subscribe: [SubscribeParameters, SubscribeResult];
  unsubscribe: [Record<string, never>, Record<string, never>];
}

export type Method = keyof Methods;
export type Parameters<M extends Method> = Methods[M][0];
export type Result<M extends Method> = Methods[M][1];
