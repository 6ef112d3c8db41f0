// Generated from schema/json/ckpt-hook.schema.json by `just clients --write`. Do not edit.

/**
 * The kinds of event.
 */
export type EventKind =
  | "session_start"
  | "user_message"
  | "step_start"
  | "tool_start"
  | "tool_wait"
  | "tool_finish"
  | "step_finish"
  | "turn_end"
  | "session_end";
/**
 * What a tool may change.
 */
export type ToolKind = "edit" | "read";
/**
 * Something that happened. Continue from the `seq` of the last one that you have handled. `busy` is a state, not an
 * event, and has the `seq` of the last event before it. Types may be added, each with a `seq`: ignore one that you do
 * not know.
 */
export type Notification =
  | MessageNotification
  | StepNotification
  | OperationNotification
  | GapNotification
  | FailedNotification
  | BusyNotification
  | RewoundNotification
  | ResetNotification;
/**
 * The state of a message.
 */
export type MessageState = "live" | "hidden" | "discarded";
/**
 * The kinds of operation.
 */
export type OperationKind = "revert" | "redo" | "unrevert" | "restore";
/**
 * How an operation ended.
 */
export type Outcome = "restored" | "partial" | "nothing" | "unavailable";
/**
 * The operations of the server.
 */
export type OperationName = "revert" | "redo" | "unrevert" | "restore" | "undo";
/**
 * The progress of an operation: the parameters of the notification `progress` without the `id` of the request, and a
 * line of `--json-lines`.
 */
export type Progress =
  | {
      /**
       * Bytes read and stored.
       */
      bytes: number;
      /**
       * Files looked at.
       */
      files: number;
      phase: "looking";
      /**
       * The version of the document's format.
       */
      version: 1;
    }
  | {
      /**
       * Files that are done.
       */
      done: number;
      /**
       * Files in all.
       */
      of: number;
      phase: "applying";
      /**
       * The version of the document's format.
       */
      version: 1;
    };
/**
 * Whether the directory of a history still exists.
 */
export type WorkspaceState = "here" | "replaced" | "gone";
/**
 * How a path differs between two states.
 */
export type ChangeKind = "added" | "modified" | "deleted" | "mode" | "type";
/**
 * How bytes are encoded.
 */
export type Encoding = "utf-8" | "base64";
/**
 * Who wrote lines.
 */
export type LineAuthor =
  "agent" | "shared" | "unclear" | "outside" | "operation" | "unrecorded" | "unknown" | "uncaptured";
/**
 * What is done to a conversation.
 */
export type ConversationKind = "forked" | "cut" | "back" | "manual" | "none";
/**
 * Why a conversation stays as it is.
 */
export type ConversationReason =
  | "not_asked"
  | "part"
  | "unsupported"
  | "no_transcript"
  | "unknown_format"
  | "not_found"
  | "no_program"
  | "failed"
  | "no_answer";
/**
 * Where the value of a setting comes from.
 */
export type SettingSource = "default" | "file" | "workspace" | "environment" | "flag";
/**
 * The kind of a failure. Kinds may be added: treat an unknown one as `failed`, and go by the exit code.
 */
export type FailureKind =
  "failed" | "usage" | "unknown" | "ambiguous" | "unavailable" | "busy" | "stale" | "unfinished" | "late" | "cancelled";
/**
 * Which part of a workspace was scanned.
 */
export type Looked = "everywhere" | "around";
/**
 * What an operation does to a path.
 */
export type FileAction = "write" | "delete" | "merge" | "keep" | "none";
/**
 * The kinds of authors.
 */
export type AuthorKind = "agent" | "user" | "unrecorded";
/**
 * How else one file of a plan can be planned.
 */
export type PlanChoice = "take" | "overwrite" | "keep" | "again";
/**
 * Why a file stays, completely or in part, or what went wrong with it: `reason` for programs.
 */
export type ReasonCode =
  | "same_lines"
  | "binary"
  | "too_large"
  | "permissions"
  | "type"
  | "symlink"
  | "edited"
  | "deleted"
  | "recreated"
  | "changed"
  | "shared"
  | "unclear"
  | "not_captured"
  | "forgotten"
  | "blocked"
  | "database"
  | "moved"
  | "yours"
  | "failed"
  | "not_done"
  | "not_synced"
  | "not_kept";
/**
 * The result for a path.
 */
export type FileResult = "done" | "planned" | "conflict" | "gap" | "failed";
/**
 * The actions of `label`.
 */
export type LabelAction = "added" | "unchanged" | "deleted" | "listed";
/**
 * The things that a label can name.
 */
export type LabelledKind = "message" | "snapshot";
/**
 * A part of git's own state.
 */
export type GitPart = "branch" | "head" | "index";
/**
 * What is known of a path that differs, beyond the reason.
 */
export type DifferenceDetail = "forgotten" | "different";
/**
 * Why a path differs: exactly one reason for each.
 */
export type DifferenceReason =
  | "yours"
  | "unclear"
  | "shared"
  | "other_session"
  | "not_asked"
  | "unrecorded"
  | "operation"
  | "ignored"
  | "not_captured"
  | "failed"
  | "unexplained";
/**
 * Why files stay.
 */
export type KeptKind =
  | "yours"
  | "conflict"
  | "other_agent"
  | "shared"
  | "unclear"
  | "database"
  | "blocked"
  | "moved"
  | "not_captured"
  | "forgotten"
  | "other_message";
/**
 * The kinds of note.
 */
export type NoteCode =
  | "borrowed"
  | "finished"
  | "open"
  | "step_not_recorded"
  | "message_not_captured"
  | "no_step"
  | "not_compared"
  | "unread"
  | "not_captured"
  | "directory_permissions"
  | "unknown_path"
  | "version_control"
  | "commits"
  | "head"
  | "staged"
  | "branch_moved"
  | "branch_made"
  | "branch_gone"
  | "tags"
  | "tags_gone"
  | "stashed"
  | "stash_dropped"
  | "pushed"
  | "repository_removed"
  | "repository_made"
  | "repositories_below"
  | "git_under_way"
  | "submodules"
  | "no_repository"
  | "other_directories"
  | "outside"
  | "moved_in"
  | "ignored_removed"
  | "ignored_made"
  | "ignored_changed"
  | "folders_stay"
  | "discarded"
  | "nothing_reverted"
  | "other_sessions"
  | "at_work"
  | "differs";
/**
 * Who removed a file.
 */
export type TakenBy = "agent" | "shared" | "unclear" | "outside" | "operation" | "uncaptured";
/**
 * `show`: whatever has the id.
 */
export type ShowReport =
  MessageShowReport | StepShowReport | SessionShowReport | OperationShowReport | SnapshotShowReport;
/**
 * What happened in a workspace, of whatever kind.
 */
export type TimelineEntry = MessageTimelineEntry | OperationTimelineEntry | OutsideTimelineEntry;
/**
 * A message was sent.
 */
export type MessageTimelineEntry = MessageReport & {
  type: "message";
};
/**
 * Something was reverted, redone or restored.
 */
export type OperationTimelineEntry = OperationEntry & {
  type: "operation";
};

/**
 * What ckpt-hook reads and prints as JSON: each document under its name.
 */
export interface Documents {
  event?: Event;
  notification?: Notification;
  "parameters-apply"?: ApplyParameters;
  "parameters-blame"?: BlameParameters;
  "parameters-contents"?: ContentsParameters;
  "parameters-doctor"?: DoctorParameters;
  "parameters-initialize"?: InitializeParameters;
  "parameters-install"?: InstallParameters;
  "parameters-messages"?: MessagesParameters;
  "parameters-operation"?: OperationParameters;
  "parameters-patch"?: PatchParameters;
  "parameters-record"?: RecordParameters;
  "parameters-sessions"?: SessionsParameters;
  "parameters-show"?: ShowParameters;
  "parameters-status"?: StatusParameters;
  "parameters-subscribe"?: SubscribeParameters;
  "parameters-timeline"?: TimelineParameters;
  "parameters-workspace"?: WorkspaceParameters;
  progress?: Progress;
  "report-adopt"?: AdoptReport;
  "report-agents"?: AgentsReport;
  "report-bisect"?: BisectReport;
  "report-blame"?: BlameReport;
  "report-branch"?: BranchReport;
  "report-cat"?: CatReport;
  "report-config"?: ConfigReport;
  "report-config-change"?: ConfigChange;
  "report-diff"?: DiffReport;
  "report-doctor"?: DoctorReport;
  "report-du"?: DuReport;
  "report-error"?: ErrorReport;
  "report-event"?: EventReport;
  "report-export"?: ExportReport;
  "report-fetch"?: FetchReport;
  "report-forget"?: ForgetReport;
  "report-gc"?: GcReport;
  "report-install"?: InstallReport;
  "report-label"?: LabelsReport;
  "report-log"?: LogReport;
  "report-operation"?: OperationReport;
  "report-operations"?: OperationsReport;
  "report-page"?: PageReport;
  "report-push"?: PushReport;
  "report-recover"?: RecoverReport;
  "report-sessions"?: SessionsReport;
  "report-show"?: ShowReport;
  "report-snapshot"?: SnapshotReport;
  "report-snapshots"?: SnapshotsReport;
  "report-status"?: StatusReport;
  "report-timeline"?: TimelineReport;
  "report-workspaces"?: WorkspacesReport;
  "result-contents"?: ContentsResult;
  "result-initialize"?: InitializeResult;
  "result-patch"?: PatchResult;
  "result-plan"?: PlanResult;
  "result-subscribe"?: SubscribeResult;
}
/**
 * One event of one session.
 *
 * Ids are the agent's own: opaque text that is only stored and compared, and never becomes part of a path or a
 * command.
 */
export interface Event {
  /**
   * The agent's name, as for `ckpt-hook install`; `generic` by default.
   */
  agent?: string;
  /**
   * With a tool's finish: whether a command of it goes on in the background. With a turn's end: whether any does.
   */
  background?: boolean | null;
  /**
   * The agent's working directory; by default that of the hook.
   */
  cwd?: string | null;
  /**
   * With a tool's finish: how long it ran, in milliseconds, not counting the wait for permission.
   */
  duration_ms?: number | null;
  /**
   * The kinds of event.
   */
  event: EventKind;
  /**
   * With a tool's finish or a turn's end: whether the user interrupted the agent.
   */
  interrupted?: boolean;
  /**
   * The agent's id of the user message, unique for each; made up if it has none.
   */
  message_id?: string | null;
  /**
   * The session that started this one, if it is a sub-agent's.
   */
  parent_session_id?: string | null;
  /**
   * The files that an edit tool names, absolute or relative to `cwd`.
   */
  paths?: string[];
  /**
   * The user's prompt.
   */
  prompt?: string | null;
  /**
   * Further directories in which the session works, absolute or relative to `cwd`. Once named, they stay its roots.
   */
  roots?: string[];
  /**
   * The agent's id of the conversation.
   */
  session_id: string;
  /**
   * The agent's id of the step.
   */
  step_id?: string | null;
  /**
   * Whether the agent reports every tool that may change a file before it runs, so that it changes nothing while no
   * tool runs. It is enough to say so once; the first event of a tool implies it.
   */
  tells_of_tools?: boolean;
  /**
   * The command line that the tool runs, if it runs one.
   */
  tool_command?: string | null;
  /**
   * What the tool may change; anything by default.
   */
  tool_kind?: ToolKind | null;
  /**
   * The tool's name.
   */
  tool_name?: string | null;
  /**
   * The agent's id of this use of the tool.
   */
  tool_use_id?: string | null;
  /**
   * With a step's finish: the tools that ran in it. One of which neither start nor finish was reported is known by that.
   */
  tools?: ToolUse[];
  /**
   * The agent's own record of the conversation.
   */
  transcript_path?: string | null;
  /**
   * The agent's id of the turn, which messages that are sent while the agent works share.
   */
  turn_id?: string | null;
}
/**
 * A tool that ran in a step, as the step's finish names it.
 */
export interface ToolUse {
  /**
   * The files that an edit tool names, absolute or relative to the event's `cwd`.
   */
  paths?: string[];
  /**
   * The command line that it ran, if it ran one.
   */
  tool_command?: string | null;
  /**
   * What it may have changed; anything by default.
   */
  tool_kind?: ToolKind | null;
  /**
   * The tool's name.
   */
  tool_name?: string | null;
  /**
   * The agent's id of this use of the tool.
   */
  tool_use_id: string;
}
/**
 * A message was sent, or its state changed.
 */
export interface MessageNotification {
  /**
   * The message as it is now.
   */
  message: MessageReport;
  /**
   * Its position in the order of everything that happened in this store.
   */
  seq: number;
  type: "message";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * A user message.
 */
export interface MessageReport {
  /**
   * Lines added. In a list, the sum of what each step added: a line that a second step rewrote counts twice. In
   * `show`, what the patch from before the message to after it adds.
   */
  additions: number;
  /**
   * Its agent.
   */
  agent: string;
  /**
   * The agent's.
   */
  agent_id: string | null;
  /**
   * The agent's id of its session.
   */
  agent_session: string;
  /**
   * Lines removed, counted in the same way.
   */
  deletions: number;
  /**
   * How many files they changed.
   */
  files: number;
  /**
   * When its last step ended; null if it has none, and while one is open.
   */
  finished: number | null;
  /**
   * Our id.
   */
  id: string;
  /**
   * Its labels, the oldest first.
   */
  labels: string[];
  /**
   * Whether the agent left it by a rewind of its own: it is no longer in the conversation, and its files are here.
   */
  left: boolean;
  /**
   * The reason, if it cannot.
   */
  not_revertable: string | null;
  /**
   * The user's prompt, as far as the settings allow it to be stored.
   */
  prompt: string | null;
  /**
   * Whether `revert --message` can go back to it.
   */
  revertable: boolean;
  /**
   * What it did in the other roots of its session.
   */
  roots: MessageRoot[];
  /**
   * Its place in the order of all messages in the store: `log --since SEQ` lists those after it.
   */
  seq: number;
  /**
   * Its session.
   */
  session: string;
  /**
   * Whether it is live, hidden or discarded.
   */
  state: MessageState;
  /**
   * How many steps it took.
   */
  steps: number;
  /**
   * The time at which it was sent.
   */
  time: number;
  /**
   * How many files they or another author may have changed.
   */
  unclear: number;
  /**
   * Whether it is undone alone, while later ones stay.
   */
  undone_alone: boolean;
  /**
   * Why the state just before it was not captured, if it was not.
   */
  unprotected: string | null;
  /**
   * Its workspace's directory.
   */
  workspace: string;
}
/**
 * What a message did in another root of its session.
 */
export interface MessageRoot {
  /**
   * Lines added.
   */
  additions: number;
  /**
   * Lines removed.
   */
  deletions: number;
  /**
   * How many files its steps changed there.
   */
  files: number;
  /**
   * The message's id there.
   */
  message: string;
  /**
   * How many files they or another author may have changed.
   */
  unclear: number;
  /**
   * The root.
   */
  workspace: string;
}
/**
 * A step began or ended.
 */
export interface StepNotification {
  /**
   * Its position in the order of everything that happened in this store.
   */
  seq: number;
  /**
   * The step as it is now.
   */
  step: StepSummary;
  type: "step";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * A step without its changes, which `show` lists.
 */
export interface StepSummary {
  /**
   * How many files it changed.
   */
  files: number;
  /**
   * The time of its end.
   */
  finished: number | null;
  /**
   * Our id.
   */
  id: string;
  /**
   * Its message.
   */
  message: string;
  /**
   * Whether it is still open.
   */
  open: boolean;
  /**
   * Whether it was closed without its own finish.
   */
  recovered: boolean;
  /**
   * Its session.
   */
  session: string;
  /**
   * The time of its start.
   */
  started: number;
  /**
   * Why its changes cannot be put back, if they cannot.
   */
  unprotected: string | null;
}
/**
 * A revert, redo, unrevert or restore began or ended.
 */
export interface OperationNotification {
  /**
   * The operation as it is now.
   */
  operation: OperationEntry;
  /**
   * Its position in the order of everything that happened in this store.
   */
  seq: number;
  type: "operation";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * An operation, as `log --operations` lists it.
 */
export interface OperationEntry {
  /**
   * The tree after it.
   */
  after: string | null;
  /**
   * The only message that it undid, while later ones stayed.
   */
  alone: string | null;
  /**
   * The tree before it.
   */
  before: string | null;
  /**
   * How many conflicts it left.
   */
  conflicts: number;
  /**
   * Whether the agent's conversation moved, alone or with the files.
   */
  conversation: boolean;
  /**
   * How many files it wrote, deleted or merged.
   */
  files: number;
  /**
   * Whether git's own state moved, too.
   */
  git: boolean;
  /**
   * Its id.
   */
  id: string;
  /**
   * The kind of operation.
   */
  kind: OperationKind;
  /**
   * The message that it went to.
   */
  message: string | null;
  /**
   * How it ended, in all roots of its session.
   */
  outcome: Outcome | null;
  /**
   * The message of which it undid a step, or from which on it undid the changes of some paths or chosen lines.
   */
  part: string | null;
  /**
   * What it did in the other roots of its session.
   */
  roots: OperationRoot[];
  /**
   * Its session.
   */
  session: string | null;
  /**
   * `open`, `done` or `rolled_back`.
   */
  state: string;
  /**
   * The time at which it began.
   */
  time: number;
  /**
   * The operation that it took back, if it was an undo. Null for an undo that an older version recorded.
   */
  undoes: string | null;
  /**
   * The path of its workspace.
   */
  workspace: string;
}
/**
 * What an operation did in another root of its session.
 */
export interface OperationRoot {
  /**
   * How many conflicts it left there.
   */
  conflicts: number;
  /**
   * How many files it wrote, deleted or merged there.
   */
  files: number;
  /**
   * The operation's id there.
   */
  operation: string;
  /**
   * How it ended there.
   */
  outcome: Outcome | null;
  /**
   * The root.
   */
  workspace: string;
}
/**
 * A snapshot could not hold paths that the one before it could.
 */
export interface GapNotification {
  /**
   * The paths, and why.
   */
  gaps: GapReport[];
  /**
   * Its position in the order of everything that happened in this store.
   */
  seq: number;
  /**
   * The step that ended with it.
   */
  step: string;
  type: "gap";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * A path that a snapshot could not hold.
 */
export interface GapReport {
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * Why the snapshot does not hold it.
   */
  reason: string;
}
/**
 * Something went wrong in a hook.
 */
export interface FailedNotification {
  /**
   * The diagnostic.
   */
  diagnostic: DiagnosticReport;
  /**
   * Its position in the order of everything that happened in this store.
   */
  seq: number;
  type: "failed";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * Something that went wrong in a hook.
 */
export interface DiagnosticReport {
  /**
   * The agent, if known.
   */
  agent: string | null;
  /**
   * The causes.
   */
  detail: string | null;
  /**
   * The event, if known.
   */
  event: string | null;
  /**
   * `error`, `warning` or `info`.
   */
  level: string;
  /**
   * The message.
   */
  message: string;
  /**
   * The time at which it happened.
   */
  time: number;
}
/**
 * The sessions at work in a workspace have changed.
 */
export interface BusyNotification {
  /**
   * Sessions with a running tool, by agent and session; empty if there are none.
   */
  agents_at_work: string[];
  /**
   * The event before it.
   */
  seq: number;
  type: "busy";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * An agent's own rewind left messages of a session, or a fork of its conversation alone did: their files are still
 * here. Like `busy`, it is a state.
 */
export interface RewoundNotification {
  /**
   * All messages that are no longer in its conversation, oldest first; a revert to the first takes their files back.
   */
  messages: string[];
  /**
   * The event before it.
   */
  seq: number;
  /**
   * The session.
   */
  session: string;
  type: "rewound";
  /**
   * The workspace's directory.
   */
  workspace: string | null;
}
/**
 * The store is a different one, or was created again: discard what you know about it.
 */
export interface ResetNotification {
  /**
   * The current position in the order of this store.
   */
  seq: number;
  type: "reset";
}
/**
 * The parameters of `apply`.
 */
export interface ApplyParameters {
  /**
   * Whether to go ahead even if an agent is at work.
   */
  force?: boolean;
  /**
   * A name of the client's own for this request, unique for each. After a lost answer the client may send the request
   * again: what was done for a key is not done twice, and its report is given once more.
   */
  key?: string | null;
  /**
   * The files to which it is limited: then it is a part, and no message is hidden by it.
   */
  parts?: PartParameter[] | null;
  /**
   * The token of the plan.
   */
  plan: string;
}
/**
 * A file of a plan that `apply` carries out.
 */
export interface PartParameter {
  /**
   * The hunks to which it is limited; all of the file without them.
   */
  hunks?: HunkParameter[] | null;
  /**
   * Its path in its root.
   */
  path: string | PathText;
  /**
   * The plan that it is of; by default the one that is applied. So a file may go back on other terms than the rest.
   */
  plan?: string | null;
  /**
   * The root that it is in, as `roots` of the plan's report has it; by default the workspace of the plan.
   */
  workspace?: string | null;
}
/**
 * A hunk, by its place in the file as it is now. A hunk of a plan's report may be passed as it is.
 */
export interface HunkParameter {
  /**
   * How many lines it has.
   */
  old_lines: number;
  /**
   * Its first line, from 1; if it has none, the line that precedes it.
   */
  old_start: number;
}
/**
 * A path for people, with its bytes in hex if they are not UTF-8.
 */
export interface PathText {
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
}
/**
 * The parameters of `blame`.
 */
export interface BlameParameters {
  /**
   * Whether the report gives the bytes of the file.
   */
  contents?: boolean;
  /**
   * The file, below that directory.
   */
  path: string | PathText;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `contents`: a `blob`, or a `path` and an `id`.
 */
export interface ContentsParameters {
  /**
   * The blob, as documents name it.
   */
  blob?: string | null;
  /**
   * Whether the id has to be a full one: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * The state that has it, by any id: of a message, a step or an operation the one just before it.
   */
  id?: string | null;
  /**
   * The first byte that is wanted.
   */
  offset?: number;
  /**
   * A file, below that directory.
   */
  path?: (string | PathText) | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `doctor`.
 */
export interface DoctorParameters {
  /**
   * Whether every object of every snapshot is read, however long that takes.
   */
  all?: boolean;
}
/**
 * The parameters of `initialize`. Others are ignored: a client may introduce itself.
 */
export interface InitializeParameters {
  /**
   * The highest version of the protocol that the client speaks.
   */
  protocol?: number | null;
}
/**
 * The parameters of `install`: some `agents`, or `all`.
 */
export interface InstallParameters {
  /**
   * The agents, by name.
   */
  agents?: string[];
  /**
   * Every agent on this machine.
   */
  all?: boolean;
  /**
   * Whether the report only says what would change.
   */
  dry_run?: boolean;
  /**
   * Whether it goes into the project's settings, and not into the user's.
   */
  project?: boolean;
}
/**
 * The parameters of `messages`.
 */
export interface MessagesParameters {
  /**
   * Those of every workspace.
   */
  everywhere?: boolean;
  /**
   * Whether ids have to be full ones: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * How many at most.
   */
  limit?: number | null;
  /**
   * Those of one session, by any id.
   */
  session?: string | null;
  /**
   * Only those after this position in the order of messages, their `seq`.
   */
  since?: number | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `plan`, `revert`, `redo`, `unrevert`, `restore` and `undo`. An operation refuses those that it has
 * no use for.
 */
export interface OperationParameters {
  /**
   * For a revert: only that message, while later ones stay.
   */
  alone?: boolean;
  /**
   * For a plan: whether the report includes the contents of the files before and after.
   */
  contents?: boolean;
  /**
   * For a revert: what to do with the agent's conversation: `fork`, `only`, `cut` or `no`.
   */
  conversation?: string | null;
  /**
   * Whether `message`, `step`, `session` and `id` have to be full ids: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * Whether to go ahead even if an agent is at work.
   */
  force?: boolean;
  /**
   * Whether HEAD, branches and the index move, too.
   */
  git?: boolean;
  /**
   * For a restore: the state.
   */
  id?: string | null;
  /**
   * For a revert: the message.
   */
  message?: string | null;
  /**
   * What to do with files that have changed since: `merge`, `keep` or `overwrite`.
   */
  on_conflict?: string | null;
  /**
   * For a revert or a restore: the paths; all of them if empty.
   *
   * Items: A path: a text, or `path` and `path_hex` as documents have them, which is how a name that is not UTF-8 is given. A file of a report
   * may be passed as it is.
   */
  only?: (string | PathText)[];
  /**
   * For a plan: the operation.
   */
  operation?: OperationName;
  /**
   * The session, by any id.
   */
  session?: string | null;
  /**
   * For a revert: only one step.
   */
  step?: string | null;
  /**
   * For a revert: what to do with changes that may be another author's: `keep` or `take`.
   */
  unclear?: string | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `patch`.
 */
export interface PatchParameters {
  /**
   * Whether ids have to be full ones: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * The state before, by any id.
   */
  from?: string | null;
  /**
   * What made the changes: a message, a step, an operation. Without it, two states are compared.
   */
  id?: string | null;
  /**
   * Whether only the files are wanted, and no patch.
   */
  names?: boolean;
  /**
   * The paths that are compared; all of them if empty.
   *
   * Items: A path: a text, or `path` and `path_hex` as documents have them, which is how a name that is not UTF-8 is given. A file of a report
   * may be passed as it is.
   */
  paths?: (string | PathText)[];
  /**
   * The state after, by any id.
   */
  to?: string | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `record`.
 */
export interface RecordParameters {
  /**
   * The event.
   */
  event: Event;
}
/**
 * The parameters of `sessions`.
 */
export interface SessionsParameters {
  /**
   * Those of every workspace.
   */
  everywhere?: boolean;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `show`.
 */
export interface ShowParameters {
  /**
   * Whether the id has to be a full one: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * Any id.
   */
  id: string;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `status`.
 */
export interface StatusParameters {
  /**
   * Whether ids have to be full ones: no prefix, no label, no `last`.
   */
  exact?: boolean;
  /**
   * One session, by any id.
   */
  session?: string | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `subscribe`.
 */
export interface SubscribeParameters {
  /**
   * The names of the notifications that are wanted; all of them without it.
   */
  events?: string[] | null;
  /**
   * Notifications of every workspace.
   */
  everywhere?: boolean;
  /**
   * The last position that the client has handled; without it, from now on.
   */
  since?: number | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `timeline`.
 */
export interface TimelineParameters {
  /**
   * How many entries at most.
   */
  limit?: number | null;
  /**
   * Only messages whose prompt, or the path of a file that they changed, contains this, ignoring case.
   */
  search?: string | null;
  /**
   * Only messages that added or removed this text in a file.
   */
  text?: string | null;
  /**
   * A directory of the workspace.
   */
  workspace?: string | null;
}
/**
 * The parameters of `operations` and `unsubscribe`.
 */
export interface WorkspaceParameters {
  /**
   * A directory of the workspace; the server's current directory if it is not given.
   */
  workspace?: string | null;
}
/**
 * `workspace adopt`: which history the workspace has now.
 */
export interface AdoptReport {
  /**
   * The history that was taken over, as it was before.
   */
  adopted: WorkspaceReport;
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * The history that the directory had before; it can be taken over again.
   */
  set_aside: WorkspaceReport | null;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace's directory.
   */
  workspace: string;
}
/**
 * The history of one directory.
 */
export interface WorkspaceReport {
  /**
   * Its id.
   */
  id: string;
  /**
   * The machine from which it was fetched; null if it was recorded here, or is adopted.
   */
  machine: string | null;
  /**
   * How many messages they have.
   */
  messages: number;
  /**
   * Where the directory is, or was seen last.
   */
  path: string;
  /**
   * How many sessions it has.
   */
  sessions: number;
  /**
   * Whether the directory still exists.
   */
  state: WorkspaceState;
  /**
   * The time of its last use.
   */
  used_at: number;
}
/**
 * `install --list`: the agents, and where the hook is installed.
 */
export interface AgentsReport {
  /**
   * Every agent whose hooks are understood.
   */
  agents: AgentReport[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * An agent.
 */
export interface AgentReport {
  /**
   * Its name.
   */
  agent: string;
  /**
   * Whether it is on this machine; null if that is not known.
   */
  found: boolean | null;
  /**
   * The lowest version with which anything is recorded; null if that is not known.
   */
  lowest_version: string | null;
  /**
   * The administrator's file that calls the hook; null if there is none.
   */
  managed: string | null;
  /**
   * What a user of this version should know: what is not recorded with it.
   */
  notes: string[];
  /**
   * The file that shows that our package is installed in the agent; null if it is not.
   */
  package: string | null;
  /**
   * The versions with which the hook was seen at work. If there are none, it was written from the agent's
   * documentation.
   */
  proven_on: string[];
  /**
   * What was found of it, or what is missing.
   */
  reason: string | null;
  /**
   * The settings that the hook can be put into. If there are none, it has to be put there by hand.
   */
  settings: AgentSettings[];
  /**
   * The version on this machine; null if it is not known.
   */
  version: string | null;
  /**
   * Whether an event would arrive, as far as the agent's settings and the administrators' tell.
   */
  works: boolean;
}
/**
 * Settings of an agent that the hook can be put into.
 */
export interface AgentSettings {
  /**
   * The file.
   */
  file: string;
  /**
   * Why it may not work although it is installed.
   */
  notes: string[];
  /**
   * `user` or `project`.
   */
  scope: string;
  /**
   * `absent`, `installed`, `outdated`, `hurried` (the timeout is shorter than the hook may take), `elsewhere`
   * (another binary is called), `doubled`, `moved` (the binary does not exist or cannot be executed), `blocked` (the
   * agent does not call it: the notes say why) or `broken`.
   */
  state: string;
}
/**
 * Where a command began to fail.
 */
export interface BisectReport {
  /**
   * How many files differ between the two states.
   */
  changed: number;
  /**
   * The tree of the first state with which it fails.
   */
  fails: string;
  /**
   * The files with which it fails: each is needed for that. All that differ, if that was not found out.
   */
  files: BisectFile[];
  /**
   * How often the command ran.
   */
  runs: number;
  /**
   * The steps that made what it fails with, in their order; none if only changes from outside did.
   */
  steps: BisectStep[];
  /**
   * The tree of the last state with which the command succeeds.
   */
  succeeds: string;
  /**
   * How many states in between could not be tested: the command exited with 125.
   */
  untested: number;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace.
   */
  workspace: string;
}
/**
 * A file that may be why a command fails.
 */
export interface BisectFile {
  /**
   * How it changed.
   */
  kind: ChangeKind;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * The step that changed it; null if no step did.
   */
  step: string | null;
}
/**
 * A step that may be why a command fails.
 */
export interface BisectStep {
  /**
   * The message that it belongs to.
   */
  message: string;
  /**
   * The user's prompt in that message, as far as the settings allow it to be stored.
   */
  prompt: string | null;
  /**
   * The step.
   */
  step: string;
}
/**
 * `blame`.
 */
export interface BlameReport {
  /**
   * The bytes of the file, if the server was asked for them.
   */
  contents: Content | null;
  /**
   * The hunks of all lines, or of those that were asked for, in order.
   */
  hunks: BlameHunk[];
  /**
   * The number of its lines.
   */
  lines: number;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * The bytes of a file.
 */
export interface Content {
  /**
   * How many bytes there are.
   */
  bytes: number;
  /**
   * How `text` is encoded: the bytes themselves, or base64 if they are not UTF-8.
   */
  encoding: Encoding;
  /**
   * The bytes; null if there are too many. Then the server's method `contents` reads them by their blob.
   */
  text: string | null;
}
/**
 * Consecutive lines with the same author.
 */
export interface BlameHunk {
  /**
   * Whose they are.
   */
  by: LineAuthor;
  /**
   * The number of lines.
   */
  lines: number;
  /**
   * The operation that merged them.
   */
  operation: string | null;
  /**
   * Why it is unclear whose they are.
   */
  reason: string | null;
  /**
   * The path that the file had when they were written, if it was a different one.
   */
  renamed_from: PathText | null;
  /**
   * The number of the first line, from 1.
   */
  start: number;
  /**
   * The step that wrote them; several if they are shared, empty if no agent wrote them.
   */
  steps: BlameStep[];
  /**
   * When they were first seen.
   */
  time: number | null;
}
/**
 * A step that wrote lines.
 */
export interface BlameStep {
  /**
   * The agent.
   */
  agent: string;
  /**
   * The message that led to it.
   */
  message: string;
  /**
   * The user's prompt, as far as the settings allow it to be stored.
   */
  prompt: string | null;
  /**
   * Its session.
   */
  session: string;
  /**
   * The state of the message.
   */
  state: MessageState;
  /**
   * The step.
   */
  step: string;
}
/**
 * A recorded state in a new directory.
 */
export interface BranchReport {
  /**
   * The new branch, where the directory is a git work tree.
   */
  branch: string | null;
  /**
   * The commit at which the branch begins: the one that was checked out in that state.
   */
  commit: string | null;
  /**
   * The conversation that ends just before the message, made to go on there; null where there is none.
   */
  conversation: ConversationReport | null;
  /**
   * The new directory.
   */
  directory: string;
  /**
   * How many files and links are in it.
   */
  files: number;
  /**
   * What that state had and no snapshot holds: it is missing.
   */
  gaps: GapReport[];
  /**
   * The tree of the snapshot that holds it.
   */
  snapshot: string;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace whose state it is.
   */
  workspace: string;
}
/**
 * What an operation does to the conversation of its session.
 */
export interface ConversationReport {
  /**
   * The command that goes on in it, to be run in `directory`; empty if there is none.
   */
  argv: string[];
  /**
   * The directory in which the command runs.
   */
  directory: string | null;
  /**
   * The interface by which it is done, in words.
   */
  interface: string | null;
  /**
   * What is done to it.
   */
  kind: ConversationKind;
  /**
   * What else the user should know.
   */
  note: string | null;
  /**
   * The arguments after `argv` that put it into the agent's input box at a terminal; empty if the agent has none.
   */
  prefill: string[];
  /**
   * What the user wrote in the message, for an input box; null if it is not known.
   */
  prompt: string | null;
  /**
   * Why nothing is done; null if something is.
   */
  reason: ConversationReason | null;
  /**
   * The agent's id of the conversation that goes on; null while the agent has not named it.
   */
  session: string | null;
}
/**
 * `cat`: a file in a captured state.
 */
export interface CatReport {
  /**
   * The blob.
   */
  blob: string;
  /**
   * The content; null if its bytes are not UTF-8.
   */
  content: string | null;
  /**
   * The bytes in hex if they are not UTF-8.
   */
  content_hex: string | null;
  /**
   * Whether it is a symbolic link; the content is then its target.
   */
  link: boolean;
  /**
   * The octal mode.
   */
  mode: string;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * Its size in bytes.
   */
  size: number;
  /**
   * The tree of the snapshot that holds it.
   */
  snapshot: string;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * `config` and `config get`.
 */
export interface ConfigReport {
  /**
   * The settings file, whether it exists or not; null if no home directory is known.
   */
  file: string | null;
  /**
   * Whether it exists.
   */
  is_there: boolean;
  /**
   * What is invalid or unknown in the file.
   */
  problems: string[];
  /**
   * Every setting, or the one that was asked for.
   */
  settings: SettingReport[];
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The directory that the values are for.
   */
  workspace: string;
}
/**
 * A setting.
 */
export interface SettingReport {
  /**
   * Its default, as TOML; null if that depends on the machine.
   */
  default: string | null;
  /**
   * Its name.
   */
  key: string;
  /**
   * Its purpose.
   */
  meaning: string;
  /**
   * The directory of the section, the variable or the option; null for a default or the file.
   */
  place: string | null;
  /**
   * Where the value comes from.
   */
  source: SettingSource;
  /**
   * Its value, as TOML.
   */
  value: string;
}
/**
 * `config set` and `config unset`.
 */
export interface ConfigChange {
  /**
   * The settings file.
   */
  file: string;
  /**
   * The former value in the file, as TOML; null if there was none.
   */
  former: string | null;
  /**
   * The setting.
   */
  key: string;
  /**
   * The new value in the file, as TOML; null if there is none.
   */
  value: string | null;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The directory that it is for; null for every workspace.
   */
  workspace: string | null;
}
/**
 * `diff`.
 */
export interface DiffReport {
  /**
   * By path.
   */
  files: ChangeReport[];
  /**
   * The tree on the left.
   */
  from: string;
  /**
   * What the left side is, if an id was given or assumed.
   */
  from_name: string | null;
  /**
   * The tree on the right.
   */
  to: string;
  /**
   * What the right side is: `current` is the workspace as it is now.
   */
  to_name: string | null;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * One path that differs between two states.
 */
export interface ChangeReport {
  /**
   * Lines added; null if there are no lines to count.
   */
  additions: number | null;
  /**
   * `agent`, `shared`, `outside` or `unclear`; null if the two states do not show who made the change.
   */
  attribution: string | null;
  /**
   * Whether a side has bytes that are not text.
   */
  binary: boolean;
  /**
   * Lines removed.
   */
  deletions: number | null;
  /**
   * The kind of change.
   */
  kind: ChangeKind;
  /**
   * The blob after.
   */
  new_blob: string | null;
  /**
   * The octal mode after.
   */
  new_mode: string | null;
  /**
   * The blob before.
   */
  old_blob: string | null;
  /**
   * The octal mode before.
   */
  old_mode: string | null;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * Why it is unclear whose it is.
   */
  reason: string | null;
  /**
   * For an added path: the deleted path of the same difference that it was before.
   */
  renamed_from: Rename | null;
  /**
   * For a deleted path: the added path of the same difference that it became.
   */
  renamed_to: PathText | null;
  /**
   * Whether only white space differs.
   */
  whitespace_only: boolean;
}
/**
 * What an added file was before, as `git diff -M` detects it.
 */
export interface Rename {
  /**
   * Lines added to the content under the other name; null if there are no lines to count.
   */
  additions: number | null;
  /**
   * Lines removed from it.
   */
  deletions: number | null;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * How much of the content is the same, as a percentage.
   */
  similarity: number;
}
/**
 * `doctor`.
 */
export interface DoctorReport {
  /**
   * The findings, in the order of the checks.
   */
  findings: Finding[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A finding of `doctor`.
 */
export interface Finding {
  /**
   * What the user can do.
   */
  hint: string | null;
  /**
   * `ok`, `note`, `warning` or `error`.
   */
  level: string;
  /**
   * The finding.
   */
  message: string;
  /**
   * Whether `--repair` repaired it.
   */
  repaired: boolean;
  /**
   * The subject of the check.
   */
  subject: string;
}
/**
 * `du`.
 */
export interface DuReport {
  /**
   * How the rows are grouped: by `workspace`, `session`, `message`, `age` or `machine`.
   */
  by: string;
  /**
   * The bytes of all files of the store, without those that are shared.
   */
  bytes: number;
  /**
   * The bytes of the caches.
   */
  caches: number;
  /**
   * The bytes of the session store and its log.
   */
  database: number;
  /**
   * The number of these files.
   */
  files: number;
  /**
   * The bytes of packs and their indexes.
   */
  objects: number;
  /**
   * The bytes of everything else.
   */
  other: number;
  /**
   * The bytes of unneeded objects, and of those that `gc` would prune now.
   */
  reclaimable: number;
  /**
   * The largest first; by age, the newest first.
   */
  rows: DuRow[];
  /**
   * The bytes that are shared with the user's repositories by links, and take no room.
   */
  shared: number;
  /**
   * The workspaces whose objects could not be measured. The totals count their files; the rows lack them.
   */
  unmeasured: DuUnmeasured[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * The bytes of one workspace, session or message, or of snapshots of one age.
 */
export interface DuRow {
  /**
   * The bytes of objects that it was the first to need.
   */
  bytes: number;
  /**
   * The workspace's directory, our id, the age, or the machine; null for what belongs to no session.
   */
  name: string | null;
  /**
   * How many snapshots it has that were not pruned.
   */
  snapshots: number;
}
/**
 * A workspace whose objects could not be measured.
 */
export interface DuUnmeasured {
  /**
   * Why.
   */
  reason: string;
  /**
   * The workspace's directory.
   */
  workspace: string;
}
/**
 * What `--json` prints instead of a document when a command fails.
 */
export interface ErrorReport {
  /**
   * The failure.
   */
  error: Failure;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A failure.
 */
export interface Failure {
  /**
   * What an ambiguous id may mean; empty for every other kind.
   */
  candidates: CandidateReport[];
  /**
   * The causes, outermost first.
   */
  causes: string[];
  /**
   * The exit code.
   */
  code: number;
  /**
   * What the user can do.
   */
  hint: string | null;
  /**
   * The kind of failure, for programs.
   */
  kind: FailureKind;
  /**
   * What failed, in a sentence.
   */
  message: string;
  /**
   * What was done before it failed.
   */
  notes: string[];
}
/**
 * A possible meaning of an ambiguous id.
 */
export interface CandidateReport {
  /**
   * Our id, in full.
   */
  id: string;
  /**
   * `message`, `step`, `session`, `operation` or `snapshot`.
   */
  kind: string;
  /**
   * The id that matches what was given: ours, the agent's, or a label.
   */
  name: string;
  /**
   * For a message, the first line of its prompt.
   */
  title: string | null;
}
/**
 * `event`, `step-start`, `step-finish`, `message`: what was recorded.
 */
export interface EventReport {
  /**
   * How many paths the step that was closed changed.
   */
  changes: number | null;
  /**
   * The normalised event's name; null if the payload was skipped.
   */
  event: string | null;
  /**
   * How many paths the snapshot could not hold.
   */
  gaps: number | null;
  /**
   * Which part of the workspace was scanned for it.
   */
  looked: Looked | null;
  /**
   * The message that the event belongs to.
   */
  message: string | null;
  /**
   * The session.
   */
  session: string | null;
  /**
   * The tree of the snapshot that was taken.
   */
  snapshot: string | null;
  /**
   * The step that the event opened, closed or belongs to.
   */
  step: string | null;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * What reverts and restores did to files since the session's last message. It is reported once, with the message
   * that makes them permanent.
   */
  went_back: FileReport[];
}
/**
 * One path of an operation.
 */
export interface FileReport {
  /**
   * The action.
   */
  action: FileAction;
  /**
   * Lines that the operation adds to what is on disk; null if there are no lines to count.
   */
  additions: number | null;
  /**
   * Whose changes keep it from going back, if the reason names an author.
   */
  by: AuthorReport[];
  /**
   * How else it can be planned: `keep` with `on_conflict` `keep`, the others with the parameters that the way out in
   * `kept` has, and `only` this file, or all files of a database.
   */
  choices: PlanChoice[];
  /**
   * With `--contents`, the bytes.
   */
  contents: FileContents | null;
  /**
   * Lines that it removes.
   */
  deletions: number | null;
  /**
   * For a file that comes: the one of the same operation that goes and becomes it.
   */
  moved_from: Rename | null;
  /**
   * The blob afterwards.
   */
  new_blob: string | null;
  /**
   * The octal mode afterwards.
   */
  new_mode: string | null;
  /**
   * The blob before; null if no snapshot holds it.
   */
  old_blob: string | null;
  /**
   * The octal mode before; null if nothing is there.
   */
  old_mode: string | null;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * The reason, if it is not obvious.
   */
  reason: string | null;
  /**
   * The same for programs; null without a reason, and in operations of older versions.
   */
  reason_code: ReasonCode | null;
  /**
   * The result.
   */
  result: FileResult;
  /**
   * Whether it stays, completely or in part, because it is unclear whose change it is. `--unclear take` undoes it.
   */
  unclear: boolean;
}
/**
 * Who made a change that keeps a file from going back.
 */
export interface AuthorReport {
  /**
   * The agent's name.
   */
  agent: string | null;
  /**
   * Who it is.
   */
  kind: AuthorKind;
  /**
   * The user message.
   */
  message: string | null;
  /**
   * The session; null if it was no agent.
   */
  session: string | null;
  /**
   * The step.
   */
  step: string | null;
}
/**
 * The contents of a file before and after the operation.
 */
export interface FileContents {
  /**
   * The content afterwards: for a merge, its result; for a file that stays, the one before.
   */
  after: Content | null;
  /**
   * The content before; null if there is none, or if it is a directory.
   */
  before: Content | null;
  /**
   * For a file in conflict, what a plan with `on_conflict` `overwrite` would make of it. Null for all others, and if it
   * would stay all the same.
   */
  earlier: EarlierVersion | null;
  /**
   * The lines that differ, in order, with three lines around them; null if a side is not text or is left out, or if
   * the two have little in common and many lines.
   */
  hunks: Hunk[] | null;
}
/**
 * What would come in the place of a file in conflict.
 */
export interface EarlierVersion {
  /**
   * Its blob.
   */
  blob: string | null;
  /**
   * The content; null if the file would go, or if it is a directory.
   */
  content: Content | null;
}
/**
 * Lines that differ, as in a unified diff.
 */
export interface Hunk {
  /**
   * The lines, each after ` `, `-` or `+`, with its line end.
   */
  lines: string[];
  /**
   * How many lines after.
   */
  new_lines: number;
  /**
   * The first line after, from 1; if there is none, the line that precedes the hunk.
   */
  new_start: number;
  /**
   * How many lines before.
   */
  old_lines: number;
  /**
   * The first line before, from 1; if there is none, the line that precedes the hunk.
   */
  old_start: number;
}
/**
 * `export`: a session with everything that its messages did.
 */
export interface ExportReport {
  /**
   * Its messages, oldest first.
   */
  messages: ExportedMessage[];
  /**
   * The session.
   */
  session: SessionReport;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A message of a session that is exported.
 */
export interface ExportedMessage {
  /**
   * What it changed, by path.
   */
  changes: ChangeReport[];
  /**
   * The message.
   */
  message: MessageReport;
  /**
   * The patch as `git apply` takes it; without text if it is longer than 8 MiB.
   */
  patch: Content;
}
/**
 * A session.
 */
export interface SessionReport {
  /**
   * The agent.
   */
  agent: string;
  /**
   * The agent's.
   */
  agent_id: string;
  /**
   * Whether it was closed.
   */
  ended: boolean;
  /**
   * How many files they changed.
   */
  files: number;
  /**
   * The session from whose conversation it was forked in the agent itself, if something was recorded of that one.
   */
  forked_from: string | null;
  /**
   * Our id.
   */
  id: string;
  /**
   * The time of its last event.
   */
  last_event: number;
  /**
   * How many messages it has.
   */
  messages: number;
  /**
   * The session that started it.
   */
  parent: string | null;
  /**
   * The message that it is reverted to.
   */
  revert_point: string | null;
  /**
   * The time of its start.
   */
  started: number;
  /**
   * The number of steps.
   */
  steps: number;
  /**
   * How many files they or another author may have changed.
   */
  unclear: number;
  /**
   * Its workspace's directory.
   */
  workspace: string;
}
/**
 * What came from other machines.
 */
export interface FetchReport {
  /**
   * The machines that pushed it, other than this one.
   */
  machines: FetchedMachine[];
  /**
   * What the workspace is called there.
   */
  name: string;
  /**
   * The repository that it came from.
   */
  remote: string;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace.
   */
  workspace: string;
}
/**
 * The history of a machine.
 */
export interface FetchedMachine {
  /**
   * Whether a directory here goes on with this history. What came later is then left out.
   */
  adopted: boolean;
  /**
   * The id of its history here, for `workspace adopt`.
   */
  id: string;
  /**
   * The machine.
   */
  machine: string;
  /**
   * How many messages it has.
   */
  messages: number;
  /**
   * How many pushes came now.
   */
  pushes: number;
}
/**
 * `forget`.
 */
export interface ForgetReport {
  /**
   * The bytes after it.
   */
  bytes_after: number;
  /**
   * The bytes of the store before it.
   */
  bytes_before: number;
  /**
   * Former session stores that are removed: copies that migrations kept, damaged ones that were set aside, and what
   * a killed repair left.
   */
  copies: string[];
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * The version of the document's shape.
   */
  version: 1;
  /**
   * The workspaces in which something is forgotten.
   */
  workspaces: ForgetWorkspace[];
}
/**
 * What is forgotten of a workspace.
 */
export interface ForgetWorkspace {
  /**
   * Whether a step or an operation is open there. Only a dry run answers then; nothing is forgotten before it has
   * ended.
   */
  busy: boolean;
  /**
   * The files, and the directories that go as a whole, by path.
   */
  files: PathText[];
  /**
   * The machine from which its history was fetched; null if it was recorded here, or is adopted.
   */
  machine: string | null;
  /**
   * How many messages lose, or lost, their prompt.
   */
  prompts: number;
  /**
   * The repositories to which its history was pushed. They have it until the next push to each, or until its refs are
   * removed there, if all of it is forgotten.
   */
  remotes: ForgetRemote[];
  /**
   * Whether all of it is forgotten.
   */
  removed: boolean;
  /**
   * How many snapshots hold, or held, something of it.
   */
  snapshots: number;
  /**
   * Its directory.
   */
  workspace: string;
}
/**
 * A repository that still has what is forgotten.
 */
export interface ForgetRemote {
  /**
   * Its address, without a password.
   */
  address: string;
  /**
   * What the workspace is called there.
   */
  name: string;
}
/**
 * `gc`.
 */
export interface GcReport {
  /**
   * The bytes after it; for a dry run, an estimate.
   */
  bytes_after: number;
  /**
   * The bytes of the store before it.
   */
  bytes_before: number;
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * The sessions that still have snapshots, the longest unused first.
   */
  sessions: GcSession[];
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * A row per workspace.
   */
  workspaces: GcWorkspace[];
}
/**
 * What happens to a session.
 */
export interface GcSession {
  /**
   * The agent.
   */
  agent: string;
  /**
   * The bytes that are freed by pruning it and every session used before it; null if they were not measured.
   */
  bytes: number | null;
  /**
   * Whether its snapshots go.
   */
  goes: boolean;
  /**
   * Why it goes (`unused`, `size`), or stays (`recent`, `open`, `reverted`, `operation`, `label`, `young`, `clock`).
   */
  reason: string;
  /**
   * Our id.
   */
  session: string;
  /**
   * The time of its last use.
   */
  used_at: number;
  /**
   * The workspace's directory.
   */
  workspace: string;
}
/**
 * What happened to the objects of a workspace.
 */
export interface GcWorkspace {
  /**
   * The bytes of its packs after.
   */
  bytes_after: number;
  /**
   * The bytes of its packs before.
   */
  bytes_before: number;
  /**
   * How many packs there are.
   */
  packs_after: number;
  /**
   * How many packs there were.
   */
  packs_before: number;
  /**
   * How many snapshots were pruned, or would be.
   */
  pruned: number;
  /**
   * Whether all of it was removed, or would be, because its directory is gone.
   */
  removed: boolean;
  /**
   * Why its packs were left as they are.
   */
  skipped: string | null;
  /**
   * Its directory.
   */
  workspace: string;
}
/**
 * `install` and `uninstall`: what was, or would be, done to one agent's settings.
 */
export interface InstallReport {
  /**
   * A row per agent and file.
   */
  changes: SettingsChange[];
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * The link `ck` to this program that was made or removed, or is to be; null if there is none.
   */
  short_name: string | null;
  /**
   * The agents that were left out, and why.
   */
  skipped: SkippedAgent[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A settings file of an agent.
 */
export interface SettingsChange {
  /**
   * `created`, `updated`, `unchanged` or `removed`.
   */
  action: string;
  /**
   * The agent.
   */
  agent: string;
  /**
   * The change as a unified diff.
   */
  diff: string | null;
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * The file.
   */
  file: string;
  /**
   * What else the user should know.
   */
  notes: string[];
}
/**
 * An agent whose settings were left as they are.
 */
export interface SkippedAgent {
  /**
   * The agent.
   */
  agent: string;
  /**
   * Whether an attempt failed; otherwise there was nothing to do.
   */
  failed: boolean;
  /**
   * What the user can do.
   */
  hint: string | null;
  /**
   * Why it was not changed.
   */
  reason: string;
}
/**
 * `label`.
 */
export interface LabelsReport {
  /**
   * The action.
   */
  action: LabelAction;
  /**
   * The label that was added or deleted; those that are listed, newest first.
   */
  labels: LabelEntry[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A label: a bookmark on a message or a snapshot, which works wherever an id does.
 */
export interface LabelEntry {
  /**
   * The message's id, or the snapshot's tree.
   */
  id: string;
  /**
   * The kind of thing that it names.
   */
  kind: LabelledKind;
  /**
   * Its text, unique in its workspace.
   */
  label: string;
  /**
   * When the message was sent, or the snapshot taken.
   */
  of: number;
  /**
   * The user's prompt in the message, as far as the settings allow it to be stored.
   */
  prompt: string | null;
  /**
   * When the label was given.
   */
  time: number;
}
/**
 * `log`.
 */
export interface LogReport {
  /**
   * Newest first.
   */
  messages: MessageReport[];
  /**
   * Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
   * `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
   */
  set_aside: string | null;
  /**
   * If the list is empty: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * `revert`, `redo`, `unrevert`, `restore`.
 */
export interface OperationReport {
  /**
   * The only message that it undoes, while later ones stay.
   */
  alone: string | null;
  /**
   * If nothing of its session stays reverted: the other sessions of the workspace that are reverted.
   */
  also_reverted: RevertedSession[];
  /**
   * Whether an agent is working, so that the real call would be refused without `--force`.
   */
  busy: boolean;
  /**
   * What becomes of the agent's conversation; null for a restore, and where nothing was reverted.
   */
  conversation: ConversationReport | null;
  /**
   * Whether it was only planned.
   */
  dry_run: boolean;
  /**
   * Every path that it looked at, by name.
   */
  files: FileReport[];
  /**
   * The interrupted operations that were finished first.
   */
  finished: FinishedReport[];
  /**
   * What it does to HEAD, branches and the index, with `--git`.
   */
  git: GitReport[];
  /**
   * What it leaves as it is, by kind of reason, and the way out of each.
   */
  kept: KeptReport[];
  /**
   * The kind of operation.
   */
  kind: OperationKind;
  /**
   * The revert point after it; null if nothing is reverted any more.
   */
  message: string | null;
  /**
   * The messages that are hidden after it, oldest first.
   */
  messages_hidden: string[];
  /**
   * What else the user should know.
   */
  notes: string[];
  /**
   * The operation; null if nothing was done.
   */
  operation: string | null;
  /**
   * How it ended; for a dry run, how it would.
   */
  outcome: Outcome;
  /**
   * The message of which it undoes a step, from which on it undoes the changes of some paths or chosen lines, or just
   * before which a restore goes.
   */
  part: string | null;
  /**
   * For a dry run: the plan, as a token. `apply` carries out exactly this plan, or fails with `stale`.
   */
  plan: string | null;
  /**
   * What differs from the state that it went to, with a reason for every path; null for a single message or step,
   * and if that state could not be captured.
   */
  receipt: Receipt | null;
  /**
   * The same for programs, in the same order.
   */
  remarks: NoteReport[];
  /**
   * The same operation in the other roots of its session. Its outcome above is that of them all.
   */
  roots: RootOperation[];
  /**
   * The session whose revert point it moves.
   */
  session: string | null;
  /**
   * The operation that it takes back, if it is an undo.
   */
  undoes: string | null;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A session with something reverted.
 */
export interface RevertedSession {
  /**
   * Its agent.
   */
  agent: string;
  /**
   * How many messages are hidden.
   */
  messages_hidden: number;
  /**
   * The message that it is reverted to; null if only a part is undone.
   */
  revert_point: string | null;
  /**
   * Its id.
   */
  session: string;
}
/**
 * An interrupted operation that was finished later.
 */
export interface FinishedReport {
  /**
   * What became of the agent's conversation.
   */
  conversation: ConversationReport | null;
  /**
   * Its files, by name.
   */
  files: FileReport[];
  /**
   * What it did to HEAD, branches and the index.
   */
  git: GitReport[];
  /**
   * The kind of operation.
   */
  kind: OperationKind;
  /**
   * The revert point after it.
   */
  message: string | null;
  /**
   * The operation.
   */
  operation: string;
  /**
   * How it ended.
   */
  outcome: Outcome;
  /**
   * What differs from the state that it went to, if its row says where that is.
   */
  receipt: Receipt | null;
  /**
   * Its session.
   */
  session: string | null;
}
/**
 * What an operation with `--git` does to a part of git's state.
 */
export interface GitReport {
  /**
   * Its value before: a commit, HEAD's text, or the blob of the index in the workspace's repository of the store;
   * null if there is none.
   */
  from: string | null;
  /**
   * The full name of the branch; `HEAD`; `index`.
   */
  name: string;
  /**
   * The part.
   */
  part: GitPart;
  /**
   * The reason, if it is not obvious.
   */
  reason: string | null;
  /**
   * The result.
   */
  result: FileResult;
  /**
   * Its value afterwards.
   */
  to: string | null;
  /**
   * Whether it stays because it is unclear whose move it is. `--unclear take` undoes it.
   */
  unclear: boolean;
  /**
   * If it stays: the command that moves it, or that there is none; null if `--unclear take` does.
   */
  way: string | null;
}
/**
 * The workspace after an operation, compared with the state that it went to: the snapshot of the message, the one before the
 * first revert for an unrevert, the one that a restore names.
 */
export interface Receipt {
  /**
   * Every path that differs, by name.
   */
  differences: Difference[];
  /**
   * The tree that it was compared with, in the workspace's repository of the store.
   */
  tree: string;
}
/**
 * A path that differs.
 */
export interface Difference {
  /**
   * Whose change it is, if the reason is another author's change.
   */
  by: AuthorReport[];
  /**
   * What is known beyond the reason, if anything is.
   */
  detail: DifferenceDetail | null;
  /**
   * For a file that came: the one of the same list that went and has its bytes. Both are one rename.
   */
  moved_from: PathText | null;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * Why it differs.
   */
  reason: DifferenceReason;
  /**
   * The same in words.
   */
  words: string;
}
/**
 * Files that an operation leaves for one kind of reason, wholly or in part, and what to do about it.
 */
export interface KeptReport {
  /**
   * The kind of reason.
   */
  kind: KeptKind;
  /**
   * The files, by name.
   */
  paths: PathText[];
  /**
   * What takes them along; null if nothing does.
   */
  way: WayOut | null;
  /**
   * Why they stay, in words that follow a colon.
   */
  why: string;
}
/**
 * A way to take kept files along.
 */
export interface WayOut {
  /**
   * What the operation does then, in words that continue its name.
   */
  does: string;
  /**
   * What to do first, as a clause; null if nothing.
   */
  first: string | null;
  /**
   * The operation, as parameters of `plan`.
   */
  parameters: WayParameters;
}
/**
 * The parameters of an operation. Those that it does not need are left out.
 */
export interface WayParameters {
  /**
   * For a revert: only that message.
   */
  alone?: boolean;
  /**
   * Whether to go ahead where it would refuse.
   */
  force?: boolean;
  /**
   * Whether git's own state moves, too.
   */
  git?: boolean;
  /**
   * For a restore: the state.
   */
  id?: string | null;
  /**
   * For a revert: the message.
   */
  message?: string | null;
  /**
   * What to do with files that have changed since.
   */
  on_conflict?: string | null;
  /**
   * The files, and folders with all that is below them; all paths if empty.
   */
  only?: PathText[];
  /**
   * The operation.
   */
  operation: OperationKind;
  /**
   * For a revert: only one step.
   */
  step?: string | null;
  /**
   * What to do with changes that may be another author's.
   */
  unclear?: string | null;
  /**
   * The workspace, if it is not the one of the report.
   */
  workspace?: string | null;
}
/**
 * A note of an operation: the sentence of `notes`, and the same for programs.
 */
export interface NoteReport {
  /**
   * The paths, branches, directories or ids that it is about: all of them, even if the sentence names only the first
   * ones.
   */
  about: string[];
  /**
   * The kind of note.
   */
  code: NoteCode;
  /**
   * The sentence.
   */
  text: string;
}
/**
 * An operation in another root of its session.
 */
export interface RootOperation {
  /**
   * What the operation does there.
   */
  report: OperationReport;
  /**
   * The root.
   */
  workspace: string;
}
/**
 * `log --operations`.
 */
export interface OperationsReport {
  /**
   * Newest first.
   */
  operations: OperationEntry[];
  /**
   * Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
   * `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
   */
  set_aside: string | null;
  /**
   * If the list is empty: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * `page`: where it can be seen. The server goes on after this document.
 */
export interface PageReport {
  /**
   * The address. It contains the key: who has it can read the history, and revert.
   */
  address: string;
  /**
   * The port on 127.0.0.1.
   */
  port: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * What a push sends, or would send.
 */
export interface PushReport {
  /**
   * Whether everything was sent anew, without what was forgotten or pruned. The server may keep the old objects until it
   * removes what nothing refers to.
   */
  anew: boolean;
  /**
   * How many bytes their objects have, before they are compressed.
   */
  bytes: number;
  /**
   * How many changes of files are sent.
   */
  changes: number;
  /**
   * What the workspace was called there before. What this machine has pushed by that name is removed.
   */
  former: string | null;
  /**
   * The ignored files: those that are not sent or, if it is encrypted, those that go along.
   */
  ignored: PathText[];
  /**
   * The public keys for which it is encrypted; none in the open.
   */
  keys: string[];
  /**
   * What this machine is called there.
   */
  machine: string;
  /**
   * How many messages are sent.
   */
  messages: number;
  /**
   * What the workspace is called there.
   */
  name: string;
  /**
   * How many snapshots that were pruned here are still there. They go with the next push once they are the larger part.
   */
  pruned: number;
  /**
   * Whether it was sent. False for a dry run, and if everything is there already.
   */
  pushed: boolean;
  /**
   * The repository that it goes to.
   */
  remote: string;
  /**
   * How many messages are sent whose text looks as if it held a secret.
   */
  secret_prompts: number;
  /**
   * The files that are sent and look as if they held a secret.
   */
  secrets: PathText[];
  /**
   * How many snapshots are sent.
   */
  snapshots: number;
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace.
   */
  workspace: string;
}
/**
 * `recover`.
 */
export interface RecoverReport {
  /**
   * Those of the other roots that are not there now, of which nothing is listed.
   */
  away: string[];
  /**
   * The files that are gone and were asked for, most recently removed first.
   */
  files: GoneReport[];
  /**
   * What putting them back did, or would do; null if they were only listed.
   */
  operation: OperationReport | null;
  /**
   * Those in the other roots of the workspace's sessions.
   */
  roots: RootGone[];
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A file that is gone, in its last version.
 */
export interface GoneReport {
  /**
   * The agent.
   */
  agent: string | null;
  /**
   * Its blob; null if its bytes are not stored.
   */
  blob: string | null;
  /**
   * Who removed it.
   */
  by: TakenBy;
  /**
   * The message that led to it.
   */
  message: string | null;
  /**
   * The octal mode that it had.
   */
  mode: string;
  /**
   * The operation that removed it, or removed it again.
   */
  operation: string | null;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * The user's prompt in that message, as far as the settings allow it to be stored.
   */
  prompt: string | null;
  /**
   * The file that it became, if it was renamed.
   */
  renamed_to: PathText | null;
  /**
   * When it was first seen to be gone; null if that is only noticed now.
   */
  time: number | null;
}
/**
 * Files that are gone from another root.
 */
export interface RootGone {
  /**
   * The files, most recently removed first.
   */
  files: GoneReport[];
  /**
   * The directory of the root.
   */
  workspace: string;
}
/**
 * `sessions`.
 */
export interface SessionsReport {
  /**
   * Newest first.
   */
  sessions: SessionReport[];
  /**
   * Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
   * `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
   */
  set_aside: string | null;
  /**
   * If the list is empty: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A message with its steps.
 */
export interface MessageShowReport {
  /**
   * The total of what its steps did, by path. A path occurs again for each time that another author changed it in
   * between.
   */
  changes: ChangeReport[];
  /**
   * Where it is in the agent's conversation.
   */
  conversation: ConversationPlace | null;
  /**
   * The message.
   */
  message: MessageReport;
  /**
   * What its steps did in the other roots of its session.
   */
  roots: RootChanges[];
  /**
   * The tree just before it.
   */
  snapshot: string | null;
  /**
   * Its steps, oldest first.
   */
  steps: StepReport[];
  type: "message";
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * Where a message is in its agent's conversation.
 */
export interface ConversationPlace {
  /**
   * The entry of the record that holds the message.
   */
  entry: string | null;
  /**
   * Whether the agent has left it: it is no longer in the conversation.
   */
  left: boolean;
  /**
   * The entry before it.
   */
  parent: string | null;
  /**
   * The agent's id of the prompt.
   */
  prompt_id: string | null;
  /**
   * Why the entry is not known; null if it is.
   */
  reason: ConversationReason | null;
  /**
   * The agent's id of the conversation.
   */
  session: string;
  /**
   * The agent's record of it, if an event named one.
   */
  transcript: string | null;
  /**
   * The agent's id of the turn.
   */
  turn: string | null;
}
/**
 * The files that a message changed in another root of its session.
 */
export interface RootChanges {
  /**
   * The total of what its steps did there, by path.
   */
  changes: ChangeReport[];
  /**
   * The root.
   */
  workspace: string;
}
/**
 * A step.
 */
export interface StepReport {
  /**
   * The agent's.
   */
  agent_id: string | null;
  /**
   * What it changed, by path.
   */
  files: ChangeReport[];
  /**
   * The tree at its finish.
   */
  finish: string | null;
  /**
   * The time of its end.
   */
  finished: number | null;
  /**
   * Our id.
   */
  id: string;
  /**
   * Its message.
   */
  message: string;
  /**
   * Whether it is still open.
   */
  open: boolean;
  /**
   * Whether it was closed without its own finish.
   */
  recovered: boolean;
  /**
   * Its session.
   */
  session: string;
  /**
   * The tree at its start.
   */
  start: string | null;
  /**
   * The time of its start.
   */
  started: number;
  /**
   * The tools that it ran, by name.
   */
  tools: string[];
  /**
   * Why its changes cannot be put back, if they cannot.
   */
  unprotected: string | null;
}
/**
 * A step.
 */
export interface StepShowReport {
  /**
   * What it did, by path, with renames.
   */
  changes: ChangeReport[];
  /**
   * The step.
   */
  step: StepReport;
  type: "step";
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A session with its messages.
 */
export interface SessionShowReport {
  /**
   * Its messages, newest first.
   */
  messages: MessageReport[];
  /**
   * The session.
   */
  session: SessionReport;
  type: "session";
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * An operation with its files.
 */
export interface OperationShowReport {
  /**
   * What it did to files, by path.
   */
  changes: ChangeReport[];
  /**
   * The conversation that it made, until a message says which one goes on.
   */
  conversation: ConversationReport | null;
  /**
   * Its files.
   */
  files: FileReport[];
  /**
   * What it did to HEAD, branches and the index.
   */
  git: GitReport[];
  /**
   * Its notes.
   */
  notes: string[];
  /**
   * The operation.
   */
  operation: OperationEntry;
  /**
   * The same for programs; empty for operations of older versions.
   */
  remarks: NoteReport[];
  /**
   * What it did in the other roots of its session.
   */
  roots: RootFiles[];
  type: "operation";
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * What was done to files in another root of a session.
 */
export interface RootFiles {
  /**
   * The files.
   */
  files: FileReport[];
  /**
   * The root.
   */
  workspace: string;
}
/**
 * A snapshot.
 */
export interface SnapshotShowReport {
  /**
   * What anybody changed since the snapshot before it, by path.
   */
  changes: ChangeReport[];
  /**
   * The paths that it does not hold.
   */
  gaps: GapReport[];
  /**
   * Its label.
   */
  label: string | null;
  /**
   * The tree of the snapshot before it; null for the first of its workspace, and if one of the two cannot be
   * read.
   */
  previous: string | null;
  /**
   * The bare repository that holds it.
   */
  repository: string;
  /**
   * The tree.
   */
  snapshot: string;
  /**
   * When it was first taken.
   */
  time: number;
  type: "snapshot";
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * `snapshot`.
 */
export interface SnapshotReport {
  /**
   * The interrupted operations that were finished first.
   */
  finished: FinishedReport[];
  /**
   * The paths that it does not hold.
   */
  gaps: GapReport[];
  /**
   * The label that was given.
   */
  label: string | null;
  /**
   * What else the user should know, such as which operation was finished first.
   */
  notes: string[];
  /**
   * The bare repository that holds it.
   */
  repository: string;
  /**
   * The tree.
   */
  snapshot: string;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * `log --snapshots`.
 */
export interface SnapshotsReport {
  /**
   * Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
   * `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
   */
  set_aside: string | null;
  /**
   * Newest first.
   */
  snapshots: SnapshotEntry[];
  /**
   * If the list is empty: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * A snapshot in a list.
 */
export interface SnapshotEntry {
  /**
   * How many paths it does not hold.
   */
  gaps: number;
  /**
   * Its label.
   */
  label: string | null;
  /**
   * The newest message that it was taken just before, if any.
   */
  message: string | null;
  /**
   * All messages before which nothing had changed since it was taken, newest first.
   */
  messages: string[];
  /**
   * The tree.
   */
  snapshot: string;
  /**
   * The time at which it was taken.
   */
  time: number;
}
/**
 * `status`: the revert banner and the state of the recording.
 */
export interface StatusReport {
  /**
   * The histories of other directories that were at this path, or of some that are gone and may have been this one:
   * `workspace adopt` takes one over by its `id`.
   */
  adoptable: WorkspaceReport[];
  /**
   * Its agent.
   */
  agent: string | null;
  /**
   * Sessions of the workspace with a tool at work, by agent and session.
   */
  agents_at_work: string[];
  /**
   * The other sessions of the workspace in which something is reverted, the one reverted last first.
   */
  also_reverted: RevertedSession[];
  /**
   * What can be done to the conversation of the session.
   */
  conversation: ConversationAbilities | null;
  /**
   * How many diagnostics the store holds.
   */
  diagnostics: number;
  /**
   * What the reverts so far did to each file.
   */
  files: FileReport[];
  /**
   * Whether the first snapshot of the workspace is being taken, by a hook or in the background. No step is protected
   * until it is done.
   */
  first_snapshot_goes_on: boolean;
  /**
   * What the newest snapshot does not hold.
   */
  gaps: GapReport[];
  /**
   * Operations that a crash left, and what to do.
   */
  interrupted: string[];
  /**
   * The newest of them.
   */
  latest_diagnostics: DiagnosticReport[];
  /**
   * The messages that the agent left by a rewind of its own, oldest first: they are no longer in the conversation, and
   * their files are here.
   */
  left: string[];
  /**
   * The messages after the revert point, oldest first.
   */
  messages_hidden: string[];
  /**
   * Steps that have started and not finished, of all sessions of the workspace.
   */
  open_steps: number;
  /**
   * Whether there is something to redo.
   */
  redo: boolean;
  /**
   * The message that it is reverted to.
   */
  revert_point: string | null;
  /**
   * What they did in the other roots of the session.
   */
  roots: RootFiles[];
  /**
   * The session that the rest is about: the newest, or the one asked for.
   */
  session: string | null;
  /**
   * Files that the session's live messages, or another author, may have changed, by path, with what is known.
   */
  unclear: UnclearReport[];
  /**
   * The messages that are undone while later ones stay, in the order in which that was asked for.
   */
  undone_alone: string[];
  /**
   * If no session is known: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * Steps that cannot be put back, and why.
   */
  unprotected: string[];
  /**
   * The newest conversation of each agent in this workspace, by the agent's own records, if no event of it came.
   */
  unrecorded: UnrecordedReport[];
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspace's directory.
   */
  workspace: string;
}
/**
 * What can be done to the conversation of a session.
 */
export interface ConversationAbilities {
  /**
   * The command that goes on in the conversation that a revert made, until a message says which one goes on; else empty.
   */
  argv: string[];
  /**
   * Whether `--conversation cut` can shorten it.
   */
  cut: boolean;
  /**
   * The directory in which that command runs.
   */
  directory: string | null;
  /**
   * Whether `--conversation fork` can make a new one.
   */
  fork: boolean;
  /**
   * Whether a command inside the agent does both halves.
   */
  inside: boolean;
  /**
   * Why a fork cannot be made; null if it can.
   */
  reason: ConversationReason | null;
}
/**
 * A file with an unclear change.
 */
export interface UnclearReport {
  /**
   * The message that may have led to it.
   */
  message: string;
  /**
   * The path in the workspace, with `/` as the separator; lossy if its bytes are not UTF-8.
   */
  path: string;
  /**
   * Its bytes, if they are not UTF-8.
   */
  path_hex: string | null;
  /**
   * Why it is unclear.
   */
  reason: string;
}
/**
 * A conversation that an agent has on record, and of which no event came.
 */
export interface UnrecordedReport {
  /**
   * The agent.
   */
  agent: string;
  /**
   * What people call it.
   */
  called: string;
  /**
   * The agent's id of the session.
   */
  session: string;
  /**
   * The time of its last entry.
   */
  time: number;
}
/**
 * `log --graph`.
 */
export interface TimelineReport {
  /**
   * Newest first.
   */
  entries: TimelineEntry[];
  /**
   * Where a damaged session store was set aside, while nothing was recorded since. What it holds does not show here;
   * `ckpt-hook doctor --repair` makes a new one of what can be read. Null in all other cases.
   */
  set_aside: string | null;
  /**
   * If the list is empty: how many workspaces have snapshots here whose session store is gone.
   * `ckpt-hook doctor --repair` builds a new one from them.
   */
  unknown_workspaces: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * Files changed while no step was open, or by another author.
 */
export interface OutsideTimelineEntry {
  /**
   * Lines added.
   */
  additions: number;
  /**
   * Lines removed.
   */
  deletions: number;
  /**
   * The number of files.
   */
  files: number;
  /**
   * The tree before.
   */
  from: string | null;
  /**
   * The time at which the change was seen.
   */
  time: number;
  /**
   * The tree after.
   */
  to: string | null;
  type: "outside";
}
/**
 * `workspace list`: all workspaces that have a history, the most recently used first.
 */
export interface WorkspacesReport {
  /**
   * The version of the document's format.
   */
  version: 1;
  /**
   * The workspaces.
   */
  workspaces: WorkspaceReport[];
}
/**
 * The result of `contents`.
 */
export interface ContentsResult {
  /**
   * The blob.
   */
  blob: string;
  /**
   * The bytes, at most 8 MiB of them.
   */
  content: Content;
  /**
   * Where to go on; null at the end.
   */
  next_offset: number | null;
  /**
   * The position of the first byte below.
   */
  offset: number;
  /**
   * How many bytes it has.
   */
  size: number;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * The result of `initialize`.
 */
export interface InitializeResult {
  /**
   * What can be done to the conversations of each agent, by its name.
   */
  conversation: {
    [k: string]: ConversationAbilities;
  };
  /**
   * The version of the documents.
   */
  documents: number;
  /**
   * The methods.
   */
  methods: string[];
  /**
   * The notifications.
   */
  notifications: string[];
  /**
   * The version of the protocol.
   */
  protocol: number;
  /**
   * The newest position in the order of everything that happened; null if there is no store that can be read.
   */
  seq: number | null;
  /**
   * The program.
   */
  server: ServerReport;
}
/**
 * A program.
 */
export interface ServerReport {
  /**
   * Its name.
   */
  name: string;
  /**
   * Its version.
   */
  version: string;
}
/**
 * The result of `patch`.
 */
export interface PatchResult {
  /**
   * The files that differ.
   */
  files: ChangeReport[];
  /**
   * The patch as `git apply` takes it; with `names`, it has no text.
   */
  patch: Content;
  /**
   * The version of the document's format.
   */
  version: 1;
}
/**
 * The result of `plan`.
 */
export interface PlanResult {
  /**
   * The token; null if there is nothing to carry out.
   */
  plan: string | null;
  /**
   * What would be done.
   */
  report: OperationReport;
}
/**
 * The result of `subscribe`.
 */
export interface SubscribeResult {
  /**
   * The position after which notifications begin.
   */
  seq: number;
}
