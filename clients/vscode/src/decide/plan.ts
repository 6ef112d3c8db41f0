// A plan before it is carried out: what happens to each file, why one stays, and the ways out.

import type {
  FileReport,
  KeptReport,
  OperationReport,
  PathParameter,
  PlanChoice,
  PlanParameters,
  WayOut,
} from "ckpt-hook";
import { folderIn } from "./changes.js";
import { clean, count, lines, named, notesOf, type Part, partsOf } from "./words.js";

/** A way out of what a plan keeps; each plans again. */
export type Way = PlanChoice | "alone";

export interface PlanRow {
  file: FileReport;
  /** The directory that it is in, if that is not the server's own. */
  root: string | null;
  /** Its path on disk. */
  place: string;
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

/** What a plan needs to know of the window. */
export interface Desk {
  /** The directory of the server. */
  root: string;
  /** The real paths of the files of which an editor has unsaved text. */
  unsaved: ReadonlySet<string>;
}

const VERBS: Partial<Record<string, string>> = {
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

function keyOf(file: FileReport, root: string | null): string {
  return named(file.path_hex ?? file.path, root);
}

/**
 * What an earlier plan of the same request kept, and why: a file that is overwritten now still says that it was changed since, and has
 * the way back.
 */
export type Kept = Map<string, string>;

export function remember(kept: Kept, report: OperationReport): void {
  for (const { root, report: part } of partsOf(report)) {
    for (const file of part.files.filter(isKept)) kept.set(keyOf(file, root), file.reason ?? "it was changed since");
  }
}

function isKept(file: FileReport): boolean {
  return file.result === "conflict" || file.unclear;
}

export function changes(file: FileReport): boolean {
  // Also by an action that only a newer program has.
  return file.result === "planned" && file.action !== "keep" && file.action !== "none";
}

export function view(
  report: OperationReport,
  token: string | null,
  asked: PlanParameters,
  kept: Kept,
  desk: Desk,
): PlanView {
  const parts = partsOf(report);
  const rows = parts
    .flatMap((part) => part.report.files.filter(isShown).map((file) => rowOf(file, part, asked, kept, desk)))
    .sort((one, other) => one.group.localeCompare(other.group));
  const moving = rows.filter((row) => row.group === "changes").length;
  const dirty = rows.filter((row) => row.isUnsaved);
  const isTold = (path: string, root: string | null) =>
    rows.some((row) => row.file.path === path && row.root === root && row.file.reason !== null);
  const differs = parts.flatMap(({ root, report: part }) =>
    (part.receipt?.differences ?? [])
      .filter((one) => !isTold(one.path, root))
      .map((one) => `${named(one.path, root)} is not as it was then: ${one.words}.`),
  );
  const notes = [
    dirty.length > 0
      ? `${count(dirty.length, "file")} with unsaved text in the editor: ${dirty.map(nameIn).join(", ")}. Save first, and the plan is made again.`
      : "",
    report.messages_hidden.length > 0 ? `${count(report.messages_hidden.length, "message")} hidden afterwards.` : "",
    ...notesOf(report, () => true),
    ...differs.slice(0, 20),
  ];
  const button = token === null ? null : moving > 0 ? `Change ${count(moving, "file")}` : "Carry it out";
  return { rows, button, isBusy: report.busy, notes: notes.filter(Boolean).map(clean) };
}

function isShown(file: FileReport): boolean {
  return file.action !== "none" || file.reason !== null;
}

/** How people read the file of a row. */
export function nameIn({ file, root }: PlanRow): string {
  return clean(named(file.path, root));
}

function rowOf(
  file: FileReport,
  { root, report }: Part,
  asked: PlanParameters,
  before: Kept,
  desk: Desk,
): PlanRow {
  const isMoving = changes(file);
  const was = before.get(keyOf(file, root));
  const place = named(file.path, root ?? desk.root);
  const isOf = (group: KeptReport) =>
    group.kind !== "other_message" &&
    group.paths.some(({ path, path_hex }) => path === file.path && path_hex === file.path_hex);
  // An older program groups none.
  const kept = (report.kept ?? []).find(isOf);
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
    file.result === "gap" ? "not captured" : file.result === "conflict" ? "stays" : (VERBS[file.action] ?? file.action);
  const facts = [
    file.moved_from ? `moved from ${clean(file.moved_from.path)}` : verb,
    isMoving && was !== undefined && file.action !== "merge" ? `though ${was}` : "",
  ];
  const out = !kept ? "" : way === null ? "nothing takes that back" : way.first === null ? "" : `${way.first}, then plan again`;
  return {
    file,
    root,
    place,
    group: isMoving ? "changes" : "stays",
    verb: facts.filter(Boolean).join(", "),
    reason: [file.reason ?? kept?.why, out].filter(Boolean).join("; ") || null,
    ways,
    way,
    isUnsaved: isMoving && desk.unsaved.has(place),
  };
}

/** The same request with a way out: for all files of the plan where it has a parameter for that, else for those of one kind. */
export function choose(asked: PlanParameters, way: Way, { file, root, way: out }: PlanRow): PlanParameters {
  const operation = operationOf(asked);
  const with_ = (more: object) => ({ ...asked, ...more }) as PlanParameters;
  if (way === "again") return asked;
  if (way === "take" && file.unclear && operation === "revert") return with_({ unclear: "take" });
  if (way === "overwrite" && operation !== "undo") return with_({ on_conflict: "overwrite" });
  if (way === "keep") return with_({ on_conflict: "keep", ...(operation === "revert" && { unclear: "keep" }) });
  const only = way === "alone" ? [{ path: file.path, path_hex: file.path_hex }] : out?.parameters.only;
  return { ...out?.parameters, only, ...(root !== null && { workspace: root }) } as PlanParameters;
}

/** What is said of a plan that a way out limited to some files. */
export function limited(asked: PlanParameters, before: PlanParameters): string {
  const onlyOf = (one: PlanParameters) => (one as { only?: PathParameter[] }).only ?? [];
  const only = onlyOf(asked);
  if (only.length === 0 || JSON.stringify(only) === JSON.stringify(onlyOf(before))) return "";
  return `, ${only.map((path) => clean(typeof path === "string" ? path : path.path)).join(", ")} alone`;
}

/** What a row says behind the file's name. */
export function descriptionOf(row: PlanRow): string {
  const { file, root } = row;
  return [
    folderIn(file.path, root),
    row.verb,
    lines(file.additions, file.deletions),
    row.isUnsaved ? "unsaved text" : "",
    row.group === "stays" ? clean(row.reason ?? "") : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
