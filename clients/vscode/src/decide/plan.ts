// A plan before it is carried out: what happens to each file, why one stays, and the ways out.

import type { FileReport, KeptReport, OperationReport, PlanChoice, PlanParameters, WayOut } from "ckpt-hook";
import { folderOf } from "./changes.js";
import { clean, conversationNote, count, lines } from "./words.js";

/** A way out of what a plan keeps; each plans again. */
export type Way = PlanChoice | "alone";

export interface PlanRow {
  file: FileReport;
  group: "changes" | "stays";
  /** What happens to it. */
  verb: string;
  reason: string | null;
  ways: Way[];
  /** What takes it along by itself; null if nothing does, or nothing has to. */
  way: WayOut | null;
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

function keyOf(file: { path: string; path_hex: string | null }): string {
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
    .map((file) => rowOf(file, asked, kept, report.kept ?? [], unsaved))
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

function rowOf(
  file: FileReport,
  asked: PlanParameters,
  before: Kept,
  groups: KeptReport[],
  unsaved: ReadonlySet<string>,
): PlanRow {
  const isMoving = changes(file);
  const was = before.get(keyOf(file));
  const kept = groups.find((one) => one.kind !== "other_message" && one.paths.some((path) => keyOf(path) === keyOf(file)));
  const way = kept?.way ?? null;
  const tried = [policyOf(asked).on_conflict, policyOf(asked).unclear];
  // An older program names none.
  const choices: readonly PlanChoice[] = file.choices ?? [];
  const ways: Way[] = choices.filter((choice) => choice !== "keep" && !tried.includes(choice));
  // Another way out of one file alone, while the rest of the plan is as it is.
  if (way?.first === null && ways.length > 0 && file.reason_code !== "database") ways.push("alone");
  const mayStay = was !== undefined || choices.includes("keep");
  if (isMoving && mayStay && operationOf(asked) !== "undo" && policyOf(asked).on_conflict !== "keep") ways.push("keep");
  const verb =
    isMoving && was !== undefined && file.action !== "merge"
      ? `${VERBS[file.action]}, though ${was}`
      : file.result === "gap"
        ? "not captured"
        : file.result === "conflict"
          ? "stays"
          : VERBS[file.action];
  const out = !kept ? "" : way === null ? "nothing takes that back" : way.first === null ? "" : `${way.first}, then plan again`;
  return {
    file,
    group: isMoving ? "changes" : "stays",
    verb,
    reason: [file.reason ?? kept?.why, out].filter(Boolean).join("; ") || null,
    ways,
    way,
    isUnsaved: isMoving && unsaved.has(file.path),
  };
}

/** The same request with a way out: for all files of the plan where it has a parameter for that, else for those of one kind. */
export function choose(asked: PlanParameters, way: Way, { file, way: out }: PlanRow): PlanParameters {
  const operation = operationOf(asked);
  const with_ = (more: object) => ({ ...asked, ...more }) as PlanParameters;
  if (way === "again") return asked;
  if (way === "take" && file.unclear && operation === "revert") return with_({ unclear: "take" });
  if (way === "overwrite" && operation !== "undo") return with_({ on_conflict: "overwrite" });
  if (way === "keep") return with_({ on_conflict: "keep", ...(operation === "revert" && { unclear: "keep" }) });
  const only = way === "alone" ? [{ path: file.path, path_hex: file.path_hex }] : out?.parameters.only;
  return { ...out?.parameters, only } as PlanParameters;
}

/** What a row says behind the file's name. */
export function descriptionOf(row: PlanRow): string {
  const { file } = row;
  return [
    folderOf(file.path),
    row.verb,
    lines(file.additions, file.deletions),
    row.isUnsaved ? "unsaved text" : "",
    row.group === "stays" ? clean(row.reason ?? "") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
