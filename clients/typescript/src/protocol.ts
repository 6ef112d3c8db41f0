// The methods of `ckpt-hook serve --stdio`: what each takes and answers. docs/embedding.md describes them.

import type {
  BlameReport,
  ChangeReport,
  Event,
  EventReport,
  LogReport,
  OperationReport,
  OperationsReport,
  SessionsReport,
  ShowReport,
  StatusReport,
} from "./documents.js";

/** The directory that is asked about; the server's own without it. */
export interface Place {
  workspace?: string;
}

/** What the server is and can. */
export interface Server {
  protocol: number;
  documents: number;
  server: { name: string; version: string };
  methods: string[];
  notifications: string[];
  /** Where the order of everything stands; null where there is no store that can be read. */
  seq: number | null;
}

/** Bytes, as text where they are UTF-8. */
export interface Content {
  encoding: "utf-8" | "base64";
  text: string;
  bytes: number;
}

export interface PatchResult {
  version: number;
  files: ChangeReport[];
  /** As `git apply` takes it. */
  patch: Content;
}

export interface ContentsResult {
  version: number;
  blob: string;
  size: number;
  offset: number;
  content: Content;
  /** Where to go on; null at the end. */
  next_offset: number | null;
}

export interface PlanResult {
  /** The token; null where there is nothing to carry out. */
  plan: string | null;
  report: OperationReport;
}

export interface MessagesParameters extends Place {
  session?: string;
  limit?: number;
  /** Only those after the `seq` of a message. */
  since?: number;
  /** Those of every workspace. */
  everywhere?: boolean;
}

export interface RevertParameters extends Place {
  message?: string;
  step?: string;
  session?: string;
  /** These paths alone. */
  only?: string[];
  on_conflict?: "merge" | "keep" | "overwrite";
  unclear?: "keep" | "take";
  /** Take the branch, HEAD and the index back as well. */
  git?: boolean;
}

export interface RedoParameters extends Place {
  session?: string;
  on_conflict?: "merge" | "keep" | "overwrite";
  git?: boolean;
}

export interface RestoreParameters extends Place {
  id: string;
  only?: string[];
  git?: boolean;
}

/** Goes on although an agent is at work. */
export interface Force {
  force?: boolean;
}

export type PlanParameters = Force &
  (
    | ({ operation?: "revert" } & RevertParameters)
    | ({ operation: "redo" | "unrevert" } & RedoParameters)
    | ({ operation: "restore" } & RestoreParameters)
  );

export interface SubscribeParameters extends Place {
  /** The last `seq` that was handled; what happens from now on without it. */
  since?: number;
  everywhere?: boolean;
  /** Those alone. */
  events?: string[];
}

/** Each method with its parameters and its result. */
export interface Methods {
  initialize: [{ protocol?: number }, Server];
  sessions: [Place & { everywhere?: boolean }, SessionsReport];
  messages: [MessagesParameters, LogReport];
  operations: [Place, OperationsReport];
  show: [Place & { id: string }, ShowReport];
  patch: [Place & ({ id: string } | { from?: string; to?: string; paths?: string[] }), PatchResult];
  contents: [Place & { blob: string; offset?: number }, ContentsResult];
  blame: [Place & { path: string }, BlameReport];
  plan: [PlanParameters, PlanResult];
  apply: [Force & { plan: string }, OperationReport];
  revert: [Force & RevertParameters, OperationReport];
  redo: [Force & RedoParameters, OperationReport];
  unrevert: [Force & RedoParameters, OperationReport];
  restore: [Force & RestoreParameters, OperationReport];
  status: [Place & { session?: string }, StatusReport];
  record: [{ event: Event }, EventReport];
  subscribe: [SubscribeParameters, { seq: number }];
  unsubscribe: [Record<string, never>, Record<string, never>];
}

export type Method = keyof Methods;
export type Parameters<M extends Method> = Methods[M][0];
export type Result<M extends Method> = Methods[M][1];
