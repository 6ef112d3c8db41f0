// Where the binary is.

import { accessSync, constants, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { BinaryNotFoundError } from "./errors.js";

/**
 * Returns the path of the binary: `$CKPT_HOOK_BINARY`, else the one that the platform's package brings (`ckpt-hook-linux-x64` and the
 * like), else `ckpt-hook` on the PATH.
 *
 * @throws BinaryNotFoundError if there is none.
 */
export function findBinary(environment: NodeJS.ProcessEnv = process.env): string {
  const found = environment["CKPT_HOOK_BINARY"] || fromPackage() || fromPath(environment["PATH"] ?? "");
  if (!found) {
    throw new BinaryNotFoundError(
      `there is no ckpt-hook in $CKPT_HOOK_BINARY, in the package ${platformPackage()} or on the PATH`,
    );
  }
  return found;
}

function platformPackage(): string {
  return `ckpt-hook-${process.platform}-${process.arch}`;
}

function fromPackage(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${platformPackage()}/bin/ckpt-hook`);
  } catch {
    return undefined;
  }
}

function fromPath(path: string): string | undefined {
  const candidates = path.split(delimiter).filter(Boolean);
  return candidates.map((directory) => join(directory, "ckpt-hook")).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
