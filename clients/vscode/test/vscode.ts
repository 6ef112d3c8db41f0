// As much of the editor's interface as the extension uses, without an editor: what is shown is written down, and what is asked is
// answered by the test.

import { readFileSync, writeFileSync } from "node:fs";

type Listener = (given: never) => unknown;

export class Disposable {
  readonly dispose: () => void;
  constructor(dispose: () => void) {
    this.dispose = dispose;
  }
}

export class EventEmitter<T> {
  readonly #listeners = new Set<Listener>();
  readonly event = (listener: Listener) => {
    this.#listeners.add(listener);
    return new Disposable(() => this.#listeners.delete(listener));
  };
  fire(given?: T): void {
    for (const listener of [...this.#listeners]) listener(given as never);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

interface Parts {
  scheme: string;
  path: string;
  query?: string;
}

export class Uri {
  readonly scheme: string;
  readonly path: string;
  readonly query: string;
  private constructor({ scheme, path, query = "" }: Parts) {
    this.scheme = scheme;
    this.path = path;
    this.query = query;
  }
  static from(parts: Parts): Uri {
    return new Uri(parts);
  }
  static file(path: string): Uri {
    return new Uri({ scheme: "file", path });
  }
  static joinPath(base: Uri, ...parts: string[]): Uri {
    return new Uri({ scheme: base.scheme, path: [base.path, ...parts].filter(Boolean).join("/") });
  }
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${this.path}?${this.query}`;
  }
}

export class Range {
  readonly start: { line: number; character: number };
  readonly end: { line: number; character: number };
  constructor(...given: unknown[]) {
    const [a, b, c, d] = given as number[];
    const isPair = given.length === 2;
    this.start = isPair ? (given[0] as Range["start"]) : { line: a ?? 0, character: b ?? 0 };
    this.end = isPair ? (given[1] as Range["end"]) : { line: c ?? 0, character: d ?? 0 };
  }
}

export class ThemeColor {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

export class ThemeIcon {
  readonly id: string;
  readonly color: ThemeColor | undefined;
  constructor(id: string, color?: ThemeColor) {
    this.id = id;
    this.color = color;
  }
}

export class TreeItem {
  readonly label: string;
  readonly collapsibleState: number;
  description = "";
  contextValue = "";
  accessibilityInformation: { label: string; role?: string } | undefined;
  command: { command: string; arguments?: unknown[] } | undefined;
  constructor(label: string, collapsibleState = 0) {
    this.label = label;
    this.collapsibleState = collapsibleState;
  }
}

export class MarkdownString {
  value = "";
  isTrusted: unknown = false;
  appendText(text: string): this {
    this.value += text.replace(/[\\`*_{}[\]()#+\-.!<>]/g, "\\$&");
    return this;
  }
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
}

export class WorkspaceEdit {
  readonly edits: { uri: Uri; range: Range; text: string }[] = [];
  replace(uri: Uri, range: Range, text: string): void {
    this.edits.push({ uri, range, text });
  }
}

export class TabInputTextDiff {
  readonly original: Uri;
  readonly modified: Uri;
  constructor(original: Uri, modified: Uri) {
    this.original = original;
    this.modified = modified;
  }
}

export const FileSystemError = {
  FileNotFound: (uri: Uri) => new Error(`not found: ${uri}`),
  NoPermissions: (uri: Uri) => new Error(`no permission: ${uri}`),
};
export const TreeItemCollapsibleState = { None: 0, Collapsed: 1, Expanded: 2 };
export const FileType = { File: 1 };
export const FilePermission = { Readonly: 1 };
export const StatusBarAlignment = { Left: 1 };
export const ProgressLocation = { Notification: 15 };
export const DecorationRangeBehavior = { ClosedOpen: 3 };

export class TextDocument {
  isDirty = false;
  version = 1;
  #text: string;
  readonly uri: Uri;
  constructor(uri: Uri) {
    this.uri = uri;
    this.#text = readFileSync(uri.path, "utf-8");
  }
  getText(): string {
    return this.#text;
  }
  get lineCount(): number {
    return this.#text.split("\n").length;
  }
  lineAt(line: number) {
    const text = this.#text.split("\n")[line] ?? "";
    const end = { line, character: text.length };
    return { text, range: { end } };
  }
  validateRange(range: Range): Range {
    return range;
  }
  /** What the user types. */
  type(text: string): void {
    this.#text = text;
    this.isDirty = true;
    this.version += 1;
    events.changed.fire({ document: this });
  }
  replace(range: Range, text: string): void {
    const lines = this.#text.split("\n");
    const put = text.split("\n").slice(0, -1);
    lines.splice(range.start.line, range.end.line - range.start.line, ...put);
    this.type(lines.join("\n"));
  }
  async save(): Promise<boolean> {
    writeFileSync(this.uri.path, this.#text);
    this.isDirty = false;
    events.saved.fire(this);
    return true;
  }
}

export interface Provider {
  getChildren(node?: unknown): Promise<unknown[]> | unknown[];
  getTreeItem(node: unknown): TreeItem;
}

const events = {
  changed: new EventEmitter<{ document: TextDocument }>(),
  saved: new EventEmitter<TextDocument>(),
  trusted: new EventEmitter<void>(),
};

/** What the editor shows, and how a test answers it. */
export const editor = {
  views: new Map<string, Provider>(),
  view: new Map<string, { message?: string; description?: string; title?: string }>(),
  contexts: new Map<string, unknown>(),
  commands: new Map<string, (...given: unknown[]) => unknown>(),
  executed: [] as { command: string; given: unknown[] }[],
  said: [] as string[],
  /** The button or the item that is pressed next, by a part of the text that asks. */
  presses: [] as { at: RegExp; press: string }[],
  statusBar: [] as { text: string; isShown: boolean; tooltip?: string }[],
  decorations: [] as unknown[][],
  originals: null as null | { provideOriginalResource(uri: Uri): Uri | undefined },
  settings: new Map<string, unknown>(),
  files: null as null | { readFile(uri: Uri): Promise<Uint8Array> },
  clipboard: "",
  trust(): void {
    workspace.isTrusted = true;
    events.trusted.fire();
  },
};

function pressed(text: string, choices: readonly string[]): string | undefined {
  const index = editor.presses.findIndex(({ at, press }) => at.test(text) && choices.includes(press));
  return index < 0 ? undefined : editor.presses.splice(index, 1)[0]?.press;
}

function say(text: string, ...given: unknown[]): Promise<string | undefined> {
  editor.said.push(text);
  return Promise.resolve(
    pressed(
      text,
      given.filter((one) => typeof one === "string"),
    ),
  );
}

const nothing = () => new Disposable(() => {});

export const window = {
  activeTextEditor: undefined as unknown,
  visibleTextEditors: [] as unknown[],
  tabGroups: { activeTabGroup: { activeTab: undefined as unknown }, all: [] as { tabs: object[] }[] },
  showInformationMessage: say,
  showWarningMessage: say,
  showErrorMessage: say,
  showInputBox: ({ title }: { title: string }) =>
    Promise.resolve(editor.presses.find(({ at }) => at.test(title))?.press),
  showQuickPick: (items: { label: string }[], { title }: { title: string }) => {
    const label = pressed(
      title,
      items.map((item) => item.label),
    );
    return Promise.resolve(items.find((item) => item.label === label));
  },
  createTreeView: (id: string, { treeDataProvider }: { treeDataProvider: Provider }) => {
    const view = {
      visible: true,
      selection: [],
      reveal: () => Promise.resolve(),
      onDidChangeVisibility: nothing,
      dispose: () => {},
    };
    editor.views.set(id, treeDataProvider);
    editor.view.set(id, view as object);
    return view;
  },
  createTerminal: (options: object) => ({
    show: () => {},
    sendText: (text: string) => void editor.executed.push({ command: "terminal", given: [options, text] }),
  }),
  createStatusBarItem: () => {
    const item = {
      text: "",
      isShown: false,
      show: () => void (item.isShown = true),
      hide: () => void (item.isShown = false),
      dispose: () => {},
    };
    editor.statusBar.push(item);
    return item;
  },
  createTextEditorDecorationType: () => ({ dispose: () => {} }),
  withProgress: (_: unknown, work: (progress: object, cancelled: object) => Promise<unknown>) =>
    work({ report: () => {} }, { onCancellationRequested: () => {} }),
  showTextDocument: () => Promise.resolve(),
  onDidChangeVisibleTextEditors: nothing,
};

export const workspace = {
  workspaceFolders: [] as { uri: Uri; name: string }[],
  isTrusted: true,
  textDocuments: [] as TextDocument[],
  notebookDocuments: [] as TextDocument[],
  getConfiguration: () => ({ get: (key: string, other: unknown) => editor.settings.get(key) ?? other }),
  registerFileSystemProvider: (_: string, provider: { readFile(uri: Uri): Promise<Uint8Array> }) => {
    editor.files = provider;
    return nothing();
  },
  openTextDocument: (uri: Uri) => {
    editor.executed.push({ command: "open", given: [uri] });
    const known = workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (known || uri.scheme !== "file") return Promise.resolve(known);
    const opened = new TextDocument(uri);
    workspace.textDocuments.push(opened);
    return Promise.resolve(opened);
  },
  applyEdit: async ({ edits }: WorkspaceEdit) => {
    for (const { uri, range, text } of edits) (await workspace.openTextDocument(uri))?.replace(range, text);
    return true;
  },
  save: (_: Uri) => Promise.resolve(undefined),
  asRelativePath: (uri: Uri) => uri.path,
  onDidChangeTextDocument: events.changed.event,
  onDidSaveTextDocument: events.saved.event,
  onDidChangeWorkspaceFolders: nothing,
  onDidGrantWorkspaceTrust: events.trusted.event,
  onDidChangeConfiguration: nothing,
};

export const commands = {
  registerCommand: (command: string, run: (...given: unknown[]) => unknown) => {
    editor.commands.set(command, run);
    return nothing();
  },
  executeCommand: async (command: string, ...given: unknown[]) => {
    if (command === "setContext") return void editor.contexts.set(given[0] as string, given[1]);
    editor.executed.push({ command, given });
    return editor.commands.get(command)?.(...given);
  },
};

export const scm = {
  createSourceControl: () => ({
    inputBox: { visible: true },
    set quickDiffProvider(provider: { provideOriginalResource(uri: Uri): Uri | undefined }) {
      editor.originals = provider;
    },
    dispose: () => void (editor.originals = null),
  }),
};

export const env = { clipboard: { writeText: async (text: string) => void (editor.clipboard = text) } };
