// Where things are: the program, and the files of a workspace.

import { isAbsolute, join, relative, resolve, sep } from "node:path";

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
}

/** The places of the program, in order: the setting, the PATH, the package. The setting alone counts, if it is set. */
export function candidates(search: Search): string[] {
  const isOfWorkspace = (path: string) => search.folders.some((folder) => isInside(folder, path));
  const may = (path: string) => isAbsolute(path) && (search.isTrusted || !isOfWorkspace(path));
  const setting = search.setting.trim().replace(/^~(?=\/|$)/, search.home);
  if (setting !== "") return [setting].filter(may);
  // A relative entry would be one of the workspace.
  const onPath = search.path
    .split(search.delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, "ckpt-hook"));
  return [...onPath, join(search.extension, "bin", "ckpt-hook")].filter(may);
}

export function isInside(folder: string, path: string): boolean {
  const rest = relative(resolve(folder), resolve(path));
  return rest === "" || (!isAbsolute(rest) && rest !== ".." && !rest.startsWith(`..${sep}`));
}

/** Returns a file's path in the workspace, with `/`; undefined for one outside. Both are real paths. */
export function inWorkspace(root: string, file: string): string | undefined {
  if (file === root || !isInside(root, file)) return undefined;
  return relative(root, file).split(sep).join("/");
}

/** The variables for the program: without those by which an agent tells a program that it runs in a conversation. */
export function environment(given: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { CLAUDE_PROJECT_DIR: _, ...rest } = given;
  return rest;
}
