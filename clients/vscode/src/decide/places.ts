// Where things are: the program, and the files of a workspace.

import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { PathText } from "ckpt-hook";

/** What the search for the program needs. */
export interface Search {
  /** The setting, if it is set. */
  setting: string;
  /** `$PATH`, and what separates its entries. */
  path: string;
  delimiter: string;
  home: string;
  /** The folder of this extension. */
  extension: string;
  /** The folders of the window, of which nothing is started unless they are trusted. */
  folders: readonly string[];
  isTrusted: boolean;
  /** Returns a path without links. */
  real(path: string): string;
}

/** Whether a program may be started, or looked for in a folder. A relative path would be one of the workspace. */
function may({ folders, isTrusted, real }: Search, path: string): boolean {
  const isOfWorkspace = () => folders.some((folder) => isInside(folder, path) || isInside(real(folder), real(path)));
  return isAbsolute(path) && (isTrusted || !isOfWorkspace());
}

/** The folders in which a program is looked for, ours as well as those that it starts. */
export function searchPath(search: Search): string[] {
  return search.path.split(search.delimiter).filter((folder) => may(search, folder));
}

/** The places of the program, in order: the setting, the PATH, the package. The setting alone counts, if it is set. */
export function candidates(search: Search): string[] {
  const setting = search.setting.trim().replace(/^~(?=\/|$)/, search.home);
  const folders = [...searchPath(search), join(search.extension, "bin")];
  const all = setting === "" ? folders.map((folder) => join(folder, "ckpt-hook")) : [setting];
  return all.filter((path) => may(search, path));
}

export function isInside(folder: string, path: string): boolean {
  const rest = relative(resolve(folder), resolve(path));
  return rest === "" || (!isAbsolute(rest) && rest !== ".." && !rest.startsWith(`..${sep}`));
}

/** A file, and the directory that it is in, if that is not the server's own. */
export interface Place {
  root: string | null;
  path: PathText;
}

/** Returns where a file is, below the innermost of some directories, of which the server's own is the first. All are real paths. */
export function placeIn(roots: readonly string[], file: string): Place | undefined {
  const around = roots.filter((root) => root !== file && isInside(root, file));
  const [root] = around.sort((one, other) => other.length - one.length);
  if (root === undefined) return undefined;
  const path = relative(root, file).split(sep).join("/");
  return { root: root === roots[0] ? null : root, path: { path, path_hex: null } };
}

/** The variables for the program: without those by which an agent tells a program that it runs in a conversation. */
export function environment(given: NodeJS.ProcessEnv, search: Search): NodeJS.ProcessEnv {
  const { CLAUDE_PROJECT_DIR: _, ...rest } = given;
  return { ...rest, PATH: searchPath(search).join(search.delimiter) };
}

/** Returns a path without links. What is not there is below something that may be. */
export function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return dirname(path) === path ? path : realPlace(path);
  }
}

/** Returns a path whose folder has no links. */
export function realPlace(path: string): string {
  return join(realPath(dirname(path)), basename(path));
}
