// Documents as the server gives them, with what a test is about.

import type {
  BlameHunk,
  ChangeReport,
  FileReport,
  KeptReport,
  MessageReport,
  OperationEntry,
  OperationReport,
  StatusReport,
  TimelineEntry,
  WayOut,
  WayParameters,
} from "ckpt-hook";

const MESSAGE: MessageReport = {
  additions: 3,
  agent: "claude-code",
  agent_id: "m1",
  agent_session: "chat",
  deletions: 1,
  files: 2,
  finished: 2000,
  id: "a1",
  labels: [],
  left: false,
  not_revertable: null,
  prompt: "charge VAT",
  revertable: true,
  roots: [],
  seq: 1,
  session: "s1",
  state: "live",
  steps: 1,
  time: 1000,
  unclear: 0,
  undone_alone: false,
  unprotected: null,
  workspace: "/shop",
};

export function message(more: Partial<MessageReport> = {}): TimelineEntry & { type: "message" } {
  return { ...MESSAGE, ...more, type: "message" };
}

export function operation(id: string, more: Partial<OperationEntry> = {}): TimelineEntry & { type: "operation" } {
  const known: OperationEntry = {
    after: null,
    alone: null,
    before: null,
    conflicts: 0,
    conversation: false,
    files: 1,
    git: false,
    id,
    kind: "revert",
    message: "a1",
    outcome: "restored",
    part: null,
    roots: [],
    session: "s1",
    state: "done",
    time: 3000,
    undoes: null,
    workspace: "/shop",
  };
  return { ...known, ...more, type: "operation" };
}

export function change(path: string, more: Partial<ChangeReport> = {}): ChangeReport {
  return {
    additions: 1,
    attribution: "agent",
    binary: false,
    deletions: 0,
    kind: "modified",
    new_blob: `new ${path}`,
    new_mode: "100644",
    old_blob: `old ${path}`,
    old_mode: "100644",
    path,
    path_hex: null,
    reason: null,
    renamed_from: null,
    renamed_to: null,
    whitespace_only: false,
    ...more,
  };
}

export function file(path: string, more: Partial<FileReport> = {}): FileReport {
  return {
    action: "write",
    additions: 1,
    by: [],
    contents: null,
    deletions: 1,
    moved_from: null,
    new_blob: "new",
    new_mode: "100644",
    old_blob: "old",
    old_mode: "100644",
    path,
    path_hex: null,
    reason: null,
    reason_code: null,
    result: "planned",
    unclear: false,
    choices: [],
    ...more,
  };
}

/** What a plan keeps of one file, and the way out. */
export function kept(path: string, way: WayOut | null = null): KeptReport {
  return { kind: "conflict", paths: [{ path, path_hex: null }], why: "changed since", way };
}

/** A way out that has to be asked for by itself. */
export function wayOf(path: string, more: Partial<WayParameters>, first: string | null = null): WayOut {
  return { first, does: "takes it back", parameters: { operation: "revert", only: [{ path, path_hex: null }], ...more } };
}

export function report(files: FileReport[], more: Partial<OperationReport> = {}): OperationReport {
  return {
    alone: null,
    also_reverted: [],
    busy: false,
    conversation: null,
    dry_run: true,
    files,
    finished: [],
    git: [],
    kept: [],
    kind: "revert",
    message: "a1",
    messages_hidden: [],
    notes: [],
    operation: null,
    outcome: "restored",
    part: null,
    plan: "token",
    receipt: null,
    remarks: [],
    roots: [],
    session: "s1",
    undoes: null,
    version: 1,
    ...more,
  };
}

export function status(more: Partial<StatusReport> = {}): StatusReport {
  return {
    adoptable: [],
    agent: "claude-code",
    agents_at_work: [],
    also_reverted: [],
    conversation: null,
    diagnostics: 0,
    files: [],
    first_snapshot_goes_on: false,
    gaps: [],
    interrupted: [],
    latest_diagnostics: [],
    left: [],
    messages_hidden: [],
    open_steps: 0,
    redo: false,
    roots: [],
    revert_point: null,
    session: "s1",
    unclear: [],
    undone_alone: [],
    unknown_workspaces: 0,
    unprotected: [],
    unrecorded: [],
    version: 1,
    workspace: "/shop",
    ...more,
  };
}

export function blamed(more: Partial<BlameHunk> = {}): BlameHunk {
  const step = {
    agent: "claude-code",
    message: "a1",
    prompt: "charge VAT",
    session: "s1",
    state: "live" as const,
    step: "t1",
  };
  return {
    by: "agent",
    lines: 2,
    operation: null,
    reason: null,
    renamed_from: null,
    start: 1,
    steps: [step],
    time: 1000,
    ...more,
  };
}
