// Taking back one hunk: a part of the plan for the file alone.

import type { PathText } from "ckpt-hook";
import * as vscode from "vscode";
import { annotationAt, annotations } from "../decide/authors.js";
import { type Origin, parseQuery, takingBack } from "../decide/changes.js";
import { hunksAt, hunksWith } from "../decide/hunks.js";
import { clean, named, titleOf } from "../decide/words.js";
import { SCHEME } from "./documents.js";
import { confirmed, goAhead, tell } from "./outcome.js";
import type { Workspace } from "./workspace.js";

/** Where a hunk is: a line of a file on disk, or of an older state, whose text then tells which one is meant. */
export interface HunkPlace {
  path: PathText;
  line: number;
  /** The text of the line, if it is one of an older state. */
  text?: string;
  /** What to take it back from; without it, the message that wrote the line. */
  origin: Origin;
}

/** What a line change of the editor's quick diff has. */
interface LineChange {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

/** Understands what a menu, a link or a key gives: each has another form. */
export function placeOf(
  workspace: Workspace,
  given: readonly unknown[],
  last: string | undefined,
): HunkPlace | undefined {
  const [first, changes, index] = given;
  if (first instanceof vscode.Uri && Array.isArray(changes) && typeof index === "number") {
    const change = changes[index] as LineChange | undefined;
    const path = workspace.path(first);
    if (path === undefined || !change) return undefined;
    // Of removed lines, the editor names the line before them.
    const line = Math.max(0, change.modifiedStartLineNumber - (change.modifiedEndLineNumber === 0 ? 0 : 1));
    return { path: { path, path_hex: null }, line, origin: last === undefined ? {} : { message: last } };
  }
  if (isLink(first))
    return {
      path: { path: first.path, path_hex: null },
      line: first.line,
      origin: { message: first.message, alone: true },
    };
  const editor = vscode.window.activeTextEditor;
  if (isLineMenu(first)) return placeIn(workspace, first.uri, first.lineNumber - 1, editor);
  return editor && placeIn(workspace, editor.document.uri, editor.selection.active.line, editor);
}

function placeIn(
  workspace: Workspace,
  uri: vscode.Uri,
  line: number,
  editor: vscode.TextEditor | undefined,
): HunkPlace | undefined {
  const query = uri.scheme === SCHEME ? parseQuery(uri.query) : undefined;
  if (query) {
    const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    const text = document && line < document.lineCount ? document.lineAt(line).text : "";
    return { path: { path: uri.path.slice(1), path_hex: query.hex ?? null }, line, text, origin: query };
  }
  const path = workspace.path(uri);
  if (path === undefined) return undefined;
  return {
    path: { path, path_hex: null },
    line,
    origin: editor?.document.uri.toString() === uri.toString() ? originOfDiff(uri) : {},
  };
}

/** Of what the diff in front, or one of several in the same editor, is the other side. */
export function originOfDiff(uri: vscode.Uri): Origin {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const { textDiffs = [] } = (input ?? {}) as { textDiffs?: readonly vscode.TabInputTextDiff[] };
  const diffs = input instanceof vscode.TabInputTextDiff ? [input] : textDiffs;
  const diff = diffs.find(({ modified }) => modified.toString() === uri.toString());
  return (diff && parseQuery(diff.original.query)) ?? {};
}

function isLink(given: unknown): given is { message: string; path: string; line: number } {
  const { message, path, line } = (given ?? {}) as Record<string, unknown>;
  return typeof message === "string" && typeof path === "string" && typeof line === "number";
}

function isLineMenu(given: unknown): given is { lineNumber: number; uri: vscode.Uri } {
  const { lineNumber, uri } = (given ?? {}) as Record<string, unknown>;
  return typeof lineNumber === "number" && uri instanceof vscode.Uri;
}

export async function revertHunk(workspace: Workspace, place: HunkPlace): Promise<void> {
  if (!(await isSaved(workspace, place))) return;
  const { client, history } = workspace;
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
  const report = await client.request("apply", { plan: plan.token, parts, force });
  const entry = history.entries.find((one) => one.type === "message" && one.id === origin.message);
  const prompt = entry?.type === "message" ? ` (“${titleOf(entry.prompt, 30)}”)` : "";
  tell(`Reverted one hunk of ${clean(place.path.path)}${prompt}`, report);
}

function isKnown({ message, step }: Origin): boolean {
  return message !== undefined || step !== undefined;
}

/** Returns the message that wrote the line. */
async function authorOf(workspace: Workspace, place: HunkPlace): Promise<Origin> {
  const blame = await workspace.client.request("blame", { path: place.path });
  const message = annotationAt(annotations(blame, 0), place.line)?.message ?? null;
  if (message === null) throw new Error("no agent wrote this line");
  return { message, alone: true };
}

/** Whether no editor has unsaved text of the file, or that was saved. */
async function isSaved({ unsaved, root }: Workspace, { path, origin }: HunkPlace): Promise<boolean> {
  const save = unsaved.get(named(path.path, origin.root ?? root));
  if (!save) return true;
  const text = `${clean(path.path)} has unsaved text. Save it first: it counts as yours, and stays.`;
  return (await confirmed(text, "Save and Go On")) && Boolean(await save());
}
