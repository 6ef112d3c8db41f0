// Who wrote the lines of the file in the editor: on request.

import * as vscode from "vscode";
import { type Annotation, annotations } from "../decide/authors.js";
import { inRoot } from "../decide/changes.js";
import type { Place } from "../decide/places.js";
import { failure } from "../decide/words.js";
import type { HunkPlace } from "./hunk.js";
import type { Workspace } from "./workspace.js";

const COMMANDS = ["ckpt-hook.showMessage", "ckpt-hook.revertHunk"];

export class Annotations implements vscode.Disposable {
  readonly #note = vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 3em", color: new vscode.ThemeColor("ckptHook.annotationForeground"), fontStyle: "italic" },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
  });
  readonly #hover = vscode.window.createTextEditorDecorationType({ isWholeLine: true });
  /** The documents that are annotated, by their addresses. */
  readonly #wanted = new Set<string>();

  constructor(private readonly workspace: Workspace) {}

  async toggle(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !this.workspace.place(editor.document.uri)) {
      return void vscode.window.showInformationMessage("Open a file of the workspace to see who wrote it.");
    }
    const address = editor.document.uri.toString();
    if (!this.#wanted.delete(address)) this.#wanted.add(address);
    await this.draw(editor);
  }

  /** Draws what is wanted in the editors that show one of these documents. */
  async refresh(document?: vscode.TextDocument): Promise<void> {
    const editors = vscode.window.visibleTextEditors.filter((editor) => !document || editor.document === document);
    await Promise.all(editors.map((editor) => this.draw(editor)));
  }

  async draw(editor: vscode.TextEditor): Promise<void> {
    const { document } = editor;
    // While the server comes again, what is drawn stays.
    if (!this.workspace.follower?.client) return;
    const place = this.workspace.place(document.uri);
    // The lines are those on disk: while the text is another, none of them is named.
    const isWanted = this.#wanted.has(document.uri.toString()) && !document.isDirty;
    try {
      const version = document.version;
      const all = isWanted && place ? await this.#annotations(place) : [];
      if (document.version !== version) return;
      editor.setDecorations(
        this.#note,
        all.filter((one) => one.text !== "").map((one) => noteOf(document, one)),
      );
      editor.setDecorations(
        this.#hover,
        all.map((one) => ({ range: rangeOf(document, one), hoverMessage: hoverOf(place, one) })),
      );
    } catch (error) {
      this.#wanted.delete(document.uri.toString());
      void vscode.window.showErrorMessage(failure(error));
    }
  }

  async #annotations({ path, root }: Place): Promise<Annotation[]> {
    return annotations(await this.workspace.client.request("blame", { path, workspace: root }), Date.now());
  }

  dispose(): void {
    this.#note.dispose();
    this.#hover.dispose();
  }
}

function hoverOf(place: Place | undefined, { sentence, message, line }: Annotation): vscode.MarkdownString {
  // A prompt is appended as text: what looks like a link in it is none.
  const hover = new vscode.MarkdownString().appendText(sentence);
  if (message === null || !place) return hover;
  const { path, root } = place;
  const hunk: HunkPlace = { path, former: null, line, origin: { message, alone: true, ...inRoot(root) } };
  hover.isTrusted = { enabledCommands: COMMANDS };
  const link = (command: string, given: unknown) => `command:${command}?${encodeURIComponent(JSON.stringify([given]))}`;
  const links = [
    `[Show message](${link("ckpt-hook.showMessage", message)})`,
    `[Revert this hunk](${link("ckpt-hook.revertHunk", hunk)})`,
  ];
  return hover.appendMarkdown(`\n\n${links.join(" · ")}`);
}

function noteOf(document: vscode.TextDocument, { line, text }: Annotation): vscode.DecorationOptions {
  const end = document.lineAt(Math.min(line, document.lineCount - 1)).range.end;
  return { range: new vscode.Range(end, end), renderOptions: { after: { contentText: text } } };
}

function rangeOf(document: vscode.TextDocument, { line, lines }: Annotation): vscode.Range {
  return document.validateRange(new vscode.Range(line, 0, line + lines - 1, Number.MAX_SAFE_INTEGER));
}
