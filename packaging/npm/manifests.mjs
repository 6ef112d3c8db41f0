// Writes the package.json of what is published to npm.
//
//   manifests.mjs platform VERSION OS CPU                  of the package that holds the program for a platform
//   manifests.mjs main VERSION PLATFORM... <package.json   of the package that people name, from the client's own
//   manifests.mjs plugin VERSION PLATFORM... <package.json of an agent's plugin, from its own
//
// A PLATFORM is OS-CPU. Only those with a program are named: a package that nobody publishes could be anybody's.
//
// The repository's own package.json names no platform's package: who builds the client from a clone shall not be given whatever has
// that name in a registry.
import { readFileSync } from "node:fs";

const [kind, version, ...rest] = process.argv.slice(2);
const kinds = { platform: () => platform(...rest), main: () => main(read()), plugin: () => withPrograms(read()) };
const manifest = kinds[kind]();
process.stdout.write(JSON.stringify(manifest, null, 2) + "\n");

function platform(os, cpu) {
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
  return { ...manifest, version, optionalDependencies: Object.fromEntries(rest.map((name) => [`ckpt-hook-${name}`, version])) };
}

function main({ devDependencies, scripts, ...client }) {
  return withPrograms({
    ...client,
    bin: { "ckpt-hook": "bin/ckpt-hook.js" },
    files: [...client.files, "bin", "NOTICE"],
  });
}
