// Editors of files that an operation changed.

import { chmod, readFile, stat } from "node:fs/promises";
import * as vscode from "vscode";
import type { Workspace } from "./workspace.js";

/** How long a watcher of files gathers what happens, at most, in milliseconds. */
const GATHERED = 700;

/**
 * Makes the editor read files again after an operation of any process. The program exchanges a file for its new version. A watcher that
 * gathers events sees a file come and go, and tells the editor nothing. So a moment later each open file that differs gets the mode that
 * it has: an event of its own, and no change.
 */
export class Reload implements vscode.Disposable {
  readonly #workspace: Workspace;
  #newest = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  refresh(): void {
    const { entries } = this.#workspace.history;
    const operation = entries.find((entry) => entry.type === "operation");
    const newest = operation?.type === "operation" ? `${operation.id} ${operation.state}` : "";
    if (newest === this.#newest) return;
    this.#newest = newest;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#wake(), GATHERED);
  }

  async #wake(): Promise<void> {
    const open = vscode.workspace.textDocuments.filter(
      (document) => !document.isDirty && this.#workspace.path(document.uri) !== undefined,
    );
    await Promise.all(open.map((document) => touch(document).catch(() => {})));
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }
}

async function touch(document: vscode.TextDocument): Promise<void> {
  const path = document.uri.fsPath;
  const text = await readFile(path, "utf-8");
  if (text === document.getText()) return;
  const { mode } = await stat(path);
  await chmod(path, mode & 0o7777);
}
