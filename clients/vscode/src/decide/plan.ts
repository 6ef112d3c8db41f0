// A plan before it is carried out: what happens to each file, why one stays, and the ways out.

import type { FileReport, OperationReport, PlanParameters } from "ckpt-hook";
import { folderOf } from "./changes.js";
import { clean, conversationNote, count, lines } from "./words.js";

/** A way out of what a plan keeps; each plans again. */
export type Way = "take" | "overwrite" | "keep" | "alone";

export interface PlanRow {
  file: FileReport;
  group: "changes" | "stays";
  /** What happens to it. */
  verb: string;
  reason: string | null;
  ways: Way[];
  /** Whether an editor has unsaved text of a file that the plan changes. */
  isUnsaved: boolean;
}

export interface PlanView {
  rows: PlanRow[];
  /** What the button says; null if there is nothing to carry out. */
  button: string | null;
  /** Whether an agent is at work, so that the button needs a second word. */
  isBusy: boolean;
  /** Sentences above the files. */
  notes: string[];
}

const VERBS: Record<FileReport["action"], string> = {
  write: "put back",
  delete: "removed",
  merge: "merged: only the agent's lines go",
  keep: "stays",
  none: "already so",
};

function operationOf(asked: PlanParameters): string {
  return asked.operation ?? "revert";
}

function policyOf(asked: PlanParameters): { on_conflict?: string; unclear?: string } {
  return asked as { on_conflict?: string; unclear?: string };
}

function keyOf(file: FileReport): string {
  return file.path_hex ?? file.path;
}

/**
 * What an earlier plan of the same request kept, and why: a file that is overwritten now still says that it was changed since, and has
 * the way back.
 */
export type Kept = Map<string, string>;

export function remember(kept: Kept, report: OperationReport): void {
  for (const file of report.files) {
    if (isKept(file)) kept.set(keyOf(file), file.reason ?? "it was changed since");
  }
}

function isKept(file: FileReport): boolean {
  return file.result === "conflict" || file.unclear;
}

export function changes(file: FileReport): boolean {
  return file.result === "planned" && (file.action === "write" || file.action === "delete" || file.action === "merge");
}

export function view(
  report: OperationReport,
  token: string | null,
  asked: PlanParameters,
  kept: Kept,
  unsaved: ReadonlySet<string>,
): PlanView {
  const shown = report.files.filter((file) => file.action !== "none" || file.reason !== null);
  const rows = shown
    .map((file) => rowOf(file, asked, kept, unsaved))
    .sort((one, other) => one.group.localeCompare(other.group));
  const moving = rows.filter((row) => row.group === "changes").length;
  const staying = rows.length - moving;
  const dirty = rows.filter((row) => row.isUnsaved);
  const git = report.git.map((part) => `${part.name}: ${part.reason ?? part.result}`);
  const differs =
    report.receipt?.differences.filter(
      (one) => !report.files.some((file) => file.path === one.path && file.result !== "done" && file.reason !== null),
    ) ?? [];
  const notes = [
    report.busy ? "An agent is at work here. Wait until it is done, or go ahead anyway." : "",
    dirty.length > 0
      ? `${count(dirty.length, "file")} with unsaved text in the editor: ${dirty.map((row) => clean(row.file.path)).join(", ")}. Save first, and the plan is made again.`
      : "",
    report.messages_hidden.length > 0 ? `${count(report.messages_hidden.length, "message")} hidden afterwards.` : "",
    staying > 0 ? `${count(staying, "file")} ${staying === 1 ? "stays as it is" : "stay as they are"}.` : "",
    report.conversation ? conversationNote(report.conversation) : "",
    ...report.notes,
    ...git,
    ...differs.slice(0, 20).map((one) => `${one.path} is not as it was then: ${one.words}.`),
  ];
  const button = token === null ? null : moving > 0 ? `Change ${count(moving, "file")}` : "Carry it out";
  return { rows, button, isBusy: report.busy, notes: notes.filter(Boolean).map(clean) };
}

function rowOf(file: FileReport, asked: PlanParameters, kept: Kept, unsaved: ReadonlySet<string>): PlanRow {
  const isMoving = changes(file);
  const before = kept.get(keyOf(file));
  const ways: Way[] = [];
  if (!isMoving && file.unclear && operationOf(asked) === "revert") ways.push("take");
  if (!isMoving && file.result === "conflict" && canOverwrite(file, asked)) ways.push("overwrite");
  // Another way out of one file alone, while the rest of the plan is as it is.
  if (ways.length > 0 && operationOf(asked) === "revert") ways.push("alone");
  if (isMoving && (before !== undefined || file.action === "merge") && canKeep(asked)) ways.push("keep");
  const missing =
    file.result === "gap" ? "not captured" : file.result === "conflict" ? "changed since: stays" : VERBS[file.action];
  return {
    file,
    group: isMoving ? "changes" : "stays",
    verb:
      isMoving && before !== undefined && file.action !== "merge" ? `${VERBS[file.action]}, though ${before}` : missing,
    reason: file.reason,
    ways,
    isUnsaved: isMoving && unsaved.has(file.path),
  };
}

function canOverwrite(file: FileReport, asked: PlanParameters): boolean {
  const hasPolicy = operationOf(asked) !== "restore" && operationOf(asked) !== "undo";
  // Without an earlier version, it would stay all the same.
  return hasPolicy && policyOf(asked).on_conflict !== "overwrite" && (file.contents?.earlier ?? null) !== null;
}

function canKeep(asked: PlanParameters): boolean {
  return operationOf(asked) !== "restore" && operationOf(asked) !== "undo" && policyOf(asked).on_conflict !== "keep";
}

/** The same request with a way out. The server decides for all files of a plan alike; `alone` narrows it to one file. */
export function choose(asked: PlanParameters, way: Way, file: FileReport): PlanParameters {
  const revert = operationOf(asked) === "revert";
  const with_ = (more: object) => ({ ...asked, ...more }) as PlanParameters;
  switch (way) {
    case "take":
      return with_({ unclear: "take" });
    case "overwrite":
      return with_({ on_conflict: "overwrite" });
    case "keep":
      return with_({ on_conflict: "keep", ...(revert && { unclear: "keep" }) });
    case "alone": {
      const policy = file.unclear ? { unclear: "take", on_conflict: "merge" } : { on_conflict: "overwrite" };
      return with_({ only: [{ path: file.path, path_hex: file.path_hex }], ...policy });
    }
  }
}

/** What a row says behind the file's name. */
export function descriptionOf(row: PlanRow): string {
  const { file } = row;
  return [
    folderOf(file.path),
    row.verb,
    lines(file.additions, file.deletions),
    row.isUnsaved ? "unsaved text" : "",
    row.group === "stays" ? clean(file.reason ?? "") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
