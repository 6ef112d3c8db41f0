// What is published to npm, and what the program's finder says where there is no program. `.ci/clients` runs it.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

const here = import.meta.dirname;

function manifest(args, input = { name: "ckpt-hook", files: ["dist"], scripts: {}, devDependencies: {} }) {
  const text = execFileSync(process.execPath, [path.join(here, "manifests.mjs"), ...args], { input: JSON.stringify(input) });
  return JSON.parse(text);
}

test("only the platforms that have a program are named", () => {
  for (const kind of ["main", "plugin"]) {
    const { optionalDependencies } = manifest([kind, "1.2.3", "linux-x64", "linux-arm64"]);
    assert.deepEqual(optionalDependencies, { "ckpt-hook-linux-x64": "1.2.3", "ckpt-hook-linux-arm64": "1.2.3" }, kind);
  }
  const { name, os, cpu } = manifest(["platform", "1.2.3", "linux", "arm64"]);
  assert.deepEqual([name, os, cpu], ["ckpt-hook-linux-arm64", ["linux"], ["arm64"]]);
});

test("without a program, the error says what to do on this platform", (context) => {
  const folder = mkdtempSync(path.join(tmpdir(), "ckpt-npm."));
  context.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(path.join(folder, "bin"));
  cpSync(path.join(here, "bin/ckpt-hook.js"), path.join(folder, "bin/ckpt-hook.js"));
  const own = { type: "module", ...manifest(["main", "1.2.3", "linux-x64"]) };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(own));
  for (const [platform, arch, said] of [
    ["linux", "x64", /ckpt-hook-linux-x64 is not installed\nhint: .*--omit=optional/],
    ["darwin", "arm64", /no program for macOS yet\nhint: `cargo install ckpt-hook` builds one/],
    ["freebsd", "x64", /no program for freebsd on x64 yet\nhint: `cargo install/],
    ["win32", "x64", /hint: run this in WSL/],
  ]) {
    const pretend = `Object.defineProperties(process, { platform: { value: "${platform}" }, arch: { value: "${arch}" } });`;
    const run = spawnSync(
      process.execPath,
      ["--import", `data:text/javascript,${encodeURIComponent(pretend)}`, path.join(folder, "bin/ckpt-hook.js")],
      { encoding: "utf8" },
    );
    assert.equal(run.status, 4, run.stderr);
    assert.match(run.stderr, said);
  }
});
