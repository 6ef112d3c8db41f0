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
  const own = createRequire(import.meta.url)("../package.json").optionalDependencies;
  if (platform in own) {
    console.error(`error: the package ${platform} is not installed
hint: npm leaves out optional packages with --omit=optional`);
  } else if (process.platform === "win32") {
    console.error(`error: ckpt-hook does not run on Windows natively
hint: run this in WSL`);
  } else {
    console.error(`error: there is no program for ${process.platform === "darwin" ? "macOS" : `${process.platform} on ${process.arch}`} yet
hint: \`cargo install ckpt-hook\` builds one`);
  }
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
