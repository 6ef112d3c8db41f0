// The tree view of messages.

import * as vscode from "vscode";
import {
  actions,
  children,
  type Filter,
  files,
  isFiltered,
  NO_FILTER,
  type Node,
  type Row,
  roots,
  row,
} from "../decide/tree.js";
import { type Banner, banner, failure } from "../decide/words.js";
import { changesOf } from "./diffs.js";
import type { Workspace } from "./workspace.js";

const MINUTE = 60_000;

export class Messages implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly view: vscode.TreeView<Node>;
  readonly #parents = new Map<string, Node>();
  readonly #clock: NodeJS.Timeout;
  readonly #bar = statusItem("state", "State", "messages.focus", 13);
  readonly #forward = [statusItem("redo", "Redo", "redo", 12), statusItem("redoAll", "Redo All", "redoAll", 11)];
  #roots: Node[] = [];
  #filter = NO_FILTER;
  #drawn = "";
  /** What the program says where nothing is recorded. */
  findings: readonly string[] = [];

  constructor(private readonly workspace: Workspace) {
    this.view = vscode.window.createTreeView("ckpt-hook.messages", { treeDataProvider: this, showCollapseAll: true });
    // "3 min ago" grows old, also while the view is hidden.
    this.view.onDidChangeVisibility(({ visible }) => visible && this.#changed.fire());
    this.#clock = setInterval(() => this.view.visible && this.#changed.fire(), MINUTE);
  }

  get filter(): Filter {
    return this.#filter;
  }

  set filter(filter: Filter) {
    this.#filter = filter;
    this.refresh();
  }

  get #isNarrowed(): boolean {
    return isFiltered(this.#filter) || this.workspace.follower?.isSearched === true;
  }

  /** Draws again, if there is something new. */
  refresh(): void {
    const { history, follower, state } = this.workspace;
    const { search, text } = follower?.question ?? {};
    void vscode.commands.executeCommand("setContext", "ckpt-hook.narrowed", this.#isNarrowed);
    const narrowed = [
      search ? `Search: ${search}` : "",
      text ? `Added or removed: ${text}` : "",
      isFiltered(this.#filter) ? `Filter: ${[...this.#filter.states, ...this.#filter.agents].join(", ")}` : "",
    ];
    const about = banner(history.status);
    this.#drawBar(about);
    const troubles = state === "empty" ? this.findings : [];
    const trouble = state === "ended" ? `${follower?.trouble}. Trying again…` : "";
    const message = [trouble, about.text, ...narrowed, ...troubles].filter(Boolean).join("\n");
    if (this.view.message !== message) this.view.message = message;
    this.view.description = about.canRedo ? about.text : "";
    const hidden = (history.status?.messages_hidden.length ?? 0) + (history.status?.undone_alone.length ?? 0);
    this.view.badge = hidden > 0 ? { value: hidden, tooltip: about.text } : undefined;
    const drawn = JSON.stringify([state, history.entries, history.found, narrowed]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#changed.fire();
  }

  /** The status bar: what is hidden, and the way forward. */
  #drawBar({ text, detail, canRedo, isBusy }: Banner): void {
    this.#bar.text = `$(${isBusy ? "sync~spin" : "history"}) ${text}`;
    this.#bar.tooltip = detail || "Show the messages";
    this.#bar.accessibilityInformation = { label: `${text}. ${detail}`, role: "button" };
    this.#bar.backgroundColor = canRedo ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    this.#bar[text === "" ? "hide" : "show"]();
    for (const button of this.#forward) button[canRedo ? "show" : "hide"]();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (!node) {
      const { found } = this.workspace.history;
      const listed = roots(found, this.#filter);
      this.#roots = listed.length > 0 ? listed : actions(this.workspace.state, this.#isNarrowed);
      this.#parents.clear();
      return this.#roots;
    }
    try {
      const below = await this.#below(node);
      for (const child of below) this.#parents.set(child.id, node);
      return below;
    } catch (error) {
      void vscode.window.showErrorMessage(failure(error));
      return [];
    }
  }

  async #below(node: Node): Promise<Node[]> {
    if (node.type === "outside") {
      const { files: found } = await changesOf(this.workspace, node);
      return files(node.id, found, null, null);
    }
    const isShown = node.type === "message" || node.type === "operation";
    return children(node, isShown ? await this.workspace.client.request("show", { id: node.id }) : null);
  }

  getParent(node: Node): Node | undefined {
    return this.#parents.get(node.id);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const shown = row(node, { entries: this.workspace.history.entries, now: Date.now() });
    const name = { file: "showChanges", action: node.id }[node.type as string];
    const command = { command: `ckpt-hook.${name}`, title: shown.label, arguments: node.type === "file" ? [node] : [] };
    return treeItem(shown, name === undefined ? undefined : command, node.id);
  }

  /** Shows a message in the tree. */
  async reveal(message: string): Promise<void> {
    if (isFiltered(this.#filter)) this.filter = NO_FILTER;
    await vscode.commands.executeCommand("ckpt-hook.messages.focus");
    if (this.#roots.length === 0) await this.getChildren();
    const node = this.#roots.find((one) => one.id === message);
    if (node) await this.view.reveal(node, { select: true, focus: true, expand: true });
  }

  dispose(): void {
    clearInterval(this.#clock);
    for (const item of [this.#bar, ...this.#forward]) item.dispose();
    this.view.dispose();
    this.#changed.dispose();
  }
}

export function treeItem(row: Row, command?: vscode.Command, id?: string): vscode.TreeItem {
  const { Collapsed, None } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(row.label, row.hasChildren ? Collapsed : None);
  const colour = row.colour === null ? undefined : new vscode.ThemeColor(row.colour);
  item.description = row.description;
  item.tooltip = row.tooltip;
  item.contextValue = row.context;
  item.iconPath = new vscode.ThemeIcon(row.icon, colour);
  item.accessibilityInformation = { label: row.spoken, role: "treeitem" };
  if (command) item.command = command;
  if (id !== undefined) item.id = id;
  return item;
}

function statusItem(id: string, name: string, command: string, priority: number): vscode.StatusBarItem {
  const made = vscode.window.createStatusBarItem(`ckpt-hook.${id}`, vscode.StatusBarAlignment.Left, priority);
  made.name = `ckpt-hook: ${name}`;
  made.text = name;
  made.command = `ckpt-hook.${command}`;
  made.accessibilityInformation = { label: `${name} the hidden messages`, role: "button" };
  return made;
}
