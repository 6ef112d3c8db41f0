// Documents `ckpt-hook:`: files as they were, or as a plan would leave them. They can be read, and nothing else.

import { readFile } from "node:fs/promises";
import type { Content, PathText } from "ckpt-hook";
import * as vscode from "vscode";
import { type Origin, parseQuery, pathOf, type Query, queryText, type Source } from "../decide/changes.js";
import type { Workspace } from "./workspace.js";

export const SCHEME = "ckpt-hook";

/** How many documents are kept, so that reading one again does not ask the server. */
const KEPT = 200;

export class Documents implements vscode.FileSystemProvider {
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  readonly #kept = new Map<string, Promise<Uint8Array>>();
  #planned = new Map<string, Uint8Array>();
  #number = 0;

  constructor(private readonly workspace: Workspace) {}

  /** Returns the address of a file's state. */
  uri({ path, path_hex }: PathText, source: Source, origin: Origin = {}): vscode.Uri {
    const query: Query = { ...source, ...origin, ...(path_hex !== null && { hex: path_hex }) };
    return vscode.Uri.from({ scheme: SCHEME, path: `/${path}`, query: queryText(query) });
  }

  /** Returns the address of a text that a plan gave. The texts of earlier plans are let go of with `forget`. */
  text(path: PathText, text: string | Uint8Array): vscode.Uri {
    const key = String((this.#number += 1));
    this.#planned.set(key, typeof text === "string" ? Buffer.from(text) : text);
    return this.uri(path, { planned: key });
  }

  forget(): void {
    this.#planned = new Map();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const { length } = await this.readFile(uri);
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: 0,
      size: length,
      permissions: vscode.FilePermission.Readonly,
    };
  }

  readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const key = uri.toString();
    const kept = this.#kept.get(key);
    if (kept) return kept;
    const read = this.#read(uri);
    this.#kept.set(key, read);
    read.catch(() => this.#kept.delete(key));
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return read;
  }

  async #read(uri: vscode.Uri): Promise<Uint8Array> {
    const query = parseQuery(uri.query);
    if (!query) throw vscode.FileSystemError.FileNotFound(uri);
    if ("nothing" in query) return new Uint8Array();
    if ("blob" in query) return this.workspace.client.contents(query.blob, { workspace: query.root ?? null });
    if ("before" in query) return this.#before(query.before, pathOf(uri, query), query.root);
    const planned = this.#planned.get(query.planned);
    if (!planned) throw vscode.FileSystemError.FileNotFound(uri);
    return planned;
  }

  /** Returns a file as it was just before a message. What has not changed since is what is on disk now. */
  async #before(message: string, path: PathText, root?: string): Promise<Uint8Array> {
    const { client } = this.workspace;
    const workspace = root ?? null;
    const { files } = await client.request("patch", { from: message, paths: [path], workspace });
    const change = files.find((file) => file.path === path.path && file.path_hex === path.path_hex);
    if (change) return change.old_blob === null ? new Uint8Array() : client.contents(change.old_blob, { workspace });
    const file = this.workspace.file(path, root);
    return file ? readFile(file.fsPath) : new Uint8Array();
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  readonly createDirectory = refuse;
  readonly writeFile = refuse;
  readonly delete = refuse;
  readonly rename = refuse;
}

function refuse(uri: vscode.Uri): never {
  throw vscode.FileSystemError.NoPermissions(uri);
}

/** The bytes of a content of a document; nothing if they were left out. */
export function bytesOf(content: Content): Uint8Array | undefined {
  return content.text === null ? undefined : Buffer.from(content.text, content.encoding);
}
