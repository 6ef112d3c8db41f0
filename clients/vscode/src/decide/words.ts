// The sentences that people read. Nothing here knows the editor.

import type {
  ConversationKind,
  ConversationReport,
  DoctorReport,
  FailureKind,
  FileReport,
  GitReport,
  MessageReport,
  OperationReport,
  StatusReport,
} from "ckpt-hook";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The most of a prompt in one line, in characters. */
const TITLE = 72;

export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** How long ago something was, at the time `now`. */
export function ago(time: number, now: number): string {
  const passed = now - time;
  if (passed < MINUTE) return "just now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  if (passed < 30 * DAY) return `${count(Math.floor(passed / DAY), "day")} ago`;
  return new Date(time).toISOString().slice(0, 10);
}

/**
 * One line without control characters and characters that reorder text, which a prompt or a name may have, and without what an editor's
 * notification takes for a link: one could run a command.
 */
export function clean(text: string): string {
  const unsafe = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
  return text.replace(/\s+/gu, " ").replace(unsafe, "\ufffd").replaceAll("](", "] (").trim();
}

/** A text with its full stop: what shows several may show them in one line. */
function sentence(text: string): string {
  return text.replace(/[^.!?]$/, "$&.");
}

export function titleOf(prompt: string | null, most = TITLE): string {
  const text = clean(prompt ?? "");
  if (text === "") return "(no prompt)";
  const characters = [...text];
  return characters.length <= most
    ? text
    : `${characters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`;
}

export function quoted(prompt: string | null, most = 40): string {
  return prompt === null ? "a message without a prompt" : `“${titleOf(prompt, most)}”`;
}

/** `+3 −1`; empty if no line is counted. */
export function lines(additions: number | null, deletions: number | null): string {
  const parts = [additions ? `+${additions}` : "", deletions ? `−${deletions}` : ""];
  return parts.filter(Boolean).join(" ");
}

/** Whether a step of a message goes on. */
export function isAtWork(message: MessageReport): boolean {
  return message.steps > 0 && message.finished === null;
}

/** The states of a message that are not the ordinary one. A word that this version does not know stands for itself. */
export function stateOf(message: MessageReport): string {
  if (isAtWork(message)) return "at work";
  if (message.state !== "live") return message.state;
  return message.left ? "left" : message.undone_alone ? "undone alone" : "live";
}

/** Where a conversation stands, for the status bar and the view's title. */
export interface Banner {
  text: string;
  detail: string;
  canRedo: boolean;
  isBusy: boolean;
}

export function banner(status: StatusReport | null): Banner {
  if (status === null) return { text: "", detail: "", canRedo: false, isBusy: false };
  const hidden = status.messages_hidden.length;
  const alone = status.undone_alone.length;
  const others = status.also_reverted.reduce((sum, session) => sum + session.messages_hidden, 0);
  const unclear = status.unclear.length;
  const isBusy = status.agents_at_work.length > 0;
  const files = [{ workspace: null, files: status.files }, ...(status.roots ?? [])];
  const kept = keptOf(files.flatMap((one) => one.files.map((file) => ({ ...file, root: one.workspace }))));
  const parts = [
    hidden > 0 ? `${count(hidden, "message")} hidden` : "",
    alone > 0 ? `${count(alone, "message")} undone alone` : "",
    kept.length > 0 ? `in part: ${count(kept.length, "file")} kept` : "",
    others > 0
      ? `${count(others, "message")} hidden in ${hidden > 0 ? "other" : "another"} conversation${status.also_reverted.length > 1 ? "s" : ""}`
      : "",
    status.interrupted.length > 0 ? `${count(status.interrupted.length, "operation")} interrupted` : "",
    isBusy ? "agent at work" : "",
    unclear > 0 ? `${count(unclear, "file")} unclear` : "",
  ];
  const detail = [
    hidden + alone > 0 ? "Your next message to the agent makes this permanent." : "",
    kept.length > 0 ? `Kept: ${kept.join(", ")}.` : "",
    isBusy ? `At work: ${status.agents_at_work.map(clean).join(", ")}. Wait until it is done before you go back.` : "",
    unclear > 0 ? "It is unclear who changed some files, the agent or you: a plan keeps them unless you take them." : "",
    status.first_snapshot_goes_on
      ? "The first snapshot is being taken. Nothing can be reverted before it is done."
      : "",
    ...status.interrupted.map(clean),
    ...status.unprotected.map(clean),
  ];
  return {
    text: parts.filter(Boolean).join(" · "),
    detail: detail.filter(Boolean).join("\n"),
    canRedo: status.redo,
    isBusy,
  };
}

export interface Verdict {
  level: "information" | "warning" | "error";
  text: string;
}

/** A path as people read it: in full, if it is in another directory than the server's own. */
export function named(path: string, root: string | null): string {
  return root === null ? path : `${root}/${path}`;
}

/** What an operation does in a directory of its session. */
export interface Part {
  /** The directory; null for the server's own. */
  root: string | null;
  report: OperationReport;
}

export function partsOf(report: OperationReport): Part[] {
  // An older program names no others.
  const others = (report.roots ?? []).map((one) => ({ root: one.workspace, report: one.report }));
  return [{ root: null, report }, ...others];
}

/** What is to be known of an operation beyond its files. */
export function notesOf(report: OperationReport, isOfGit: (part: GitReport) => boolean): string[] {
  const conversation = report.conversation ? [conversationNote(report.conversation)] : [];
  const notes = partsOf(report).flatMap(({ root, report: part }) => {
    const git = part.git.filter(isOfGit).map(({ name, reason, result }) => `${name}: ${reason ?? result}`);
    return [...part.notes, ...git].map((note) => (root === null ? note : `${root}: ${note}`));
  });
  return [...conversation, ...notes].filter(Boolean).map(clean);
}

/** The files that an operation left, with the reason of each. */
function keptOf(files: readonly (FileReport & { root: string | null })[]): string[] {
  const kept = files.filter(({ action, reason, result }) => result !== "done" && action !== "none" && reason !== null);
  return kept.map(({ path, reason, root }) => clean(`${named(path, root)} (${reason})`));
}

/** What an operation did, in a sentence; `title` says what was done, as `Went back to before “add VAT”`. */
export function verdict(title: string, report: OperationReport): Verdict {
  const files = partsOf(report).flatMap((part) => part.report.files.map((file) => ({ ...file, root: part.root })));
  const done = files.filter((file) => file.result === "done").length;
  const kept = keptOf(files);
  const told = kept.slice(0, 3);
  if (kept.length > told.length) told.push(`${kept.length - told.length} more`);
  const stays = kept.length > 0 ? ` ${count(kept.length, "file")} kept: ${told.join(", ")}.` : "";
  const notes = notesOf(report, (part) => part.result !== "done" && part.reason !== null);
  const rest = [stays, ...notes.map((note) => ` ${sentence(note)}`)].join("");
  switch (report.outcome) {
    case "restored":
      return { level: "information", text: `${title}: ${count(done, "file")} changed.${rest}` };
    case "partial":
      return { level: "warning", text: `${title}: done in part, ${count(done, "file")} changed.${rest}` };
    case "nothing":
      return { level: "information", text: `${title}: everything is already as it was.${rest}` };
    case "unavailable":
      return { level: "error", text: `${title}: this cannot be put back, and nothing was changed.${rest}` };
    default:
      return { level: "warning", text: `${title}: ${report.outcome}.${rest}` };
  }
}

const CONVERSATIONS: Partial<Record<ConversationKind, string>> = {
  forked: "The conversation goes on in a new one that ends just before the message; the old one stays.",
  cut: "The conversation ends just before the message.",
  back: "The conversation from before goes on.",
};

/** What becomes of the agent's conversation; empty where nothing was asked for it. */
export function conversationNote({ kind, reason, note }: ConversationReport): string {
  const isAsked = reason !== null && reason !== "not_asked" && reason !== "part";
  const stays = isAsked ? `The conversation stays as it is: ${reason.replaceAll("_", " ")}.` : "";
  return [CONVERSATIONS[kind] ?? stays, note ?? ""].filter(Boolean).join(" ");
}

/** What `doctor` says that is not fine, the worst first; the hint behind each. */
export function findings(report: DoctorReport): string[] {
  const bad = ["error", "warning"].flatMap((level) => report.findings.filter((finding) => finding.level === level));
  const words = ({ subject, message, hint }: (typeof bad)[number]) => [`${subject}: ${message}`, hint ?? ""];
  return bad.map((finding) => words(finding).filter(Boolean).map(clean).map(sentence).join(" "));
}

/** A command as a shell takes it. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

const KINDS: Partial<Record<FailureKind, string>> = {
  unavailable: "It cannot be put back",
  unfinished: "It failed after something was changed",
  cancelled: "Cancelled: nothing was changed",
};

/** An error in a sentence, with what helps. */
export function failure(error: unknown): string {
  if (!(error instanceof Error)) return clean(String(error));
  const { kind, hint } = error as { kind?: FailureKind; hint?: string | null };
  const what = kind === undefined ? undefined : KINDS[kind];
  return [what ? `${what}: ${error.message}` : error.message, hint ?? ""].filter(Boolean).map(clean).join(". ");
}
