// A plan before it is carried out: what happens to each file, why one stays, and the ways out.

import type {
  FileReport,
  KeptReport,
  OperationReport,
  PartParameter,
  PathParameter,
  PathText,
  PlanChoice,
  PlanParameters,
  WayOut,
} from "ckpt-hook";
import { folderIn, nameOf } from "./changes.js";
import type { Row } from "./tree.js";
import { clean, count, lines, named, notesOf, type Part, partsOf } from "./words.js";

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
  ways: PlanChoice[];
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

const ICONS: Partial<Record<string, string>> = { delete: "diff-removed", merge: "git-merge" };

const IN_PART =
  "Some files go back on terms of their own. As a part, it moves files alone, and hides no message.";

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

export function view({ report, token }: Omit<Planned, "parts">, asked: PlanParameters, kept: Kept, desk: Desk): PlanView {
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
    report.busy ? "An agent is at work here: the button asks once more." : "",
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
  const ways: PlanChoice[] = choices.filter((choice) => choice !== "keep" && !tried.includes(choice));
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

/** What is asked for: a plan, and files that go back on terms of their own, each with the directory that it is in. */
export interface Asked {
  all: PlanParameters;
  own: readonly { way: PlanChoice; root: string | null; parameters: PlanParameters }[];
}

/** The same request with a way out of one file. The last one of its kind is a term of the whole plan: only that can hide messages. */
export function choose({ all, own }: Asked, way: PlanChoice, row: PlanRow, rows: readonly PlanRow[]): Asked {
  const { file, root, way: out } = row;
  const rest = own.filter((one) => one.root !== root || !onlyOf(one.parameters).some((path) => isPath(path, file)));
  if (way === "again") return { all, own };
  if (way === "keep" && rest.length < own.length) return { all, own: rest };
  const isLike = (one: PlanRow) => one.ways.includes(way) && one.file.unclear === file.unclear;
  // What goes forward is about all files.
  const isForward = ["redo", "unrevert"].includes(operationOf(all)) && way === "keep";
  const term = termOf(way, file, operationOf(all));
  if (term && (isForward || rows.filter(isLike).length <= 1)) {
    return { all: { ...all, ...term } as PlanParameters, own: rest.filter((one) => one.way !== way) };
  }
  // A database goes as a whole.
  const isSet = file.reason_code === "database";
  const only = isSet ? out?.parameters.only : [{ path: file.path, path_hex: file.path_hex }];
  const terms = way === "keep" ? { ...all, ...term } : out?.parameters;
  return { all, own: [...rest, { way, root, parameters: { ...terms, only, workspace: root } as PlanParameters }] };
}

/** The parameters of a whole operation that a way out is, if there are such. */
function termOf(way: PlanChoice, file: FileReport, operation: string): object | undefined {
  const isRevert = operation === "revert";
  if (way === "keep") return { on_conflict: "keep", ...(isRevert && { unclear: "keep" }) };
  if (way === "take" && file.unclear && isRevert) return { unclear: "take" };
  return way === "overwrite" && operation !== "undo" ? { on_conflict: "overwrite" } : undefined;
}

function onlyOf(asked: PlanParameters): PathParameter[] {
  return (asked as { only?: PathParameter[] }).only ?? [];
}

function isPath(path: PathParameter, file: FileReport): boolean {
  return typeof path !== "string" && path.path === file.path && path.path_hex === file.path_hex;
}

/** A plan, and what it is carried out in part with. */
export interface Planned {
  token: string | null;
  report: OperationReport;
  parts: PartParameter[] | null;
}

/** A plan of some files on terms of their own, and the directory that they are in. */
export type OwnPlan = Omit<Planned, "parts"> & { root: string | null };

/** The plan in which some files go back on terms of their own: a part, by which no message is hidden. */
export function joined(all: Omit<Planned, "parts">, own: readonly OwnPlan[]): Planned {
  const others = own.flatMap(({ token, report, root }) => report.files.map((file) => ({ file, token, root })));
  const ownOf = (path: PathText, root: string | null) =>
    others.find((one) => one.root === root && isPath(path, one.file));
  const merged = ({ root, report }: Part): OperationReport => ({
    ...report,
    files: report.files.map((file) => ownOf(file, root)?.file ?? file),
    receipt: report.receipt && {
      ...report.receipt,
      differences: report.receipt.differences.filter((one) => !ownOf(one, root)),
    },
  });
  const [first, ...rest] = partsOf(all.report).map((part) => ({ root: part.root, report: merged(part) }));
  const roots = rest.map(({ root, report }) => ({ workspace: root as string, report }));
  const report = { ...all.report, ...first?.report, roots, messages_hidden: [], conversation: null, git: [] };
  const parts = partsOf(report).flatMap((part) =>
    part.report.files.filter(changes).map((file) => ({
      path: { path: file.path, path_hex: file.path_hex },
      workspace: part.root,
      plan: ownOf(file, part.root)?.token ?? null,
    })),
  );
  if (others.length === 0 || parts.length === 0) return { ...all, parts: null };
  report.notes = [...report.notes, IN_PART];
  return { token: all.token ?? others[0]?.token ?? null, report, parts };
}

/** What the editor shows of a file of the plan. */
export function planRow(row: PlanRow): Row {
  const { file, root, group } = row;
  const reason = clean(row.reason ?? "");
  const facts = [
    folderIn(file.path, root),
    row.verb,
    lines(file.additions, file.deletions),
    row.isUnsaved ? "unsaved text" : "",
    group === "stays" ? reason : "",
  ];
  const description = facts.filter(Boolean).join(" · ");
  return {
    label: nameOf(file.path),
    description,
    tooltip: [nameIn(row), row.verb, reason].filter(Boolean).join("\n"),
    icon: group === "stays" ? "circle-slash" : (ICONS[file.action] ?? "diff-modified"),
    colour: row.isUnsaved || row.ways.length > 0 ? "list.warningForeground" : null,
    context: ["row", ...row.ways].join(" "),
    spoken: [nameIn(row), description].join(", "),
    hasChildren: false,
  };
}
