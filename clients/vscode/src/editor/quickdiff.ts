// The changes since the last message, beside those since the last commit.

import type { MessageReport } from "ckpt-hook";
import * as vscode from "vscode";
import { inRoot, wholeOf } from "../decide/changes.js";
import { titleOf } from "../decide/words.js";
import type { Documents } from "./documents.js";
import type { Workspace } from "./workspace.js";

export class SinceLastMessage implements vscode.Disposable {
  #control: vscode.SourceControl | null = null;
  #shown = "";

  constructor(
    private readonly workspace: Workspace,
    private readonly documents: Documents,
  ) {}

  /** The newest message that is not taken back. */
  get last(): MessageReport | undefined {
    const { entries } = this.workspace.history;
    return entries.find(
      (entry) => entry.type === "message" && entry.state === "live" && !entry.undone_alone && entry.steps > 0,
    ) as MessageReport | undefined;
  }

  /** Follows the last message: the editor asks for the originals once for each source control. */
  refresh(): void {
    const { folder, follower } = this.workspace;
    const isWanted = vscode.workspace.getConfiguration("ckpt-hook").get("quickDiff", true);
    const last = isWanted && follower?.can("patch") ? this.last : undefined;
    const shown = last && folder ? `${folder.uri} ${last.id}` : "";
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#control?.dispose();
    this.#control = null;
    if (!last || !folder) return;
    this.#control = vscode.scm.createSourceControl("ckpt-hook", `Since “${titleOf(last.prompt, 30)}”`);
    this.#control.inputBox.visible = false;
    this.#control.quickDiffProvider = {
      provideOriginalResource: (uri) => {
        const { path, root = null } = this.workspace.place(uri) ?? {};
        const isOf = root === null || last.roots?.some(({ workspace }) => workspace === root);
        const origin = { message: last.id, ...inRoot(root) };
        return path && isOf ? this.documents.uri(path, { before: wholeOf(last.id) }, origin) : undefined;
      },
    };
  }

  dispose(): void {
    this.#control?.dispose();
  }
}
