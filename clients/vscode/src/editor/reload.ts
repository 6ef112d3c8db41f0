// Editors of files that an operation changed.

import { chmod, readFile, stat } from "node:fs/promises";
import * as vscode from "vscode";
import type { Workspace } from "./workspace.js";

/** How long a watcher of files gathers what happens, at most, in milliseconds: on a machine that is busy, longer. */
const GATHERED = 700;
const BUSY = 20_000;

/**
 * Makes the editor read files again after an operation of any process. The program exchanges a file for its new version. A watcher that
 * gathers events sees a file come and go, and tells the editor nothing. So a moment later each open file that differs gets the mode that
 * it has: an event of its own, and no change. While one still differs, that is done again, each time after twice as long.
 */
export class Reload implements vscode.Disposable {
  #newest = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly workspace: Workspace) {}

  refresh(): void {
    const { entries } = this.workspace.history;
    const operation = entries.find((entry) => entry.type === "operation");
    const newest = operation?.type === "operation" ? `${operation.id} ${operation.state}` : "";
    if (newest === this.#newest) return;
    this.#newest = newest;
    this.#wait(GATHERED);
  }

  #wait(time: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#wake(time), time);
  }

  async #wake(waited: number): Promise<void> {
    const open = vscode.workspace.textDocuments.filter(
      (document) => !document.isDirty && this.workspace.place(document.uri),
    );
    const differed = await Promise.all(open.map((document) => touch(document).catch(() => false)));
    if (differed.includes(true) && waited < BUSY) this.#wait(2 * waited);
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }
}

/** Makes the editor look at a file that differs from what it shows; returns whether it differs. */
async function touch(document: vscode.TextDocument): Promise<boolean> {
  const path = document.uri.fsPath;
  const text = await readFile(path, "utf-8");
  if (text === document.getText()) return false;
  const { mode } = await stat(path);
  await chmod(path, mode & 0o7777);
  return true;
}
