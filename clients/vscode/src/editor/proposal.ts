// The view of a plan: nothing is changed before it was seen.

import {
  type ApplyParameters,
  BusyError,
  type Client,
  type PathText,
  type Plan,
  type PlanChoice,
  type PlanParameters,
  StaleError,
} from "ckpt-hook";
import * as vscode from "vscode";
import { sourceOf } from "../decide/changes.js";
import {
  type Asked,
  choose,
  joined,
  type Kept,
  nameIn,
  type Planned,
  planRow,
  type PlanRow,
  type PlanView,
  remember,
  view,
} from "../decide/plan.js";
import { clean, failure } from "../decide/words.js";
import { openDiff, openDiffs, type Sides } from "./diffs.js";
import { bytesOf, type Documents } from "./documents.js";
import { treeItem } from "./messages.js";
import { confirmed, goAhead, tell } from "./outcome.js";
import type { Workspace } from "./workspace.js";

export type PlanNode =
  | { type: "button" | "cancel" | "note"; text: string }
  | { type: "group"; text: string; rows: PlanRow[] }
  | { type: "row"; row: PlanRow };

/** What is said where nothing may be changed. */
export const UNTRUSTED = "This folder is not trusted: ckpt-hook only looks here.";

/** What a plan says after the workspace changed under it. */
const STALE = "Something has changed since the plan was made, and nothing was done. This is the new plan.";

export class Proposal implements vscode.TreeDataProvider<PlanNode>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view = vscode.window.createTreeView<PlanNode>("ckpt-hook.plan", { treeDataProvider: this });
  #title = "";
  #done = "";
  #asked: Asked | null = null;
  #folder: vscode.WorkspaceFolder | undefined;
  #plan: Planned | null = null;
  #shown: PlanView | null = null;
  #kept: Kept = new Map();
  #remark = "";
  #isApplying = false;
  /** Counts plans, so that the answer to an older question is not shown over that to a newer one. */
  #number = 0;
  #latest = Promise.resolve();

  constructor(
    private readonly workspace: Workspace,
    private readonly documents: Documents,
  ) {}

  /** Whether a plan is shown and waits for its button. */
  get isOpen(): boolean {
    return this.#asked !== null && !this.#isApplying;
  }

  /** Plans an operation and shows the plan. `title` says what is asked for: "Go back to before “add VAT”", and `done` what was done. */
  async propose(title: string, done: string, asked: PlanParameters, remark = ""): Promise<void> {
    this.cancel();
    this.#title = title;
    this.#done = done;
    this.#kept = new Map();
    this.#remark = remark;
    this.#asked = { all: asked, own: [] };
    this.#folder = this.workspace.folder;
    await this.again();
    if (!this.#plan) return;
    await vscode.commands.executeCommand("setContext", "ckpt-hook.planning", true);
    await vscode.commands.executeCommand("ckpt-hook.plan.focus");
  }

  /** Plans once more. Where a newer plan is asked for meanwhile, that is waited for. */
  again(remark = this.#remark, asked = this.#asked): Promise<void> {
    return (this.#latest = this.#planAgain(remark, asked));
  }

  /** What cannot be planned any more is no plan; a way out that cannot be gone leaves the plan as it is. */
  async #planAgain(remark: string, asked: Asked | null): Promise<void> {
    if (asked === null || this.#asked === null) return;
    const number = (this.#number += 1);
    try {
      const [all, ...own] = await this.#planned(this.workspace.client, asked);
      if (number !== this.#number || !all) return this.#latest;
      this.#asked = asked;
      this.#plan = joined(
        all,
        own.map(({ token, report }, at) => ({ token, report, root: asked.own[at]?.root ?? null })),
      );
      this.#remark = remark;
      remember(this.#kept, all.report);
      this.draw();
    } catch (error) {
      if (number !== this.#number) return this.#latest;
      void vscode.window.showErrorMessage(`${this.#title}: ${failure(error)}`);
      if (asked === this.#asked) this.cancel();
    }
  }

  /** The history went on: the plan rests on it. That of another folder is given up. */
  follow(): void {
    if (!this.isOpen) return;
    if (this.#folder?.uri.toString() === this.workspace.folder?.uri.toString()) void this.again();
    else this.cancel();
  }

  #planned(client: Client, { all, own }: Asked): Promise<Plan[]> {
    const asked = [all, ...own.map(({ parameters }) => parameters)];
    return this.#progress("Planning", (options) =>
      Promise.all(asked.map((one) => client.plan({ ...one, contents: true }, options))),
    );
  }

  /** Shows the plan as it is, with the files that have unsaved text by now. */
  draw(): void {
    if (!this.#plan || !this.#asked) return;
    const { root, unsaved } = this.workspace;
    this.#shown = view(this.#plan, this.#asked.all, this.#kept, { root, unsaved: new Set(unsaved.keys()) });
    this.#view.title = this.#title;
    this.#changed.fire();
  }

  /** Goes a way out for a file; for one that is picked from a list, if none is given. */
  async choose(way: PlanChoice, row: PlanRow | undefined): Promise<void> {
    const rows = this.#shown?.rows ?? [];
    const picks = rows.filter((one) => one.ways.includes(way)).map((one) => ({ label: nameIn(one), row: one }));
    if (picks.length === 0) return void vscode.window.showInformationMessage("No file of the plan has this way out.");
    const chosen = row ?? (await vscode.window.showQuickPick(picks, { title: "For which file?" }))?.row;
    if (this.#asked && chosen) await this.again("", choose(this.#asked, way, chosen, rows));
  }

  /** Carries the plan out, if it still holds and no editor has unsaved text of its files. */
  async apply(): Promise<void> {
    const plan = this.#plan;
    if (plan?.token == null || this.#isApplying) return;
    if (!vscode.workspace.isTrusted) return void vscode.window.showWarningMessage(UNTRUSTED);
    const force = plan.report.busy;
    if (force && !(await goAhead())) return;
    // Last: meanwhile, something may have been typed, or the plan given up.
    this.draw();
    if (!this.isOpen || (await this.#hasUnsaved())) return;
    this.#isApplying = true;
    try {
      await this.#carryOut({ plan: plan.token, parts: plan.parts, force });
    } finally {
      this.#isApplying = false;
    }
  }

  async #carryOut(asked: ApplyParameters): Promise<void> {
    try {
      const report = await this.#progress(this.#title, (options) => this.workspace.apply(asked, options));
      const done = asked.parts ? `${this.#done}, in part` : this.#done;
      this.cancel();
      tell(done, report);
    } catch (error) {
      if (error instanceof StaleError) return void (await this.again(STALE));
      if (error instanceof BusyError) return void (await this.again(clean(error.message)));
      void vscode.window.showErrorMessage(`${this.#title}: ${failure(error)}`);
      await this.again();
    } finally {
      await this.workspace.follower?.read().catch(() => {});
    }
  }

  /** Names unsaved text of the plan's files, and offers to save it and plan again. Returns whether there was some. */
  async #hasUnsaved(): Promise<boolean> {
    const dirty = this.workspace.unsaved;
    const rows = (this.#shown?.rows ?? []).filter((row) => row.isUnsaved);
    if (rows.length === 0) return false;
    const names = rows.map(nameIn).join(", ");
    if (
      await confirmed(
        `Unsaved text would not go back with the files, and saving it later would undo a part of this: ${names}.`,
        "Save and Plan Again",
      )
    ) {
      await Promise.all(rows.map((row) => dirty.get(row.place)?.()));
      await this.again("What you saved counts as yours in this plan.");
    }
    return true;
  }

  cancel(): void {
    this.#number += 1;
    this.#latest = Promise.resolve();
    this.#asked = this.#plan = this.#shown = null;
    this.documents.forget();
    void vscode.commands.executeCommand("setContext", "ckpt-hook.planning", false);
    this.#changed.fire();
  }

  #progress<T>(
    title: string,
    work: (options: {
      signal: AbortSignal;
      onProgress: (progress: { phase: string; done?: number; of?: number; files?: number }) => void;
    }) => Promise<T>,
  ): Promise<T> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return Promise.resolve(
      vscode.window.withProgress(options, (progress, cancelled) => {
        const abort = new AbortController();
        cancelled.onCancellationRequested(() => abort.abort());
        return work({
          signal: abort.signal,
          onProgress: ({ phase, done, of, files }) =>
            progress.report({ message: phase === "applying" ? `${done} of ${of} files` : `${files} files looked at` }),
        });
      }),
    );
  }

  getChildren(node?: PlanNode): PlanNode[] {
    const shown = this.#shown;
    if (!shown) return [];
    if (node) return node.type === "group" ? node.rows.map((row) => ({ type: "row", row })) : [];
    const group = (name: PlanRow["group"], text: string): PlanNode[] => {
      const rows = shown.rows.filter((row) => row.group === name);
      return rows.length > 0 ? [{ type: "group", text, rows }] : [];
    };
    const button: PlanNode =
      shown.button === null
        ? { type: "note", text: "Nothing to carry out" }
        : { type: "button", text: shown.isBusy ? `${shown.button} Anyway` : shown.button };
    const untrusted = vscode.workspace.isTrusted ? "" : UNTRUSTED;
    const notes = [untrusted, this.#remark, ...shown.notes]
      .filter(Boolean)
      .map((text): PlanNode => ({ type: "note", text }));
    return [
      button,
      { type: "cancel", text: "Cancel" },
      ...notes,
      ...group("changes", "Changes"),
      ...group("stays", "Stays"),
    ];
  }

  getTreeItem(node: PlanNode): vscode.TreeItem {
    const { Expanded, None } = vscode.TreeItemCollapsibleState;
    if (node.type === "group") {
      const item = new vscode.TreeItem(node.text, Expanded);
      item.description = String(node.rows.length);
      return item;
    }
    if (node.type === "row")
      return treeItem(planRow(node.row), { command: "ckpt-hook.showPlanned", title: "Show", arguments: [node] });
    const item = new vscode.TreeItem(node.text, None);
    item.accessibilityInformation = {
      label: node.type === "note" ? node.text : `${node.text}: ${this.#title}`,
      role: node.type === "note" ? "note" : "button",
    };
    item.tooltip = node.text;
    item.iconPath = new vscode.ThemeIcon({ button: "check", cancel: "close", note: "info" }[node.type]);
    if (node.type === "button") item.command = { command: "ckpt-hook.apply", title: node.text };
    if (node.type === "cancel") item.command = { command: "ckpt-hook.cancelPlan", title: node.text };
    return item;
  }

  async showPlanned(row?: PlanRow): Promise<void> {
    if (row) return openDiff(this.#title, this.#sides(row));
    const rows = this.#shown?.rows.filter((one) => one.group === "changes") ?? [];
    await openDiffs(
      this.#title,
      rows.map((one) => this.#sides(one)),
    );
  }

  /** What is on disk, and what the plan would leave; for a conflict, the earlier version. */
  #sides({ file, root }: PlanRow): Sides {
    const { before = null, after = null, earlier = null } = file.contents ?? {};
    const isThere = file.old_mode !== null || before !== null;
    const onDisk = isThere ? this.workspace.file(file, root ?? undefined) : undefined;
    const origin = root === null ? {} : { root };
    const side = (content: typeof before, blob: string | null, path: PathText) => {
      const bytes = content === null ? undefined : bytesOf(content);
      return bytes ? this.documents.text(path, bytes) : this.documents.uri(path, sourceOf(blob), origin);
    };
    const right = earlier === null ? side(after, file.new_blob, file) : side(earlier.content, earlier.blob, file);
    return { path: file, left: onDisk ?? side(before, file.old_blob, file), right };
  }

  dispose(): void {
    this.#view.dispose();
    this.#changed.dispose();
  }
}
