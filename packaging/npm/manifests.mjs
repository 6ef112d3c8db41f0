// Writes the package.json of what is published to npm.
//
//   manifests.mjs platform VERSION OS CPU      of the package that holds the program for a platform
//   manifests.mjs main VERSION <package.json   of the package that people name, from the client's own
//   manifests.mjs plugin VERSION <package.json of an agent's plugin, from its own
//
// The repository's own package.json names no platform's package: who builds the client from a clone shall not be given whatever has
// that name in a registry.
import { readFileSync } from "node:fs";

const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

const [kind, version, os, cpu] = process.argv.slice(2);
const kinds = { platform, main: () => main(read()), plugin: () => withPrograms(read()) };
const manifest = kinds[kind]();
process.stdout.write(JSON.stringify(manifest, null, 2) + "\n");

function platform() {
  return {
    name: `ckpt-hook-${os}-${cpu}`,
    version,
    description: `The program ckpt-hook for ${os} on ${cpu}; install the package ckpt-hook`,
    license: "MIT OR Apache-2.0",
    os: [os],
    cpu: [cpu],
    preferUnplugged: true,
    files: ["bin", "LICENSE-*", "NOTICE"],
  };
}

function read() {
  return JSON.parse(readFileSync(0, "utf8"));
}

function withPrograms(manifest) {
  return { ...manifest, version, optionalDependencies: Object.fromEntries(platforms.map((name) => [`ckpt-hook-${name}`, version])) };
}

function main({ devDependencies, scripts, ...client }) {
  return withPrograms({
    ...client,
    bin: { "ckpt-hook": "bin/ckpt-hook.js" },
    files: [...client.files, "bin", "NOTICE"],
  });
}
