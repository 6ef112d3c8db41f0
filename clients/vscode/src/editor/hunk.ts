// Taking back one hunk: a part of the plan for the file alone.

import type { PathText } from "ckpt-hook";
import * as vscode from "vscode";
import { annotationAt, annotations } from "../decide/authors.js";
import { inRoot, type Origin, parseQuery, pathOf, takingBack } from "../decide/changes.js";
import { hunksAt, hunksWith } from "../decide/hunks.js";
import { messageIn } from "../decide/tree.js";
import { clean, named, titleOf } from "../decide/words.js";
import { SCHEME } from "./documents.js";
import { confirmed, goAhead, tell } from "./outcome.js";
import type { Workspace } from "./workspace.js";

/** A file that a command is about, and of what it is a side. */
export interface Target {
  path: PathText;
  /** Its former path, if it was renamed. */
  former: PathText | null;
  origin: Origin;
}

/** Where a hunk is; without a message or step to take it back from, that which wrote the line. */
export interface HunkPlace extends Target {
  /** A line of the file on disk. */
  line: number;
  /** The text of the line, if it is one of an older state, whose number says nothing. */
  text?: string;
}

/** What a line change of the editor's quick diff has. */
interface LineChange {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

/** Returns what a document of the window shows: a file on disk, or an older state of one. */
export function targetOf(workspace: Workspace, uri: vscode.Uri): Target | undefined {
  const query = uri.scheme === SCHEME ? parseQuery(uri.query) : undefined;
  if (query) return { path: pathOf(uri, query), former: null, origin: query };
  const place = workspace.place(uri);
  return place && { path: place.path, former: null, origin: { ...originOfDiff(uri), ...inRoot(place.root) } };
}

/** Understands what a menu, a link or a key gives: each has another form. */
export function placeOf(
  workspace: Workspace,
  given: readonly unknown[],
  last: string | undefined,
): HunkPlace | undefined {
  const [first, changes, index] = given;
  if (isPlace(first)) return first;
  if (first instanceof vscode.Uri && Array.isArray(changes) && typeof index === "number") {
    const change = changes[index] as LineChange | undefined;
    const place = workspace.place(first);
    if (!place || !change) return undefined;
    // Of removed lines, the editor names the line before them.
    const line = Math.max(0, change.modifiedStartLineNumber - (change.modifiedEndLineNumber === 0 ? 0 : 1));
    const origin = { ...(last !== undefined && { message: last }), ...inRoot(place.root) };
    return { path: place.path, former: null, line, origin };
  }
  const editor = vscode.window.activeTextEditor;
  const line = isLineMenu(first) ? first.lineNumber - 1 : editor?.selection.active.line;
  const uri = isLineMenu(first) ? first.uri : editor?.document.uri;
  const target = uri && targetOf(workspace, uri);
  if (!target || line === undefined) return undefined;
  if (uri.scheme !== SCHEME) return { ...target, line };
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  return { ...target, line, text: document && line < document.lineCount ? document.lineAt(line).text : "" };
}

/** Of what the diff in front, or one of several in the same editor, is the other side. */
function originOfDiff(uri: vscode.Uri): Origin {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const { textDiffs = [] } = (input ?? {}) as { textDiffs?: readonly vscode.TabInputTextDiff[] };
  const diffs = input instanceof vscode.TabInputTextDiff ? [input] : textDiffs;
  const diff = diffs.find(({ modified }) => modified.toString() === uri.toString());
  return (diff && parseQuery(diff.original.query)) ?? {};
}

function isPlace(given: unknown): given is HunkPlace {
  return typeof given === "object" && given !== null && "origin" in given && "line" in given;
}

function isLineMenu(given: unknown): given is { lineNumber: number; uri: vscode.Uri } {
  const { lineNumber, uri } = (given ?? {}) as Record<string, unknown>;
  return typeof lineNumber === "number" && uri instanceof vscode.Uri;
}

export async function revertHunk(workspace: Workspace, place: HunkPlace): Promise<void> {
  if (!(await isSaved(workspace, place))) return;
  const { client } = workspace;
  const origin = isKnown(place.origin) ? place.origin : await authorOf(workspace, place);
  const plan = await client.plan({ ...takingBack(origin, [place.path]), contents: true });
  const file = plan.report.files.find((one) => one.path === place.path.path);
  const all = file?.contents?.hunks ?? [];
  if (all.length === 0 && file?.reason) throw new Error(file.reason);
  const [hunk, ...more] = place.text === undefined ? hunksAt(all, place.line) : hunksWith(all, place.text);
  if (more.length > 0) throw new Error("several hunks have this line: choose another one, or the line in the file itself");
  if (plan.token === null || !hunk) throw new Error("nothing of this message is at this line of the file any more");
  const force = plan.report.busy;
  if (force && !(await goAhead())) return;
  const parts = [{ path: place.path, hunks: [hunk] }];
  const report = await workspace.apply({ plan: plan.token, parts, force });
  const message = messageIn(workspace.history.entries, origin.message);
  const prompt = message ? ` (“${titleOf(message.prompt, 30)}”)` : "";
  tell(`Reverted one hunk of ${clean(place.path.path)}${prompt}`, report);
}

function isKnown({ message, step }: Origin): boolean {
  return message !== undefined || step !== undefined;
}

/** Returns the message that wrote the line. */
async function authorOf({ client }: Workspace, { path, line, origin }: HunkPlace): Promise<Origin> {
  const { root } = origin;
  const blame = await client.request("blame", { path, workspace: root ?? null });
  const message = annotationAt(annotations(blame, 0), line)?.message ?? null;
  if (message === null) throw new Error("no agent wrote this line");
  return { ...origin, message, alone: true };
}

/** Whether no editor has unsaved text of the file, or that was saved. */
async function isSaved({ unsaved, root }: Workspace, { path, origin }: HunkPlace): Promise<boolean> {
  const save = unsaved.get(named(path.path, origin.root ?? root));
  if (!save) return true;
  const text = `${clean(path.path)} has unsaved text. Save it first: it counts as yours, and stays.`;
  return (await confirmed(text, "Save and Go On")) && Boolean(await save());
}
