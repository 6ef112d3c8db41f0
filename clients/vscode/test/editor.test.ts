// The extension with a made-up editor and the real program: what is pressed, and what becomes of the files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { World } from "../../typescript/test/world.js";
import { activate, deactivate } from "../src/editor/extension.js";
import type { Node } from "../src/decide/tree.js";
import {
  editor,
  type Provider,
  TabInputTextDiff,
  type TextDocument,
  type TreeItem,
  Uri,
  window,
  workspace,
} from "./vscode.js";

const SESSION = "0a0a0a0a-0000-4000-8000-000000000001";
const CHAIN = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"].map((line) => `${line}\n`);

class Desk {
  readonly world: World;
  readonly #context = { extensionPath: "/nowhere", subscriptions: [] as { dispose(): void }[] };

  constructor(world: World) {
    this.world = world;
  }

  async open(folders = [this.world.workspace], program = this.world.env.CKPT_HOOK_BINARY): Promise<void> {
    editor.settings.set("path", program);
    workspace.workspaceFolders = folders.map((path) => ({
      uri: Uri.file(path),
      name: path.slice(path.lastIndexOf("/") + 1),
    }));
    await activate(this.#context as never);
  }

  run(command: string, ...given: unknown[]): Promise<unknown> {
    return Promise.resolve(editor.commands.get(`ckpt-hook.${command}`)?.(...given));
  }

  async document(name: string): Promise<TextDocument> {
    const document = await workspace.openTextDocument(Uri.file(`${this.world.workspace}/${name}`));
    assert.ok(document);
    return document;
  }

  async items(view: "messages" | "plan", node?: unknown): Promise<{ node: unknown; item: TreeItem }[]> {
    const provider = editor.views.get(`ckpt-hook.${view}`) as Provider;
    const nodes = await provider.getChildren(node);
    return nodes.map((one) => ({ node: one, item: provider.getTreeItem(one) }));
  }

  async message(prompt: string): Promise<Node> {
    const found = (await this.items("messages")).find(({ item }) => item.label === prompt);
    assert.ok(found, `there is a row “${prompt}”`);
    return found.node as Node;
  }

  /** The rows of the files in the plan, by their names. */
  async planned(): Promise<Map<string, { node: unknown; item: TreeItem }>> {
    const groups = (await this.items("plan")).filter(({ item }) => item.collapsibleState === 2);
    const rows = await Promise.all(groups.map(({ node }) => this.items("plan", node)));
    return new Map(rows.flat().map((row) => [row.item.label, row]));
  }

  async labels(): Promise<string[]> {
    return (await this.items("plan")).map(({ item }) => item.label);
  }

  /** Resolves once a condition holds: the server tells within moments. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  close(): void {
    for (const one of this.#context.subscriptions) one.dispose?.();
  }
}

async function atDesk(rule: (desk: Desk, world: World) => Promise<void>): Promise<void> {
  const world = new World();
  const env = { ...process.env };
  Object.assign(process.env, world.env);
  for (const kept of [editor.views, editor.view, editor.contexts, editor.commands, editor.settings]) kept.clear();
  Object.assign(editor, {
    executed: [],
    said: [],
    presses: [],
    statusBar: [],
    decorations: [],
    originals: null,
    clipboard: "",
  });
  Object.assign(workspace, { isTrusted: true, textDocuments: [], notebookDocuments: [] });
  Object.assign(window, { activeTextEditor: undefined, visibleTextEditors: [] });
  window.tabGroups.activeTabGroup.activeTab = undefined;
  window.tabGroups.all = [];
  const desk = new Desk(world);
  try {
    await rule(desk, world);
  } finally {
    desk.close();
    await deactivate();
    // The object itself is the environment: with another one, the home stays that of the test.
    Object.assign(process.env, env);
    await world[Symbol.asyncDispose]();
  }
}

/** An agent's message changed the first and the last line of a file, and the user one in between. */
function play(world: World): void {
  world.write("a.txt", CHAIN.join(""));
  world.play("m1", "spell it out", "a.txt", CHAIN.join("").replace("2\n", "two\n").replace("11\n", "eleven\n"));
  world.write("a.txt", world.read("a.txt").replace("6\n", "six\n"));
}

/** Opens a document of ours, as a diff does. */
async function shown(uri: Uri): Promise<Uri> {
  const text = Buffer.from((await editor.files?.readFile(uri)) ?? []).toString().split("\n");
  const lineAt = (line: number) => ({ text: text[line] });
  workspace.textDocuments.push({ uri, lineCount: text.length, lineAt } as unknown as TextDocument);
  return uri;
}

test("a message is reverted after its plan was seen, and undone", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    await desk.run("revertTo", await desk.message("spell it out"));
    assert.equal(editor.contexts.get("ckpt-hook.planning"), true);
    assert.match(world.read("a.txt"), /two/, "nothing was changed yet");
    assert.equal((await desk.planned()).get("a.txt")?.item.description, "merged: only the agent's lines go · +2 −2");
    editor.presses.push({ at: /^Went back/, press: "Undo" });
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join("").replace("6\n", "six\n"));
    assert.match(editor.said.join("\n"), /Went back to before “spell it out”: 1 file changed\./);
    assert.deepEqual(
      editor.statusBar.map((item) => item.isShown),
      [true, true, true],
    );
    assert.match(editor.statusBar[0]?.text ?? "", /1 message hidden/);
    // The button of the notification plans the undo.
    await desk.until(async () => (await desk.labels())[0] === "Change 1 file");
    assert.equal(editor.view.get("ckpt-hook.plan")?.title, "Undo: Reverted to before “spell it out”");
    const button = editor.executed.find(({ command }) => command === "ckpt-hook.undo");
    await desk.run("apply");
    assert.match(world.read("a.txt"), /two/);
    assert.equal(editor.contexts.get("ckpt-hook.planning"), false);
    // The notification still stands there.
    await desk.run("undo", ...(button?.given ?? []));
    assert.match((await desk.labels()).join("\n"), /More was done since that notification/);
  }));

test("unsaved text is named and never overwritten", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const document = await desk.document("a.txt");
    await desk.run("revertTo", await desk.message("spell it out"));
    document.type(document.getText().replace("9\n", "nine\n"));
    assert.match((await desk.labels()).join("\n"), /1 file with unsaved text in the editor: a\.txt/);
    const before = world.read("a.txt");
    await desk.run("apply");
    assert.equal(world.read("a.txt"), before, "without an answer, nothing happens");
    assert.equal(document.isDirty, true);
    assert.match(editor.said.join("\n"), /Unsaved text .*a\.txt/);
    editor.presses.push({ at: /^Unsaved/, press: "Save and Plan Again" });
    await desk.run("apply");
    assert.match((await desk.labels()).join("\n"), /What you saved counts as yours/);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join("").replace("6\n", "six\n").replace("9\n", "nine\n"));
  }));

test("what an editor of another kind holds unsaved is named, too", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const input = { uri: Uri.file(`${world.workspace}/a.txt`) };
    window.tabGroups.all = [{ tabs: [{ isDirty: true, input }] }];
    await desk.run("revertTo", await desk.message("spell it out"));
    assert.match((await desk.labels()).join("\n"), /unsaved text in the editor: a\.txt/);
    const before = world.read("a.txt");
    await desk.run("apply");
    assert.equal(world.read("a.txt"), before);
  }));

test("unsaved text is named however its file was opened", () =>
  atDesk(async (desk, world) => {
    const names = ["made.txt", "book.ipynb", "target.txt", "gone.txt"];
    world.write("gone.txt", "here\n");
    world.event("user_message", "m1", { prompt: "make" });
    world.begin("m1");
    for (const name of names.slice(0, 3)) world.write(name, "made\n");
    unlinkSync(`${world.workspace}/gone.txt`);
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    symlinkSync(`${world.workspace}/target.txt`, `${world.scratch}/link.txt`);
    await desk.open();
    // An editor of a file that would be removed, a notebook, a link from elsewhere, and a new file that is not saved yet.
    (await desk.document("made.txt")).type("typed\n");
    (await workspace.openTextDocument(Uri.file(`${world.scratch}/link.txt`)))?.type("typed\n");
    const unsaved = (uri: Uri) => ({ isDirty: true, uri, save: async () => true }) as unknown as TextDocument;
    workspace.notebookDocuments = [unsaved(Uri.file(`${world.workspace}/book.ipynb`))];
    workspace.textDocuments.push(unsaved(Uri.from({ scheme: "untitled", path: `${world.workspace}/gone.txt` })));
    await desk.run("revertTo", await desk.message("make"));
    const told = (await desk.labels()).join("\n");
    for (const name of names) assert.match(told, new RegExp(`unsaved text in the editor:.*${name}`));
    await desk.run("apply");
    assert.equal(world.read("made.txt"), "made\n");
  }));

test("what a message did in another directory is seen, planned and reverted", () =>
  atDesk(async (desk, world) => {
    const lib = `${world.scratch}/lib`;
    mkdirSync(lib);
    writeFileSync(`${lib}/l.txt`, CHAIN.join(""));
    world.event("user_message", "m1", { prompt: "both", roots: [lib] });
    world.begin("m1");
    world.write("a.txt", "new\n");
    writeFileSync(`${lib}/l.txt`, CHAIN.join("").replace("2\n", "two\n").replace("11\n", "eleven\n"));
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await desk.open();
    const rows = await desk.items("messages", await desk.message("both"));
    assert.deepEqual(
      rows.map(({ item }) => [item.label, item.description]),
      [
        ["a.txt", "added · +1"],
        ["l.txt", "lib · +2 −2"],
      ],
    );
    await desk.run("showChanges", rows[1]?.node);
    const [left, right] = editor.executed.find(({ command }) => command === "vscode.diff")?.given as [Uri, Uri];
    assert.equal(Buffer.from((await editor.files?.readFile(left)) ?? []).toString(), CHAIN.join(""));
    // An editor beside the followed folder has unsaved text.
    const document = await workspace.openTextDocument(Uri.file(`${lib}/l.txt`));
    document?.type("typed\n");
    await desk.run("revertTo", await desk.message("both"));
    assert.deepEqual([...(await desk.planned()).keys()], ["a.txt", "l.txt"]);
    assert.match((await desk.labels()).join("\n"), /unsaved text in the editor: .*lib\/l\.txt/);
    await desk.run("cancelPlan");
    Object.assign(workspace, { textDocuments: [] });
    // One hunk, the file, and all of it.
    await desk.run("revertHunk", { lineNumber: 2, uri: await shown(right) });
    assert.match(readFileSync(`${lib}/l.txt`, "utf-8"), /1\n2\n[^]*eleven/, editor.said.join("\n"));
    await desk.run("revertFile", rows[1]?.node);
    await desk.run("apply");
    assert.equal(readFileSync(`${lib}/l.txt`, "utf-8"), CHAIN.join(""), editor.said.join("\n"));
    assert.equal(world.read("a.txt"), "new\n");
    for (const _ of ["the file", "the hunk"]) {
      await desk.run("undo");
      await desk.run("apply");
    }
    await desk.run("revertTo", await desk.message("both"));
    await desk.run("apply");
    assert.equal(existsSync(`${world.workspace}/a.txt`), false);
    assert.equal(readFileSync(`${lib}/l.txt`, "utf-8"), CHAIN.join(""));
    assert.match(editor.said.at(-1) ?? "", /Went back to before “both”: 2 files changed\./);
  }));

/** Draws who wrote a file, and returns the links that take a hunk back. */
async function hunkLinks(desk: Desk, document: TextDocument | undefined): Promise<unknown[]> {
  const hovers: string[] = [];
  const setDecorations = (_: unknown, all: { hoverMessage?: { value: string } }[]) =>
    hovers.push(...all.map((one) => one.hoverMessage?.value ?? ""));
  const shown = { document, setDecorations };
  Object.assign(window, { activeTextEditor: shown, visibleTextEditors: [shown] });
  await desk.run("annotate");
  const links = hovers.map((text) => /command:ckpt-hook\.revertHunk\?([^)]*)/.exec(text)?.[1]);
  return links.filter((link) => link !== undefined).map((link) => JSON.parse(decodeURIComponent(link))[0]);
}

test("in another directory, what changed and who wrote it is known", () =>
  atDesk(async (desk, world) => {
    const [lib, late] = ["lib", "late"].map((name) => `${world.scratch}/${name}`) as [string, string];
    for (const folder of [lib, late]) mkdirSync(folder);
    const all = [`${lib}/l.txt`, `${late}/t.txt`];
    for (const file of all) writeFileSync(file, "1\n2\n3\n");
    world.event("user_message", "m1", { prompt: "one", roots: [lib] });
    world.begin("m1");
    writeFileSync(`${lib}/l.txt`, "one\n2\nthree\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("user_message", "m2", { prompt: "two", roots: [lib, late] });
    world.begin("m2");
    writeFileSync(`${late}/t.txt`, "1\n2\nlate\n");
    world.event("tool_finish", "m2", { tool_use_id: "m2", tool_name: "shell" });
    world.event("turn_end", "m2");
    await desk.open();
    await desk.run("changesSince", await desk.message("one"));
    const [, sides] = editor.executed.find(({ command }) => command === "vscode.changes")?.given as [string, Uri[][]];
    assert.deepEqual(sides.map(([, , right]) => right?.path), all);
    for (const [, left] of sides) assert.equal(`${await editor.files?.readFile(left as Uri)}`, "1\n2\n3\n");
    // The last message is compared with in all of its directories.
    for (const [file, text] of [[`${late}/t.txt`, "1\n2\n3\n"], [`${lib}/l.txt`, "one\n2\nthree\n"]] as const) {
      const original = editor.originals?.provideOriginalResource(Uri.file(file));
      assert.equal(`${await editor.files?.readFile(original as Uri)}`, text);
    }
    const links = await hunkLinks(desk, await workspace.openTextDocument(Uri.file(`${lib}/l.txt`)));
    await desk.run("revertHunk", links.at(-1));
    assert.equal(readFileSync(`${lib}/l.txt`, "utf-8"), "one\n2\n3\n", editor.said.join("\n"));
    assert.match(editor.said.at(-1) ?? "", /Reverted one hunk of l\.txt \(“one”\)/);
    await desk.run("revertHunk", { lineNumber: 1, uri: Uri.file(`${lib}/l.txt`) });
    assert.equal(readFileSync(`${lib}/l.txt`, "utf-8"), "1\n2\n3\n", editor.said.join("\n"));
  }));

test("a window on a further directory of the session has all of it", () =>
  atDesk(async (desk, world) => {
    const lib = `${world.scratch}/lib`;
    mkdirSync(lib);
    const files = [`${world.workspace}/a.txt`, `${lib}/l.txt`];
    for (const file of files) writeFileSync(file, "1\n2\n");
    world.event("user_message", "m1", { prompt: "both", roots: [lib] });
    world.begin("m1");
    for (const file of files) writeFileSync(file, "one\n2\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await desk.open([lib]);
    await desk.run("changesSince", await desk.message("both"));
    const [, sides] = editor.executed.find(({ command }) => command === "vscode.changes")?.given as [string, Uri[][]];
    assert.equal(sides.length, 2);
    for (const file of files) {
      const original = editor.originals?.provideOriginalResource(Uri.file(file));
      assert.equal(`${await editor.files?.readFile(original as Uri)}`, "1\n2\n");
    }
    const rows = await desk.items("messages", await desk.message("both"));
    const other = rows.find(({ item }) => item.label === "a.txt");
    await desk.run("revertFile", other?.node);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), "1\n2\n", editor.said.join("\n"));
    await desk.run("revertTo", await desk.message("both"));
    await desk.run("apply");
    assert.equal(readFileSync(`${lib}/l.txt`, "utf-8"), "1\n2\n", editor.said.join("\n"));
  }));

test("a folder in the workspace has its history", () =>
  atDesk(async (desk, world) => {
    assert.equal(spawnSync("git", ["init", "--quiet", world.workspace]).status, 0);
    mkdirSync(`${world.workspace}/src`);
    world.write("src/a.txt", "1\n2\n3\n");
    world.play("m1", "inside", "src/a.txt", "one\n2\nthree\n");
    await desk.open([`${world.workspace}/src`]);
    const original = editor.originals?.provideOriginalResource(Uri.file(`${world.workspace}/src/a.txt`));
    assert.equal(`${await editor.files?.readFile(original as Uri)}`, "1\n2\n3\n");
    const links = await hunkLinks(desk, await desk.document("src/a.txt"));
    await desk.run("revertHunk", links.at(-1));
    assert.equal(world.read("src/a.txt"), "one\n2\n3\n", editor.said.join("\n"));
    const [file] = await desk.items("messages", await desk.message("inside"));
    await desk.run("revertFile", file?.node);
    await desk.run("apply");
    assert.equal(world.read("src/a.txt"), "1\n2\n3\n", editor.said.join("\n"));
  }));

/** Opens the workspace after a folder in which nothing was recorded. */
async function openBesideAnother(desk: Desk, world: World): Promise<void> {
  play(world);
  const other = `${world.scratch}/other`;
  mkdirSync(other);
  await desk.open([other, world.workspace]);
  // Doctor is asked in the background, and reads the store.
  await desk.until(() => /not installed/.test(editor.view.get("ckpt-hook.messages")?.message ?? ""));
}

test("who wrote a file of another folder of the window is known", () =>
  atDesk(async (desk, world) => {
    await openBesideAnother(desk, world);
    const links = await hunkLinks(desk, await desk.document("a.txt"));
    assert.equal(links.length, 2);
    await desk.run("showMessage", (links[0] as { origin: { message: string } }).origin.message);
    assert.match(editor.said.at(-1) ?? "", /of another folder/);
    await desk.run("revertHunk", links.at(-1));
    assert.match(world.read("a.txt"), /two[^]*11/, editor.said.join("\n"));
  }));

test("a stale plan is planned again, and nothing is done", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    await desk.run("revertTo", await desk.message("spell it out"));
    const mine = world.read("a.txt").replace("two\n", "zwei\n");
    world.write("a.txt", mine);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), mine);
    assert.match((await desk.labels()).join("\n"), /Something has changed since the plan was made/);
    assert.match((await desk.planned()).get("a.txt")?.item.description ?? "", /stays/);
    await desk.run("overwrite", (await desk.planned()).get("a.txt")?.node);
    const row = (await desk.planned()).get("a.txt")?.item;
    assert.match(row?.description ?? "", /though changed/);
    assert.match(row?.contextValue ?? "", /keep/);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join(""), "the earlier version was chosen");
  }));

test("one of several files is overwritten, and the others stay", () =>
  atDesk(async (desk, world) => {
    const names = ["a.txt", "b.txt", "c.txt", "d.txt"];
    world.event("user_message", "m1", { prompt: "make" });
    world.begin("m1");
    for (const name of names) world.write(name, "made\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    for (const name of names.slice(1)) world.write(name, "mine\n");
    const there = () => names.map((name) => (existsSync(`${world.workspace}/${name}`) ? world.read(name) : null));
    const on = async (way: string, name: string) => desk.run(way, (await desk.planned()).get(name)?.node);
    const changes = async () => [...(await desk.planned())].filter(([, { item }]) => !/ stays/.test(` ${item.description}`));
    await desk.open();
    await desk.run("revertTo", await desk.message("make"));
    // From the palette, it is asked for which.
    editor.presses.push({ at: /For which file/, press: "b.txt" });
    await desk.run("overwrite");
    await on("overwrite", "c.txt");
    await on("keep", "c.txt");
    assert.deepEqual((await changes()).map(([name]) => name), ["a.txt", "b.txt"]);
    assert.match((await desk.planned()).get("b.txt")?.item.description ?? "", /though/);
    assert.match((await desk.labels()).join("\n"), /hides no message/);
    // Also its parts are just those that were seen.
    world.write("b.txt", "newer\n");
    await desk.run("apply");
    assert.deepEqual(there(), ["made\n", "newer\n", "mine\n", "mine\n"]);
    assert.match((await desk.labels()).join("\n"), /Something has changed since the plan was made/);
    world.write("b.txt", "mine\n");
    await desk.run("planAgain");
    await desk.run("apply");
    assert.deepEqual(there(), [null, null, "mine\n", "mine\n"], editor.said.join("\n"));
    assert.match(editor.said.at(-1) ?? "", /^Went back to before “make”, in part: 2 files changed/);
    await desk.run("undo");
    await desk.run("apply");
    assert.deepEqual(there(), ["made\n", "mine\n", "mine\n", "mine\n"]);
    // Once the last of them is chosen, the whole plan is on these terms, and hides the message.
    await desk.run("revertTo", await desk.message("make"));
    for (const name of ["c.txt", "b.txt", "d.txt"]) await on("overwrite", name);
    assert.match((await desk.labels()).join("\n"), /1 message hidden afterwards/);
    await desk.run("apply");
    assert.deepEqual(there(), [null, null, null, null]);
    // And one of them may stay all the same.
    await desk.run("undo");
    await desk.run("apply");
    await desk.run("revertTo", await desk.message("make"));
    for (const name of ["c.txt", "b.txt", "d.txt"]) await on("overwrite", name);
    await on("keep", "c.txt");
    await desk.run("apply");
    assert.deepEqual(there(), [null, null, "mine\n", null]);
  }));

test("in several directories, one of several files is overwritten", () =>
  atDesk(async (desk, world) => {
    const lib = `${world.scratch}/lib`;
    mkdirSync(lib);
    const files = [`${lib}/a.txt`, `${lib}/b.txt`, `${world.workspace}/a.txt`];
    const merged = [`${lib}/c.txt`, `${lib}/d.txt`];
    for (const file of merged) writeFileSync(file, CHAIN.join(""));
    const make = (text: string) => files.forEach((file) => writeFileSync(file, text));
    world.event("user_message", "m1", { prompt: "make", roots: [lib] });
    world.begin("m1");
    make("the agent's\n");
    for (const file of merged) writeFileSync(file, CHAIN.join("").replace("2\n", "two\n"));
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    make("mine\n");
    for (const file of merged) writeFileSync(file, readFileSync(file, "utf-8").replace("11\n", "mine\n"));
    await desk.open();
    await desk.run("revertTo", await desk.message("make"));
    const rows = async () => {
      const groups = (await desk.items("plan")).filter(({ item }) => item.collapsibleState === 2);
      return (await Promise.all(groups.map(({ node }) => desk.items("plan", node)))).flat();
    };
    const there = () => files.map((file) => (existsSync(file) ? "mine" : ""));
    const row = async (name: string) =>
      (await rows()).find(({ item }) => item.label === name && /^lib/.test(item.description))?.node;
    await desk.run("overwrite", await row("a.txt"));
    await desk.run("keep", await row("c.txt"));
    assert.match((await desk.labels()).join("\n"), /hides no message/);
    await desk.run("apply");
    assert.deepEqual(there(), ["", "mine", "mine"], editor.said.join("\n"));
    assert.deepEqual(
      merged.map((file) => /two/.test(readFileSync(file, "utf-8"))),
      [true, false],
    );
    await desk.run("undo");
    await desk.run("apply");
    assert.deepEqual(there(), ["mine", "mine", "mine"], editor.said.join("\n"));
  }));

/** A program whose first server dies with the plan that it is to carry out, or with the answer; the next one is what `then` says. */
function mortal(world: World, dies: "before" | "after", then = `exec ${world.env.CKPT_HOOK_BINARY} "$@"`): string {
  const [program, died] = [`${world.scratch}/mortal`, `${world.scratch}/died`];
  const server = `
    const server = require("node:child_process").spawn("${world.env.CKPT_HOOK_BINARY}", process.argv.slice(1));
    const end = () => (require("node:fs").writeFileSync("${died}", ""), server.kill(), process.exit(9));
    let isAsked = false;
    process.stdin.on("data", (line) => {
      isAsked ||= String(line).includes('"apply"');
      if (!isAsked || ${dies === "after"}) server.stdin.write(line);
      else end();
    });
    process.stdin.on("end", () => server.stdin.end());
    server.stdout.on("data", (line) => isAsked && String(line).includes('"receipt"') ? end() : process.stdout.write(line));
    server.on("close", () => process.exit());`;
  writeFileSync(`${world.scratch}/mortal.js`, server);
  const first = `exec ${process.execPath} -e "$(cat ${world.scratch}/mortal.js)" -- "$@"`;
  writeFileSync(program, `#!/bin/sh\nif [ -e ${died} ]; then ${then}; fi\n${first}\n`, { mode: 0o755 });
  return program;
}

test("a plan whose server dies is carried out once", async () => {
  for (const dies of ["before", "after"] as const)
    await atDesk(async (desk, world) => {
      play(world);
      await desk.open(undefined, mortal(world, dies));
      await desk.run("revertTo", await desk.message("spell it out"));
      await desk.run("apply");
      assert.equal(existsSync(`${world.scratch}/died`), true);
      assert.match(editor.said.join("\n"), /^Went back to before “spell it out”: 1 file changed\./);
      assert.equal(world.read("a.txt"), CHAIN.join("").replace("6\n", "six\n"));
      const { operations } = await (await world.client()).request("operations", {});
      assert.equal(operations.length, 1);
    });
});

test("whether a plan was carried out is not guessed", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open(undefined, mortal(world, "after", "exit 1"));
    await desk.run("revertTo", await desk.message("spell it out"));
    await desk.run("apply");
    assert.match(editor.said[0] ?? "", /it is unclear whether this was carried out/);
    assert.doesNotMatch(editor.said.join("\n"), /Went back/);
  }));

test("a plan that cannot be made any more is given up", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    await desk.run("revertTo", await desk.message("spell it out"));
    // Another window is faster, and the next message makes that permanent.
    const [message] = await (await world.client()).messages();
    await message?.revert();
    world.event("user_message", "m2", { prompt: "something else" });
    await desk.until(() => editor.contexts.get("ckpt-hook.planning") === false);
    assert.deepEqual(await desk.labels(), []);
  }));

test("a plan that the history overtakes is waited for", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const planned = desk.run("revertTo", await desk.message("spell it out"));
    await new Promise((resolve) => setImmediate(resolve));
    const newer = desk.run("planAgain");
    await planned;
    assert.equal(editor.contexts.get("ckpt-hook.planning"), true);
    assert.equal((await desk.planned()).size, 1);
    await newer;
    assert.deepEqual(editor.said, []);
  }));

test("a plan of another folder is given up", () =>
  atDesk(async (desk, world) => {
    play(world);
    const other = `${world.scratch}/other`;
    mkdirSync(other);
    await desk.open([world.workspace, other]);
    await desk.run("revertTo", await desk.message("spell it out"));
    editor.presses.push({ at: /^The folder/, press: "other" });
    await desk.run("chooseFolder");
    assert.equal(editor.contexts.get("ckpt-hook.planning"), false);
    assert.deepEqual(editor.said, []);
    // Doctor is asked in the background, and reads the store.
    await desk.until(() => /not installed/.test(editor.view.get("ckpt-hook.messages")?.message ?? ""));
  }));

test("text that is typed while something else is asked is not overwritten", () =>
  atDesk(async (desk, world) => {
    play(world);
    world.event("user_message", "m2", { prompt: "at work" });
    world.begin("m2");
    await desk.open();
    const document = await desk.document("a.txt");
    await desk.run("revertTo", await desk.message("spell it out"));
    const before = world.read("a.txt");
    editor.presses.push({
      at: /^An agent is at work/,
      get press() {
        document.type("typed\n");
        return "Go Ahead Anyway";
      },
    });
    await desk.run("apply");
    assert.equal(world.read("a.txt"), before);
    assert.match(editor.said.at(-1) ?? "", /^Unsaved text/);
  }));

test("while an agent works, going back needs a second word", () =>
  atDesk(async (desk, world) => {
    play(world);
    world.event("user_message", "m2", { prompt: "at work" });
    world.begin("m2");
    await desk.open();
    assert.match(editor.statusBar[0]?.text ?? "", /agent at work/);
    await desk.run("revertTo", await desk.message("spell it out"));
    assert.equal((await desk.labels())[0], "Change 1 file Anyway");
    assert.match((await desk.labels()).join("\n"), /An agent is at work here/);
    await desk.run("apply");
    assert.match(world.read("a.txt"), /two/);
    await desk.run("revertHunk", { lineNumber: 2, uri: (await desk.document("a.txt")).uri });
    assert.match(world.read("a.txt"), /two/);
    editor.presses.push({ at: /^An agent is at work/, press: "Go Ahead Anyway" });
    await desk.run("revertHunk", { lineNumber: 2, uri: (await desk.document("a.txt")).uri });
    assert.doesNotMatch(world.read("a.txt"), /two/);
    assert.match(world.read("a.txt"), /eleven/);
    await desk.run("revertTo", await desk.message("spell it out"));
    editor.presses.push({ at: /^An agent is at work/, press: "Go Ahead Anyway" });
    await desk.run("apply");
    assert.doesNotMatch(world.read("a.txt"), /eleven/);
  }));

test("an untrusted folder is looked at, and nothing is changed", () =>
  atDesk(async (desk, world) => {
    play(world);
    workspace.isTrusted = false;
    await desk.open();
    const before = world.read("a.txt");
    await desk.run("revertTo", await desk.message("spell it out"));
    await desk.run("apply");
    await desk.run("revertHunk");
    assert.equal(world.read("a.txt"), before);
    assert.equal(editor.said.filter((text) => /not trusted/.test(text)).length, 2);
    editor.trust();
    await desk.until(() => editor.contexts.get("ckpt-hook.state") === "ready");
  }));

test("no program of an untrusted folder is started, also for what doctor asks", () =>
  atDesk(async (desk, world) => {
    const [link, tools, evil] = ["link", "tools", "workspace/bin"].map((name) => `${world.scratch}/${name}`);
    symlinkSync(world.workspace, link ?? "");
    for (const folder of [tools, evil]) mkdirSync(folder ?? "");
    symlinkSync(world.env.CKPT_HOOK_BINARY, `${tools}/ckpt-hook`);
    mkdirSync(`${world.env.HOME}/.claude`);
    for (const name of ["ckpt-hook", "claude"])
      writeFileSync(`${evil}/${name}`, `#!/bin/sh\necho 2.1.332; touch ${world.scratch}/started\n`, { mode: 0o755 });
    process.env["PATH"] = ["bin", ".", evil, `${link}/bin`, tools, "/usr/bin", "/bin"].join(":");
    workspace.isTrusted = false;
    const told = () => editor.view.get("ckpt-hook.messages")?.message ?? "";
    await desk.open([link ?? ""], "");
    await desk.until(() => /not installed/.test(told()));
    assert.equal(existsSync(`${world.scratch}/started`), false);
    // Doctor asks an agent for its version: trusted, by the same search.
    process.env["PATH"] = ["bin", ".", tools, evil, "/usr/bin", "/bin"].join(":");
    editor.trust();
    await desk.until(async () => {
      await desk.run("doctor");
      return existsSync(`${world.scratch}/started`);
    });
  }));

test("the diff of a message is what the server has", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const [file] = await desk.items("messages", await desk.message("spell it out"));
    assert.equal(file?.item.label, "a.txt");
    await desk.run("showChanges", file?.node);
    const diff = editor.executed.find(({ command }) => command === "vscode.diff");
    const [left, right] = diff?.given as [Uri, Uri];
    const texts = await Promise.all(
      [left, right].map(async (uri) => Buffer.from((await editor.files?.readFile(uri)) ?? []).toString()),
    );
    assert.deepEqual(texts, [CHAIN.join(""), CHAIN.join("").replace("2\n", "two\n").replace("11\n", "eleven\n")]);
    assert.throws(() => (editor.files as unknown as { writeFile(uri: Uri): void }).writeFile(left), /no permission/);
  }));

test("one hunk is reverted from the diff of the message", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const [file] = await desk.items("messages", await desk.message("spell it out"));
    await desk.run("showChanges", file?.node);
    const [, right] = editor.executed.find(({ command }) => command === "vscode.diff")?.given as [Uri, Uri];
    await desk.run("revertHunk", { lineNumber: 2, uri: await shown(right) });
    const expected = CHAIN.join("").replace("6\n", "six\n").replace("11\n", "eleven\n");
    assert.equal(world.read("a.txt"), expected, editor.said.join("\n"));
  }));

test("a file and a hunk are reverted from an editor with several diffs", () =>
  atDesk(async (desk, world) => {
    play(world);
    world.play("m2", "shorten", "b.txt", "");
    world.write("b.txt", CHAIN.join(""));
    world.play("m3", "cut", "b.txt", CHAIN.slice(0, 11).join(""));
    await desk.open();
    // Its title has an address of its own; the diff with the cursor counts.
    const title = Uri.from({ scheme: "multi-diff-editor", path: "/x" });
    const front = (uri: Uri, line: number) => {
      const document = workspace.textDocuments.find((one) => one.uri === uri);
      window.activeTextEditor = { document, selection: { active: { line } } };
    };
    await desk.run("changesSince", await desk.message("spell it out"));
    const lists = () => editor.executed.filter(({ command }) => command === "vscode.changes").at(-1)?.given[1];
    const textDiffs = (lists() as [Uri, Uri, Uri][]).map(([, left, right]) => new TabInputTextDiff(left, right));
    window.tabGroups.activeTabGroup.activeTab = { input: { textDiffs } };
    const { uri } = await desk.document("a.txt");
    const right = textDiffs.find(({ modified }) => modified.toString() === uri.toString())?.modified as Uri;
    Object.assign(await desk.document("a.txt"), { uri: right });
    front(right, 10);
    await desk.run("revertHunk", title);
    assert.match(world.read("a.txt"), /two[^]*11/, editor.said.join("\n"));
    await desk.run("revertFile", title);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join("").replace("6\n", "six\n"), editor.said.join("\n"));
    // What the agent removed stands on the left side alone.
    const [file] = await desk.items("messages", await desk.message("cut"));
    await desk.run("showChanges", file?.node);
    const [left] = editor.executed.filter(({ command }) => command === "vscode.diff").at(-1)?.given as [Uri];
    front(await shown(left), 11);
    await desk.run("revertHunk", title);
    assert.equal(world.read("b.txt"), CHAIN.join(""), editor.said.join("\n"));
  }));

test("one hunk is reverted by the link of the line's author", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const document = await desk.document("a.txt");
    const drawn: {
      range: object;
      renderOptions?: { after: { contentText: string } };
      hoverMessage?: { value: string };
    }[][] = [];
    const shown = { document, setDecorations: (_: unknown, all: never[]) => drawn.push(all) };
    Object.assign(window, { activeTextEditor: shown, visibleTextEditors: [shown] });
    await desk.run("annotate");
    assert.deepEqual(
      drawn[0]?.map((one) => one.renderOptions?.after.contentText),
      ["“spell it out”, generic, just now", "you, just now", "“spell it out”, generic, just now"],
    );
    const hovers = drawn[1]?.map((one) => one.hoverMessage?.value ?? "") ?? [];
    const link = hovers
      .map((text) => /command:ckpt-hook\.revertHunk\?([^)]*)/.exec(text)?.[1])
      .filter(Boolean)
      .at(-1);
    await desk.run("revertHunk", ...JSON.parse(decodeURIComponent(link ?? "")));
    assert.equal(
      world.read("a.txt"),
      CHAIN.join("").replace("2\n", "two\n").replace("6\n", "six\n"),
      editor.said.join("\n"),
    );
    // A line of the user's own is none of the agent's.
    await desk.run("revertHunk", { lineNumber: 6, uri: document.uri });
    assert.match(editor.said.at(-1) ?? "", /no agent wrote this line/);
  }));

test("a prompt in a hover is text, whatever it looks like", () =>
  atDesk(async (desk, world) => {
    world.play("m1", "[x](command:evil)", "a.txt", "1\n");
    await desk.open();
    const document = await desk.document("a.txt");
    const hovers: string[] = [];
    const shown = {
      document,
      setDecorations: (_: unknown, all: { hoverMessage?: { value: string } }[]) =>
        hovers.push(...all.map((one) => one.hoverMessage?.value ?? "")),
    };
    Object.assign(window, { activeTextEditor: shown, visibleTextEditors: [shown] });
    await desk.run("annotate");
    assert.doesNotMatch(hovers.join(""), /\]\(command:evil/);
  }));

test("who wrote a line stays while the server comes again", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    const drawn: number[] = [];
    const document = await desk.document("a.txt");
    const shown = { document, setDecorations: (_: unknown, all: object[]) => drawn.push(all.length) };
    Object.assign(window, { activeTextEditor: shown, visibleTextEditors: [shown] });
    await desk.run("annotate");
    await desk.run("restart");
    await desk.until(() => drawn.length >= 4);
    assert.deepEqual([Math.min(...drawn) > 0, editor.said], [true, []]);
  }));

test("the quick diff compares with just before the last message", () =>
  atDesk(async (desk, world) => {
    play(world);
    world.write("b.txt", "same\n");
    world.play("m2", "last", "c.txt", "new\n");
    await desk.open();
    const before = async (name: string) => {
      const uri = editor.originals?.provideOriginalResource(Uri.file(`${world.workspace}/${name}`));
      assert.ok(uri);
      return Buffer.from((await editor.files?.readFile(uri)) ?? []).toString();
    };
    assert.equal(await before("b.txt"), "same\n");
    assert.equal(await before("c.txt"), "");
    assert.equal(editor.originals?.provideOriginalResource(Uri.file("/elsewhere/x")), undefined);
    // A search is about the tree alone, also one that finds nothing.
    for (const [search, found] of [["spell", /spell/], ["no such thing", /^No message fits/]] as const) {
      editor.presses = [{ at: /^Search/, press: search }];
      await desk.run("search");
      const rows = (await desk.items("messages")).map(({ item }) => item.label);
      assert.deepEqual([rows.length, found.test(rows[0] ?? "")], [1, true]);
      assert.equal(editor.contexts.get("ckpt-hook.state"), "ready");
      assert.equal(await before("c.txt"), "");
    }
  }));

test("the diff from a message to now has the files themselves on the right", () =>
  atDesk(async (desk, world) => {
    play(world);
    await desk.open();
    await desk.run("changesSince", await desk.message("spell it out"));
    const [left, right] = editor.executed.find(({ command }) => command === "vscode.diff")?.given as [Uri, Uri];
    assert.equal(right.toString(), Uri.file(`${world.workspace}/a.txt`).toString());
    // The file is reverted from the diff's title, as the left side says: to before the message.
    window.tabGroups.activeTabGroup.activeTab = { input: new TabInputTextDiff(left, right) };
    await desk.run("revertFile", right);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join("").replace("6\n", "six\n"));
    assert.match(editor.said.join("\n"), /Reverted a\.txt/);
  }));

test("only a message, and redo", () =>
  atDesk(async (desk, world) => {
    play(world);
    world.play("m2", "and more", "b.txt", "new\n");
    await desk.open();
    await desk.run("revertAlone", await desk.message("spell it out"));
    await desk.run("apply");
    assert.doesNotMatch(world.read("a.txt"), /two/);
    assert.equal(world.read("b.txt"), "new\n");
    await desk.until(() => /1 message undone alone/.test(editor.statusBar[0]?.text ?? ""));
    await desk.run("redoAll");
    await desk.run("apply");
    assert.match(world.read("a.txt"), /two/);
  }));

/** A message of Claude Code, which keeps a transcript. */
function chat(world: World, id: string): void {
  const folder = `${world.env.HOME}/.claude/projects/-w`;
  const transcript = `${folder}/${SESSION}.jsonl`;
  mkdirSync(folder, { recursive: true });
  const tell = (name: string, more: object) => {
    const payload = { session_id: SESSION, transcript_path: transcript, cwd: world.workspace, hook_event_name: name };
    const input = JSON.stringify({ ...payload, prompt_id: id, ...more });
    const words = ["event", "--agent", "claude-code", "--strict"];
    assert.equal(spawnSync(world.env.CKPT_HOOK_BINARY, words, { input, env: world.env }).status, 0);
  };
  tell("UserPromptSubmit", { prompt: id });
  const entry = { isSidechain: false, version: "2.1.332", cwd: world.workspace, sessionId: SESSION };
  const before = existsSync(transcript) ? `${readFileSync(transcript, "utf-8").trim().split("\n").length / 2}` : null;
  const entries = [
    { ...entry, type: "user", uuid: `${id}-1`, parentUuid: before && `m${before}-2`, promptId: id, message: { role: "user", content: id } },
    { ...entry, type: "assistant", uuid: `${id}-2`, parentUuid: `${id}-1`, message: { content: [{ type: "text", text: "done" }] } },
  ];
  writeFileSync(transcript, entries.map((one) => `${JSON.stringify(one)}\n`).join(""), { flag: "a", mode: 0o600 });
  const tool = { tool_name: "Bash", tool_use_id: id, tool_input: { command: "make" } };
  tell("PreToolUse", tool);
  world.write(`${id}.txt`, "made\n");
  tell("PostToolUse", tool);
  tell("PostToolBatch", { tool_calls: [tool] });
  tell("Stop", { stop_hook_active: false });
}

test("a conversation is forked, and goes on in a terminal", () =>
  atDesk(async (desk, world) => {
    for (const id of ["m1", "m2"]) chat(world, id);
    await desk.open();
    await desk.run("revertForked", await desk.message("m2"));
    assert.match((await desk.labels()).join("\n"), /The conversation goes on in a new one/);
    editor.presses.push({ at: /^Went back/, press: "Go On in a Terminal" });
    await desk.run("apply");
    assert.equal(existsSync(`${world.workspace}/m2.txt`), false, editor.said.join("\n"));
    const started = () => editor.executed.find(({ command }) => command === "terminal")?.given;
    await desk.until(() => started() !== undefined);
    const [options, line] = started() as [{ cwd: string }, string];
    assert.equal(options.cwd, world.workspace);
    assert.match(line, /^claude --resume [0-9a-f-]{36}$/);
  }));

test("where an agent cannot fork its conversation, the plan says so", () =>
  atDesk(async (desk, world) => {
    world.event("user_message", "m1", { prompt: "make it" });
    world.begin("m1");
    world.write("a.txt", "made\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await desk.open();
    await desk.run("revertForked", await desk.message("make it"));
    assert.match((await desk.labels()).join("\n"), /The conversation stays as it is: unsupported/);
  }));

test("a renamed file goes back whole", () =>
  atDesk(async (desk, world) => {
    world.write("a.txt", CHAIN.join(""));
    world.event("user_message", "m1", { prompt: "move it" });
    world.begin("m1");
    renameSync(`${world.workspace}/a.txt`, `${world.workspace}/b.txt`);
    world.write("c.txt", "new\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await desk.open();
    const files = await desk.items("messages", await desk.message("move it"));
    assert.deepEqual(
      files.map(({ item }) => [item.label, item.description]),
      [
        ["b.txt", "renamed from a.txt"],
        ["c.txt", "added · +1"],
      ],
    );
    await desk.run("revertFile", files[0]?.node);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), CHAIN.join(""));
    assert.equal(existsSync(`${world.workspace}/b.txt`), false);
    assert.equal(world.read("c.txt"), "new\n");
  }));

test("a file whose name is not text is shown and goes back", () =>
  atDesk(async (desk, world) => {
    const name = Buffer.concat([Buffer.from(`${world.workspace}/`), Buffer.from([0xff, 0x61])]);
    world.event("user_message", "m1", { prompt: "odd" });
    world.begin("m1");
    writeFileSync(name, "odd\n");
    world.event("tool_finish", "m1", { tool_use_id: "m1", tool_name: "shell" });
    world.event("turn_end", "m1");
    await desk.open();
    const [odd] = await desk.items("messages", await desk.message("odd"));
    await desk.run("showChanges", odd?.node);
    const [, right] = editor.executed.find(({ command }) => command === "vscode.diff")?.given as [Uri, Uri];
    assert.equal(Buffer.from((await editor.files?.readFile(right)) ?? []).toString(), "odd\n");
    await desk.run("revertFile", odd?.node);
    await desk.run("apply");
    assert.equal(existsSync(name), false, editor.said.join("\n"));
  }));

test("unclear changes are taken back only if that is chosen", () =>
  atDesk(async (desk, world) => {
    // The step names a tool of which neither start nor finish was reported.
    world.write("a.txt", "before\n");
    world.event("user_message", "m1", { prompt: "lost", tells_of_tools: true });
    world.event("step_start", "m1");
    world.write("a.txt", "after\n");
    world.event("step_finish", "m1", { tools: [{ tool_use_id: "lost", tool_name: "shell" }] });
    world.event("turn_end", "m1");
    await desk.open();
    await desk.run("revertTo", await desk.message("lost"));
    const row = (await desk.planned()).get("a.txt");
    assert.match(row?.item.contextValue ?? "", /take/);
    await desk.run("take", row?.node);
    assert.match((await desk.planned()).get("a.txt")?.item.contextValue ?? "", /keep/);
    await desk.run("keep", (await desk.planned()).get("a.txt")?.node);
    assert.match((await desk.planned()).get("a.txt")?.item.contextValue ?? "", /take/);
    await desk.run("take", (await desk.planned()).get("a.txt")?.node);
    await desk.run("apply");
    assert.equal(world.read("a.txt"), "before\n");
  }));

test("a folder that is opened by a link has the same files", () =>
  atDesk(async (desk, world) => {
    play(world);
    const link = `${world.scratch}/link`;
    symlinkSync(world.workspace, link);
    await desk.open([link]);
    const document = await workspace.openTextDocument(Uri.file(`${link}/a.txt`));
    document?.type("typed\n");
    await desk.run("revertTo", await desk.message("spell it out"));
    assert.match((await desk.labels()).join("\n"), /unsaved text in the editor: a\.txt/);
    await desk.run("changesSince", await desk.message("spell it out"));
    const [, right] = editor.executed.find(({ command }) => command === "vscode.diff")?.given as [Uri, Uri];
    assert.equal(right.toString(), Uri.file(`${link}/a.txt`).toString());
  }));

test("one of several folders is chosen", () =>
  atDesk(async (desk, world) => {
    await openBesideAnother(desk, world);
    editor.presses.push({ at: /^The folder/, press: "workspace" });
    await desk.run("chooseFolder");
    await desk.message("spell it out");
  }));

test("where nothing is recorded, doctor's words are shown", () =>
  atDesk(async (desk, world) => {
    await desk.open();
    assert.equal(editor.contexts.get("ckpt-hook.state"), "empty");
    await desk.until(() => /not installed in any agent/.test(editor.view.get("ckpt-hook.messages")?.message ?? ""));
    // Beside the text, what can be done.
    const offered = (await desk.items("messages")).map(({ item }) => item.command?.command);
    assert.deepEqual(offered, ["ckpt-hook.install", "ckpt-hook.doctor", "ckpt-hook.walkthrough"]);
    await desk.run("install");
    assert.match(editor.said.at(-1) ?? "", /No agent's settings would change: the page says why/);
    const page = editor.executed.filter(({ command }) => command === "open").at(-1)?.given[0] as Uri;
    assert.match(Buffer.from((await editor.files?.readFile(page)) ?? []).toString(), /qwen-code: left out: no program/);
    mkdirSync(`${world.env.HOME}/.qwen`);
    editor.presses.push({ at: /settings of these agents/, press: "Install" });
    await desk.run("install");
    assert.match(readFileSync(`${world.env.HOME}/.qwen/settings.json`, "utf-8"), /ckpt-hook event --agent qwen-code/);
    assert.match(editor.said.at(-1) ?? "", /Start the agents again/);
    assert.doesNotMatch(editor.view.get("ckpt-hook.messages")?.message ?? "", /not installed in any agent/);
    // One agent's settings cannot be read, while another's are written.
    writeFileSync(`${world.env.HOME}/.qwen/settings.json`, "{");
    mkdirSync(`${world.env.HOME}/.gemini`);
    editor.presses.push({ at: /settings of these agents/, press: "Install" });
    await desk.run("install");
    assert.match(readFileSync(`${world.env.HOME}/.gemini/settings.json`, "utf-8"), /ckpt-hook/);
    assert.match(editor.said.at(-1) ?? "", /Not all agents have the hook now/);
  }));

test("without the program, the view says so", () =>
  atDesk(async (desk) => {
    const open = desk.open();
    editor.settings.set("path", "/nowhere/ckpt-hook");
    await open;
    await desk.run("restart");
    assert.equal(editor.contexts.get("ckpt-hook.state"), "missing");
    await desk.run("doctor");
    assert.match(editor.said.at(-1) ?? "", /ckpt-hook was not found/);
  }));

test("every command of the manifest is there, and none is missing in it", () =>
  atDesk(async (desk) => {
    await desk.open();
    const { contributes } = JSON.parse(readFileSync("package.json", "utf-8"));
    const named = contributes.commands.map(({ command }: { command: string }) => command).sort();
    assert.deepEqual([...editor.commands.keys()].sort(), named);
    const texts = JSON.parse(readFileSync("package.nls.json", "utf-8"));
    const asked = [...JSON.stringify(contributes).matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? "");
    for (const key of asked) assert.ok(key in texts, key);
  }));

test("a thousand messages are drawn, and five hundred files planned", () =>
  atDesk(async (desk, world) => {
    const client = await world.client();
    const record = (event: "user_message" | "tool_start" | "tool_finish", id: string) =>
      client.record({
        event,
        session_id: "chat",
        message_id: id,
        cwd: world.workspace,
        prompt: id,
        tool_use_id: id,
        tool_name: "shell",
      });
    for (let number = 0; number < 1000; number += 1) await record("user_message", `m${number}`);
    await record("tool_start", "m999");
    for (let number = 0; number < 500; number += 1) world.write(`f${number}.txt`, `${number}\n`);
    await record("tool_finish", "m999");
    world.event("turn_end", "m999");
    await desk.open();
    const rows = await desk.items("messages");
    assert.equal(rows.length, 1000);
    await desk.run("revertTo", rows[0]?.node);
    assert.equal((await desk.planned()).size, 500);
  }));
