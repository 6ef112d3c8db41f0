#!/usr/bin/env node
// Becomes the program that the platform's package brought along.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const platform = `ckpt-hook-${process.platform}-${process.arch}`;

let program;
try {
  program = createRequire(import.meta.url).resolve(`${platform}/bin/ckpt-hook`);
} catch {
  console.error(`error: there is no ckpt-hook for this machine: the package ${platform} is not installed
hint: npm leaves out packages for other platforms, and all optional ones with --omit=optional; on Windows, use WSL`);
  process.exit(4);
}

// The terminal sends Ctrl-C to both; what it means is for the program to say.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const { error, signal, status } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`error: ${program} cannot be started\ncaused by: ${error.message}`);
  process.exit(4);
}
process.exit(signal ? 128 + constants.signals[signal] : status);
