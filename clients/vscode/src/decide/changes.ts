// The files that a message changed: a rename is one, and each side has an address.

import type { ChangeReport, PathText, PlanParameters, ShowReport } from "ckpt-hook";
import { clean, lines } from "./words.js";

/** A file that changed. A rename is one of them, with the path that the file had. */
export interface FileChange {
  /** The directory that it is in, if that is not the server's own. */
  root: string | null;
  path: PathText;
  former: PathText | null;
  kind: ChangeReport["kind"] | "renamed";
  additions: number | null;
  deletions: number | null;
  oldBlob: string | null;
  newBlob: string | null;
  /** Why it is unclear whose change it is. */
  reason: string | null;
}

function bare({ path, path_hex }: PathText): PathText {
  return { path, path_hex };
}

function keyOf({ path, path_hex }: PathText): string {
  return path_hex ?? path;
}

/** What a message, a step or an operation changed, in all directories of its session that the report has. */
export function changed(shown: ShowReport): FileChange[] {
  if (!("changes" in shown)) return [];
  // An older program names no others.
  const others = shown.type === "message" ? (shown.roots ?? []) : [];
  return [...joinRenames(shown.changes), ...others.flatMap((root) => joinRenames(root.changes, root.workspace))];
}

export function joinRenames(changes: readonly ChangeReport[], root: string | null = null): FileChange[] {
  const deleted = new Map(
    changes.filter((change) => change.new_blob === null).map((change) => [keyOf(change), change]),
  );
  const files: FileChange[] = [];
  for (const change of changes) {
    const former = change.renamed_from && deleted.get(keyOf(change.renamed_from));
    if (former && change.renamed_from) deleted.delete(keyOf(former));
    files.push({
      root,
      path: bare(change),
      former: former ? bare(former) : null,
      kind: former ? "renamed" : change.kind,
      additions: former ? (change.renamed_from?.additions ?? null) : change.additions,
      deletions: former ? (change.renamed_from?.deletions ?? null) : change.deletions,
      oldBlob: former ? former.old_blob : change.old_blob,
      newBlob: change.new_blob,
      reason: change.reason,
    });
  }
  const isLeft = (file: FileChange) =>
    file.kind === "renamed" || file.newBlob !== null || deleted.has(keyOf(file.path));
  return files.filter(isLeft);
}

export function nameOf(path: string): string {
  return clean(path.slice(path.lastIndexOf("/") + 1));
}

/** The folder of a path, below the name of the directory if that is not the server's own. */
export function folderIn(path: string, root: string | null): string {
  const folder = clean(path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  return [root === null ? "" : nameOf(root), folder].filter(Boolean).join("/");
}

/** What stands behind a file's name: its folder, the former path, the kind and the lines. */
export function descriptionOf(file: FileChange): string {
  const kind = file.kind === "modified" ? "" : file.kind;
  const former = file.former ? `renamed from ${clean(file.former.path)}` : kind;
  const counted = lines(file.additions, file.deletions);
  const folder = folderIn(file.path.path, file.root);
  return [folder, former, counted, file.reason === null ? "" : "unclear"].filter(Boolean).join(" · ");
}

/** The paths to pass to `only`: both, if it was renamed. */
export function pathsOf(file: Pick<FileChange, "path" | "former">): PathText[] {
  return file.former ? [file.path, file.former] : [file.path];
}

/** What a document of ours holds. */
export type Source =
  | { blob: string }
  /** The file just before a message, compared with what is there now. */
  | { before: string }
  /** A text that a plan gave. */
  | { planned: string }
  | { nothing: true };

/** Of what a document is a side, so that commands in its editor know what to take back. */
export interface Origin {
  message?: string;
  step?: string;
  /** Whether later messages stay. */
  alone?: boolean;
  /** The directory that it is in, if that is not the server's own. */
  root?: string;
}

/** The part of an origin that is a directory; nothing for the server's own. */
export function inRoot(root: string | null): { root?: string } {
  return root === null ? {} : { root };
}

/** The id of a message in all directories of its session: that of its part in one of them ends with a number. */
export function wholeOf(message: string): string {
  return message.replace(/-\d+$/, "");
}

/** What takes it back, as parameters of a plan. */
export function takingBack({ message = "", step, alone, root }: Origin, only: PathText[]): PlanParameters {
  const what = step === undefined ? { message: wholeOf(message), ...(alone && { alone }) } : { step };
  return { operation: "revert", ...what, only, workspace: root ?? null };
}

export type Query = Source & Origin & { hex?: string };

/** The path of a document's file, below its directory. */
export function pathOf(address: { path: string }, { hex }: Query): PathText {
  return { path: address.path.slice(1), path_hex: hex ?? null };
}

export function queryText(query: Query): string {
  return JSON.stringify(query);
}

/** The query of a document's address; nothing if it is none of ours. */
export function parseQuery(text: string): Query | undefined {
  try {
    const query: unknown = JSON.parse(text);
    if (typeof query !== "object" || query === null) return undefined;
    const { blob, before, planned, nothing } = query as Record<string, unknown>;
    const isText = [blob, before, planned].some((value) => typeof value === "string");
    return isText || nothing === true ? (query as Query) : undefined;
  } catch {
    return undefined;
  }
}

export function sourceOf(blob: string | null): Source {
  return blob === null ? { nothing: true } : { blob };
}
