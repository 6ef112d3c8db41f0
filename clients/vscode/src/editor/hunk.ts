// Taking back one hunk: the server plans the file alone, and the editor makes the edit, which its own undo takes back.

import type { PathText } from "ckpt-hook";
import * as vscode from "vscode";
import { annotationAt, annotations } from "../decide/authors.js";
import { type Origin, parseQuery } from "../decide/changes.js";
import { type Edit, editAt, editWith } from "../decide/hunks.js";
import { clean, failure, titleOf } from "../decide/words.js";
import { SCHEME } from "./documents.js";
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

/** Of what the diff in front is the other side. */
export function originOfDiff(uri: vscode.Uri): Origin {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (!(input instanceof vscode.TabInputTextDiff) || input.modified.toString() !== uri.toString()) return {};
  const { message, step, alone } = parseQuery(input.original.query) ?? {};
  return {
    ...(message !== undefined && { message }),
    ...(step !== undefined && { step }),
    ...(alone !== undefined && { alone }),
  };
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
  try {
    const uri = workspace.file(place.path);
    if (!uri) throw new Error("its name is not text: revert the file instead");
    const document = await vscode.workspace.openTextDocument(uri);
    if (document.isDirty && !(await isSaved(document))) return;
    const { edit, prompt } = await planned(workspace, place, document);
    const range = document.validateRange(new vscode.Range(edit.start, 0, edit.end, 0));
    const change = new vscode.WorkspaceEdit();
    change.replace(uri, range, edit.text);
    if (!(await vscode.workspace.applyEdit(change)) || !(await document.save()))
      throw new Error("the editor did not make the change");
    void vscode.window.showInformationMessage(
      `Reverted one hunk of ${clean(place.path.path)}${prompt}. The editor's own undo brings it back.`,
    );
  } catch (error) {
    void vscode.window.showErrorMessage(`Revert this hunk: ${failure(error)}`);
  }
}

/** Returns the edit that the server's plan for this file alone has at the place. */
async function planned(
  workspace: Workspace,
  place: HunkPlace,
  document: vscode.TextDocument,
): Promise<{ edit: Edit; prompt: string }> {
  const { client } = workspace;
  const origin =
    place.origin.message === undefined && place.origin.step === undefined
      ? await authorOf(workspace, place)
      : place.origin;
  const asked =
    origin.step !== undefined ? { step: origin.step } : { message: origin.message ?? "", alone: origin.alone ?? false };
  const { report } = await client.plan({ ...asked, only: [place.path], contents: true });
  const file = report.files.find((one) => one.path === place.path.path);
  const hunks = file?.contents?.hunks ?? [];
  if (hunks.length === 0 && file?.reason) throw new Error(file.reason);
  const before = file?.contents?.before?.text ?? null;
  if (hunks.length > 0 && (before === null || unified(before) !== unified(document.getText())))
    throw new Error("the file is another one by now: try again");
  const edit = place.text === undefined ? editAt(hunks, place.line) : editWith(hunks, place.text);
  if (!edit) throw new Error("nothing of this message is at this line of the file any more");
  const entry = workspace.history.entries.find((one) => one.type === "message" && one.id === origin.message);
  return { edit, prompt: entry?.type === "message" ? ` (“${titleOf(entry.prompt, 30)}”)` : "" };
}

/** Returns the message that wrote the line. */
async function authorOf(workspace: Workspace, place: HunkPlace): Promise<Origin> {
  const blame = await workspace.client.request("blame", { path: place.path });
  const message = annotationAt(annotations(blame, 0), place.line)?.message ?? null;
  if (message === null) throw new Error("no agent wrote this line");
  return { message, alone: true };
}

/** The text as the editor compares it: a byte order mark and line ends are its own matter. */
function unified(text: string): string {
  return text.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
}

async function isSaved(document: vscode.TextDocument): Promise<boolean> {
  const name = clean(vscode.workspace.asRelativePath(document.uri));
  const pressed = await vscode.window.showWarningMessage(
    `${name} has unsaved text. Save it first: it counts as yours, and stays.`,
    { modal: true },
    "Save and Go On",
  );
  return pressed === "Save and Go On" && (await document.save());
}
