// The folder of a window that is followed: its program, its server, and its files.

import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join, relative } from "node:path";
import { type ApplyParameters, type CallOptions, Client, type OperationReport, type PathText } from "ckpt-hook";
import * as vscode from "vscode";
import {
  candidates,
  environment,
  isInside,
  type Place,
  placeIn,
  realPath,
  realPlace,
  type Search,
} from "../decide/places.js";
import { EMPTY, Follower, type History } from "../follower.js";

export type State = "none" | "missing" | "starting" | "ended" | "empty" | "ready";

const METHODS = ["blame", "patch", "plan", "apply", "undo", "timeline"];

export class Workspace implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  folder: vscode.WorkspaceFolder | undefined;
  follower: Follower | null = null;
  binary: string | null = null;
  #started = Promise.resolve();
  #isOver = false;

  constructor(private readonly extension: string) {}

  get state(): State {
    if (!this.folder) return "none";
    if (this.binary === null) return "missing";
    if (this.follower?.trouble) return "ended";
    if (!this.follower?.client) return "starting";
    if (this.history.entries.length > 0) return "ready";
    return this.history.status === null && this.follower.can("status") ? "starting" : "empty";
  }

  get history(): History {
    return this.follower?.history ?? EMPTY;
  }

  /** The server; an error in words if there is none. */
  get client(): Client {
    const client = this.follower?.client;
    if (client) return client;
    throw new Error(this.follower?.trouble ?? (this.folder ? "ckpt-hook is not running here" : "open a folder first"));
  }

  /** Carries out a plan, once, whatever becomes of the server. */
  async apply(asked: ApplyParameters, options?: CallOptions): Promise<OperationReport> {
    // In words, if there is none to begin with.
    void this.client;
    return (this.follower as Follower).apply(asked, options);
  }

  get folders(): vscode.WorkspaceFolder[] {
    return (vscode.workspace.workspaceFolders ?? []).filter((folder) => folder.uri.scheme === "file");
  }

  /** Starts the server of a folder; of the one that was followed, or the first, if none is given. One start follows the other. */
  start(folder?: vscode.WorkspaceFolder): Promise<void> {
    this.#started = this.#started.then(() => this.#start(folder));
    return this.#started;
  }

  async #start(folder?: vscode.WorkspaceFolder): Promise<void> {
    await this.#stop();
    if (this.#isOver) return;
    const known = this.folders.find((one) => one.uri.toString() === (folder ?? this.folder)?.uri.toString());
    this.folder = known ?? this.folders[0];
    this.binary = candidates(this.#search).find(isProgram) ?? null;
    if (this.folder && this.binary !== null) {
      const directory = this.folder.uri.fsPath;
      const binary = this.binary;
      const { env } = this;
      this.follower = new Follower(
        () => connect(binary, directory, env),
        () => this.#tell(),
      );
      this.#tell();
      await this.follower.begin();
    }
    this.#tell();
  }

  /** The variables for the program. */
  get env(): NodeJS.ProcessEnv {
    return environment(process.env, this.#search);
  }

  get #search(): Search {
    return {
      setting: vscode.workspace.getConfiguration("ckpt-hook").get<string>("path", ""),
      path: process.env["PATH"] ?? "",
      delimiter,
      home: homedir(),
      extension: this.extension,
      folders: this.folders.map((folder) => folder.uri.fsPath),
      isTrusted: vscode.workspace.isTrusted,
      real: realPath,
    };
  }

  #tell(): void {
    const set = (key: string, value: unknown) =>
      void vscode.commands.executeCommand("setContext", `ckpt-hook.${key}`, value);
    set("state", this.state);
    set("canRedo", this.history.status?.redo ?? false);
    for (const method of METHODS) set(`can.${method}`, this.follower?.can(method) ?? false);
    this.#changed.fire();
  }

  /** The server's own directory. */
  get root(): string {
    return this.history.status?.workspace ?? realPath(this.folder?.uri.fsPath ?? "/");
  }

  /** The directories of the history, the server's own first, and the folders of the window that are in none of them. */
  get #roots(): string[] {
    const others = this.history.entries.flatMap((entry) => (entry.type === "message" ? (entry.roots ?? []) : []));
    const roots = [this.root, ...new Set(others.map(({ workspace }) => workspace))];
    const folders = this.folders.map(({ uri }) => realPath(uri.fsPath));
    return [...roots, ...folders.filter((folder) => !roots.some((root) => isInside(root, folder)))];
  }

  /** Returns a file on disk, as the window names it. */
  file({ path, path_hex }: PathText, root = this.root): vscode.Uri | undefined {
    if (path_hex !== null) return undefined;
    const real = join(root, path);
    for (const { uri } of this.folders) {
      const folder = realPath(uri.fsPath);
      if (isInside(folder, real)) return vscode.Uri.joinPath(uri, relative(folder, real));
    }
    return vscode.Uri.file(real);
  }

  /** Returns where a file of the window is, by whatever links it was opened. */
  place(uri: vscode.Uri): Place | undefined {
    return this.folder && uri.scheme === "file" ? placeIn(this.#roots, realPath(uri.fsPath)) : undefined;
  }

  /**
   * What is unsaved, by its real path, with what saves it: texts, notebooks, what other editors hold, and new files that have a path. Of a
   * link, its own path counts as well as that of the file.
   */
  get unsaved(): Map<string, () => Thenable<unknown>> {
    const unsaved = new Map<string, () => Thenable<unknown>>();
    const add = ({ scheme, fsPath }: vscode.Uri, save: () => Thenable<unknown>) => {
      if ((scheme !== "file" && scheme !== "untitled") || !isAbsolute(fsPath)) return;
      for (const path of [realPath(fsPath), realPlace(fsPath)]) if (!unsaved.has(path)) unsaved.set(path, save);
    };
    for (const document of [...vscode.workspace.textDocuments, ...vscode.workspace.notebookDocuments])
      if (document.isDirty) add(document.uri, () => document.save());
    for (const tab of vscode.window.tabGroups.all.flatMap((group) => group.tabs)) {
      const { uri } = (tab.input ?? {}) as { uri?: unknown };
      if (tab.isDirty && uri instanceof vscode.Uri) add(uri, () => vscode.workspace.save(uri));
    }
    return unsaved;
  }

  async #stop(): Promise<void> {
    const follower = this.follower;
    this.follower = null;
    await follower?.end();
  }

  /** Ends the server, once it has answered what it was asked. */
  end(): Promise<void> {
    this.#isOver = true;
    this.#started = this.#started.then(() => this.#stop());
    return this.#started;
  }

  dispose(): void {
    void this.end();
    this.#changed.dispose();
  }
}

/** Starts a server in the workspace that a folder is in: paths of documents are below it, and those of requests below the server's. */
async function connect(binary: string, directory: string, env: NodeJS.ProcessEnv): Promise<Client> {
  const client = await Client.start({ binary, workspace: directory, env });
  const { workspace } = client.server.methods.includes("status")
    ? await client.request("status", {})
    : { workspace: realPath(directory) };
  if (workspace === realPath(directory)) return client;
  await client.close();
  return Client.start({ binary, workspace, env });
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
