// What decides, without an editor and without a server.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileReport, PathText, PlanChoice, PlanParameters, TimelineEntry, WayOut } from "ckpt-hook";
import { annotationAt, annotations } from "../src/decide/authors.js";
import { descriptionOf, joinRenames, parseQuery, pathsOf, queryText } from "../src/decide/changes.js";
import { hunksAt, hunksWith } from "../src/decide/hunks.js";
import { candidates, environment, isInside, placeIn } from "../src/decide/places.js";
import {
  choose,
  joined,
  type Kept,
  nameIn,
  planRow,
  type PlanRow,
  remember,
  view,
} from "../src/decide/plan.js";
import { children, files, NO_FILTER, roots, row } from "../src/decide/tree.js";
import {
  ago,
  banner,
  clean,
  commandLine,
  conversationNote,
  failure,
  findings,
  stateOf,
  titleOf,
  verdict,
} from "../src/decide/words.js";
import { blamed, change, file, kept, message, operation, report, status, wayOf } from "./reports.js";

const around = (entries: readonly TimelineEntry[], now: number) => ({ entries, now });
const HOUR = 3_600_000;
const NONE: Kept = new Map();
const STAYS = { action: "keep", result: "conflict", reason: "edited" } as const;
const planOf = (files: FileReport[], more: object = {}) => ({ token: "t", report: report(files, more) });
const DESK = { root: "/shop", unsaved: new Set<string>() };

test("a time is told by how long ago it was", () => {
  const now = 100 * 24 * HOUR;
  const told = [0, 59_000, 60_000, HOUR, 25 * HOUR, 49 * HOUR, now].map((passed) => ago(now - passed, now));
  assert.deepEqual(told, ["just now", "just now", "1 min ago", "1 h ago", "1 day ago", "2 days ago", "1970-01-01"]);
  assert.equal(ago(now + HOUR, now), "just now", "another clock is ahead");
});

test("a prompt is one line without what reorders text", () => {
  assert.equal(clean("a\n  b\tc"), "a b c");
  assert.equal(clean("pay \u202egnp.exe\u0007"), "pay \ufffdgnp.exe\ufffd");
  assert.equal(clean("[x](command:y)"), "[x] (command:y)", "no link in a notification");
  assert.equal(titleOf(null), "(no prompt)");
  assert.equal(titleOf(" \n "), "(no prompt)");
  assert.equal(titleOf("😀".repeat(100), 5), "😀😀😀😀…", "no half of a character");
});

test("a rename is one file with both paths", () => {
  const gone = change("a.txt", { kind: "deleted", new_blob: null, renamed_to: { path: "d/a.txt", path_hex: null } });
  const came = change("d/a.txt", {
    kind: "added",
    old_blob: null,
    additions: 9,
    renamed_from: { path: "a.txt", path_hex: null, additions: 2, deletions: 1, similarity: 80 },
  });
  const [renamed, ...more] = joinRenames([gone, came]);
  assert.ok(renamed && more.length === 0);
  assert.deepEqual([renamed.kind, renamed.oldBlob, renamed.newBlob], ["renamed", "old a.txt", "new d/a.txt"]);
  assert.equal(descriptionOf(renamed), "d · renamed from a.txt · +2 −1");
  assert.deepEqual(
    pathsOf(renamed).map((path) => path.path),
    ["d/a.txt", "a.txt"],
  );
});

test("half of a rename is a file of its own", () => {
  const came = change("b", {
    kind: "added",
    old_blob: null,
    renamed_from: { path: "a", path_hex: null, additions: 0, deletions: 0, similarity: 100 },
  });
  assert.deepEqual(
    joinRenames([came]).map(({ kind, former }) => [kind, former]),
    [["added", null]],
  );
  const gone = change("a", { kind: "deleted", new_blob: null, renamed_to: { path: "b", path_hex: null } });
  assert.deepEqual(
    joinRenames([gone]).map(({ kind }) => kind),
    ["deleted"],
  );
});

test("a document's address holds what it shows", () => {
  const query = { blob: "12", message: "a1", alone: true, hex: "ff" };
  assert.deepEqual(parseQuery(queryText(query)), query);
  for (const text of ["", "blob=12", "{}", "[]", "null", '{"blob":1}', '{"nothing":false}'])
    assert.equal(parseQuery(text), undefined, text);
});

test("operations in a row are folded into one", () => {
  const outside = { type: "outside" as const, time: 1, files: 1, additions: 0, deletions: 0, from: null, to: "t" };
  const entries = [operation("3"), operation("2"), message(), operation("1"), outside];
  assert.deepEqual(
    roots(entries, NO_FILTER).map((node) => node.id),
    ["operations 2", "a1", "1", "outside 1 t"],
  );
  const grown = roots([operation("4"), ...entries], NO_FILTER);
  assert.equal(grown[0]?.id, "operations 2", "the row stays the same while operations are added");
  assert.deepEqual(grown[0] && children(grown[0], null).map((node) => node.id), ["4", "3", "2"]);
});

test("a filter leaves the messages of its states and agents", () => {
  const entries = [
    operation("1"),
    message({ id: "x", state: "hidden" }),
    message({ id: "y", agent: "codex" }),
    message({ id: "z" }),
  ];
  const ids = (states: string[], agents: string[]) =>
    roots(entries, { states: new Set(states), agents: new Set(agents) }).map((node) => node.id);
  assert.deepEqual(ids(["hidden"], []), ["x"]);
  assert.deepEqual(ids(["live"], ["codex"]), ["y"]);
  assert.deepEqual(ids(["discarded"], []), []);
});

test("each state of a message has its own word and icon", () => {
  const states = [
    message(),
    message({ finished: null }),
    message({ state: "hidden" }),
    message({ state: "discarded" }),
    message({ undone_alone: true }),
    message({ left: true }),
  ];
  assert.deepEqual(states.map(stateOf), ["live", "at work", "hidden", "discarded", "undone alone", "left"]);
  const all = around(states, 1000);
  const icons = states.map((one) => row({ type: "message", id: one.id, message: one }, all).icon);
  assert.equal(new Set(icons).size, states.length);
  // A server that is newer than this extension.
  const newer = message({ state: "new" as never });
  assert.match(row({ type: "message", id: "a1", message: newer }, all).description, / · new$/);
});

test("a message's row says who, when and how much", () => {
  const shown = row({ type: "message", id: "a1", message: message() }, around([], 1000 + 3 * HOUR));
  assert.equal(shown.label, "charge VAT");
  assert.equal(shown.description, "claude-code · 3 h ago · 2 files · +3 −1");
  assert.equal(shown.context, "message live revertable changed");
  assert.match(shown.spoken, /^Message: charge VAT, claude-code/);
  const refused = row(
    { type: "message", id: "a1", message: message({ revertable: false, not_revertable: "its files were pruned" }) },
    around([], 0),
  );
  assert.doesNotMatch(refused.context, /revertable/);
  assert.match(refused.tooltip, /its files were pruned/);
});

test("an operation names the message, and an undo what it took back", () => {
  const entries = [operation("2", { undoes: "1" }), operation("1"), message()];
  const labels = roots(entries.slice(0, 1), NO_FILTER).map((node) => row(node, around(entries, 0)).label);
  assert.deepEqual(labels, ["Undone: Reverted to before “charge VAT”"]);
});

test("the banner says what is hidden, and that an agent works", () => {
  assert.deepEqual(banner(null), { text: "", detail: "", canRedo: false, isBusy: false });
  assert.equal(banner(status()).text, "");
  const hidden = banner(status({ messages_hidden: ["a1", "a2"], redo: true }));
  assert.deepEqual([hidden.text, hidden.canRedo], ["2 messages hidden", true]);
  assert.equal(
    banner(status({ undone_alone: ["a1"], agents_at_work: ["codex s2"] })).text,
    "1 message undone alone · agent at work",
  );
  const done = file("a", { result: "done" });
  const partial = banner(status({ messages_hidden: ["a1"], files: [done, file("b", { ...STAYS, reason: "edited" })] }));
  assert.equal(partial.text, "1 message hidden · in part: 1 file kept");
  assert.match(partial.detail, /^Kept: b \(edited\)\.$/m);
  const unclear = { message: "a1", path: "a", path_hex: null, reason: "?" };
  assert.equal(banner(status({ unclear: [unclear] })).text, "1 file unclear");
  const other = { agent: "codex", messages_hidden: 3, revert_point: null, session: "s2" };
  assert.equal(banner(status({ also_reverted: [other] })).text, "3 messages hidden in another conversation");
});

test("each outcome has its own sentence", () => {
  const done = file("a", { result: "done" });
  const kept = file("b", { result: "conflict", action: "keep", reason: "edited" });
  assert.deepEqual(verdict("Went back", report([done])), { level: "information", text: "Went back: 1 file changed." });
  const partial = verdict("Went back", report([done, kept], { outcome: "partial", notes: ["Tags stay."] }));
  assert.deepEqual(partial, {
    level: "warning",
    text: "Went back: done in part, 1 file changed. 1 file kept: b (edited). Tags stay.",
  });
  assert.equal(verdict("Undone", report([], { outcome: "nothing" })).text, "Undone: everything is already as it was.");
  assert.equal(verdict("Undone", report([kept], { outcome: "unavailable" })).level, "error");
  assert.equal(verdict("Undone", report([], { outcome: "new" as never })).level, "warning");
});

test("a failure is its sentence and what helps", () => {
  assert.equal(
    failure(Object.assign(new Error("no such message"), { kind: "unknown", hint: "see `messages`" })),
    "no such message. see `messages`",
  );
  assert.equal(failure("odd"), "odd");
});


test("a plan names what stays and the ways out", () => {
  const files = [
    file("a", { ...STAYS, choices: ["overwrite"] }),
    file("b", STAYS),
    file("c", { ...STAYS, unclear: true, choices: ["take"] }),
    file("d"),
    file("e", { ...STAYS, choices: ["again"] }),
    file("f", { action: "merge", choices: ["keep"] }),
  ];
  const groups = [
    kept("a", wayOf("a", { on_conflict: "overwrite" })),
    kept("b"),
    kept("c", wayOf("c", { unclear: "take" })),
    kept("e", wayOf("e", {}, "close that program")),
  ];
  const plan = view(planOf(files, { kept: groups }), { message: "a1" }, NONE, DESK);
  assert.deepEqual(
    plan.rows.map(({ file, group, ways, reason }) => [file.path, group, ways.join(" "), reason]),
    [
      ["d", "changes", "", null],
      ["f", "changes", "keep", null],
      ["a", "stays", "overwrite", "edited"],
      ["b", "stays", "", "edited; nothing takes that back"],
      ["c", "stays", "take", "edited"],
      ["e", "stays", "again", "edited; close that program, then plan again"],
    ],
  );
  assert.equal(plan.button, "Change 2 files");
  const { choices: _, ...older } = file("g", STAYS);
  const rows = view(planOf([older as FileReport]), { message: "a1" }, NONE, DESK).rows;
  assert.deepEqual(rows[0]?.ways, [], "an older program offers none");
});

test("a way out has the parameter of the operation, or is of one file", () => {
  const rowOf = (more: object, way: WayOut) => {
    const kept_ = [kept("a", way)];
    return view(planOf([file("a", { ...STAYS, ...more })], { kept: kept_ }), {}, NONE, DESK).rows[0] as PlanRow;
  };
  const asked = { operation: "revert" as const, message: "a1" };
  const conflict = rowOf({ choices: ["overwrite"] }, wayOf("a", { message: "a1", on_conflict: "overwrite" }));
  const chosen = (all: PlanParameters, way: PlanChoice, row: PlanRow, rows = [row]) => choose({ all, own: [] }, way, row, rows);
  const whole = (all: PlanParameters) => ({ all, own: [] });
  assert.deepEqual(chosen(asked, "overwrite", conflict), whole({ ...asked, on_conflict: "overwrite" }));
  const only = [{ path: "a", path_hex: null }];
  const unclear = rowOf({ choices: ["take"], unclear: true }, wayOf("a", { message: "a1", unclear: "take" }));
  assert.deepEqual(chosen(asked, "take", unclear), whole({ ...asked, unclear: "take" }));
  assert.deepEqual(chosen(asked, "again", conflict), whole(asked));
  // What the whole plan has no term for, or is not for all of its kind, is of the file's own.
  const shared = rowOf({ choices: ["take"] }, wayOf("a", { message: "a1" }));
  const own = (way: PlanChoice, parameters: object, root: string | null = null) => ({
    way,
    root,
    parameters: { operation: "revert", ...parameters, workspace: root },
  });
  assert.deepEqual(chosen(asked, "take", shared), { all: asked, own: [own("take", { message: "a1", only })] });
  const undone = rowOf({ choices: ["overwrite"] }, wayOf("a", { operation: "restore", id: "o1" }));
  const restored = own("overwrite", { operation: "restore", id: "o1", only });
  assert.deepEqual(chosen({ operation: "undo" }, "overwrite", undone).own, [restored]);
  const other = { ...conflict, file: file("b", { ...STAYS, choices: ["overwrite"] }) };
  const one = chosen(asked, "overwrite", conflict, [conflict, other]);
  assert.deepEqual(one, { all: asked, own: [own("overwrite", { message: "a1", on_conflict: "overwrite", only })] });
  assert.deepEqual(choose(one, "keep", conflict, []), whole(asked), "its own way back");
  assert.deepEqual(choose(one, "overwrite", other, [other]), whole({ ...asked, on_conflict: "overwrite" }), "the last");
  // A file of the same path in another directory is another file.
  const elsewhere = { ...conflict, root: "/lib" };
  const both = chosen(asked, "overwrite", elsewhere, [conflict, elsewhere]);
  const there = own("overwrite", { message: "a1", on_conflict: "overwrite", only }, "/lib");
  assert.deepEqual(both, { all: asked, own: [there] });
  assert.deepEqual(choose(both, "keep", conflict, []).own, [there]);
});

test("files on terms of their own make a plan a part", () => {
  const all = planOf([file("a", STAYS), file("b"), file("c", STAYS)], { messages_hidden: ["a1"] });
  assert.equal(joined(all, []).parts, null);
  const { parts, report: shown, token } = joined(all, [{ token: "own", report: report([file("a")]), root: null }]);
  assert.deepEqual(
    parts?.map(({ path, plan }) => [(path as PathText).path, plan]),
    [
      ["a", "own"],
      ["b", null],
    ],
  );
  assert.deepEqual([token, shown.messages_hidden], ["t", []]);
  assert.match(shown.notes.join(" "), /hides no message/);
  const inVain = [{ token: null, report: report([file("a", STAYS)]), root: null }];
  assert.equal(joined(planOf([file("a", STAYS)], { messages_hidden: ["a1"] }), inVain).parts, null, "nothing would be a part");
});

test("what is overwritten still says why, and can be kept", () => {
  const before: Kept = new Map();
  const asked = { operation: "revert" as const, message: "a1", on_conflict: "overwrite" as const };
  remember(before, report([file("a", { ...STAYS, reason: "edited by you" })]));
  const [row] = view(planOf([file("a")]), asked, before, DESK).rows;
  assert.deepEqual([row?.verb, row?.ways], ["put back, though edited by you", ["keep"]]);
  const { all } = choose({ all: asked, own: [] }, "keep", row as PlanRow, []);
  assert.deepEqual(all, { ...asked, on_conflict: "keep", unclear: "keep" });
});

test("what only a newer program does to a file is a change", () => {
  const newer = file("a", { action: "swap" as never, choices: ["trade" as never] });
  const plan = view(planOf([newer, file("b", { moved_from: { path: "c", path_hex: null } as never })]), {}, NONE, DESK);
  assert.deepEqual(
    plan.rows.map((row) => [row.group, row.verb]),
    [
      ["changes", "swap"],
      ["changes", "moved from c"],
    ],
  );
});

test("unsaved text is named for the files that would change", () => {
  const plan = view(
    planOf([file("a"), file("b", { action: "keep", reason: "edited" })]),
    { message: "a1" },
    NONE,
    { root: "/shop", unsaved: new Set(["/shop/a", "/shop/b", "/shop/c"]) },
  );
  assert.deepEqual(
    plan.rows.map((row) => row.isUnsaved),
    [true, false],
  );
  assert.match(plan.notes.join("\n"), /1 file with unsaved text in the editor: a\./);
});

test("files in other directories of the session are a part of the plan", () => {
  const there = report([file("a"), file("src/b", STAYS)], { notes: ["It is on another disk."] });
  const whole = report([file("a", STAYS)], { roots: [{ workspace: "/lib", report: there }] });
  const unsaved = new Set(["/lib/a"]);
  const plan = view({ token: "t", report: whole }, { message: "a1" }, NONE, { root: "/shop", unsaved });
  assert.deepEqual(
    plan.rows.map((row) => [nameIn(row), row.group, row.isUnsaved]),
    [
      ["/lib/a", "changes", true],
      ["a", "stays", false],
      ["/lib/src/b", "stays", false],
    ],
  );
  assert.match(planRow(plan.rows[2] as PlanRow).description, /^lib\/src · stays/);
  assert.equal(plan.button, "Change 1 file");
  assert.deepEqual(plan.notes.slice(-1), ["/lib: It is on another disk."]);
  const done = report([file("a", { result: "done" })], { roots: [{ workspace: "/lib", report: there }] });
  assert.match(verdict("Went back", done).text, /1 file kept: \/lib\/src\/b \(edited\)\. \/lib: It is on/);
});

test("a message's row counts the files in other directories", () => {
  const elsewhere = { workspace: "/home/ada/lib", files: 2, additions: 0, deletions: 0, message: "a2", unclear: 0 };
  const shown = row({ type: "message", id: "a1", message: message({ roots: [elsewhere] }) }, around([], 1000));
  assert.match(shown.description, / · \+ 2 files in lib$/);
});

test("a path that comes twice has two rows", () => {
  const twice = joinRenames([change("a"), change("a", { attribution: "agent", old_blob: "x" })]);
  const ids = files("a1", twice, null, null).map((node) => node.id);
  assert.equal(new Set(ids).size, 2);
});

test("a plan with nothing to carry out has no button", () => {
  assert.equal(view({ token: null, report: report([]) }, { operation: "undo" }, NONE, DESK).button, null);
  assert.equal(view(planOf([], { busy: true }), { operation: "undo" }, NONE, DESK).isBusy, true);
});

test("a line names the prompt that wrote it", () => {
  const hunks = [
    blamed(),
    blamed({ start: 3, by: "uncaptured", steps: [], time: null }),
    blamed({ start: 5, by: "unrecorded", steps: [], time: null }),
    blamed({ start: 7, by: "unclear", reason: "Two tools ran." }),
    blamed({ start: 9, by: "new" as never, steps: [] }),
  ];
  const all = annotations({ contents: null, hunks, lines: 10, path: "a", path_hex: null, version: 1 }, 1000 + 3 * HOUR);
  assert.deepEqual(
    all.map(({ line, text }) => [line, text]),
    [
      [0, "“charge VAT”, claude-code, 3 h ago"],
      [2, "you, just now"],
      [4, ""],
      [6, "“charge VAT”, claude-code, or you, 3 h ago"],
      [8, ""],
    ],
  );
  assert.equal(annotationAt(all, 1)?.message, "a1");
  assert.equal(annotationAt(all, 3)?.message, null);
  assert.equal(annotationAt(all, 99), undefined);
});

const HUNK = {
  old_start: 2,
  old_lines: 4,
  new_start: 2,
  new_lines: 4,
  lines: [" b\n", "-C\n", "-D\n", "+c\n", " e\n", "+f\n"],
};

test("a hunk is found by its line, or by the text of an older state", () => {
  const [replaced, added] = [
    { old_start: 3, old_lines: 2 },
    { old_start: 5, old_lines: 0 },
  ];
  for (const line of [2, 3]) assert.deepEqual(hunksAt([HUNK], line), [replaced]);
  assert.deepEqual(hunksAt([HUNK], 4), [added], "lines that come back have no line of their own");
  assert.deepEqual(hunksAt([HUNK], 1), []);
  assert.deepEqual(hunksWith([HUNK], "D"), [replaced]);
  assert.deepEqual(hunksWith([HUNK], "b"), [], "context is no change");
  assert.equal(hunksWith([HUNK, HUNK], "D").length, 2, "two places have this text");
  assert.deepEqual(hunksWith([HUNK], "f"), [added], "what was removed stands on the left side alone");
  const whole = { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines: ["+a\n"] };
  assert.deepEqual(hunksAt([whole], 0), [{ old_start: 0, old_lines: 0 }], "an empty file gets its lines");
});

const SEARCH = {
  setting: "",
  path: "/usr/bin:bin::/shop/node_modules/.bin",
  delimiter: ":",
  home: "/home/ada",
  extension: "/ext",
  folders: ["/shop"],
  isTrusted: true,
  real: (path: string) => path.replace(/^\/link/, "/shop").replace("/usr/local/shop", "/shop/bin"),
};

test("the program is the setting, or on the PATH, or in the package", () => {
  assert.deepEqual(candidates({ ...SEARCH, setting: "~/bin/ckpt-hook" }), ["/home/ada/bin/ckpt-hook"]);
  const found = candidates(SEARCH);
  assert.deepEqual(
    found,
    ["/usr/bin/ckpt-hook", "/shop/node_modules/.bin/ckpt-hook", "/ext/bin/ckpt-hook"],
    "no relative entry of the PATH",
  );
  assert.deepEqual(candidates({ ...SEARCH, setting: "ckpt-hook" }), []);
});

test("nothing of an untrusted folder is started", () => {
  const untrusted = { ...SEARCH, isTrusted: false };
  assert.deepEqual(candidates(untrusted), ["/usr/bin/ckpt-hook", "/ext/bin/ckpt-hook"]);
  assert.deepEqual(candidates({ ...untrusted, setting: "/shop/evil" }), []);
  // By whatever links the folder or the program is reached.
  assert.deepEqual(candidates({ ...untrusted, setting: "/usr/local/shop/ckpt-hook" }), []);
  assert.deepEqual(candidates({ ...untrusted, folders: ["/link"] }), ["/usr/bin/ckpt-hook", "/ext/bin/ckpt-hook"]);
  assert.equal(environment({ PATH: "?" }, untrusted)["PATH"], "/usr/bin", "nor by the program");
});

test("the server is about the window's folder, whatever an agent has set", () => {
  const search = { ...SEARCH, path: "/bin" };
  assert.deepEqual(environment({ CLAUDE_PROJECT_DIR: "/other", HOME: "/ada" }, search), { HOME: "/ada", PATH: "/bin" });
});

test("only files below the workspace have a path in it", () => {
  const place = (file: string) => placeIn(["/shop", "/lib", "/shop/in"], file);
  const path = (path: string) => ({ path, path_hex: null });
  assert.deepEqual(place("/shop/src/a.ts"), { root: null, path: path("src/a.ts") });
  assert.deepEqual(place("/shop/..a"), { root: null, path: path("..a") });
  assert.deepEqual(place("/lib/a.ts"), { root: "/lib", path: path("a.ts") });
  assert.deepEqual(place("/shop/in/a.ts"), { root: "/shop/in", path: path("a.ts") });
  for (const outside of ["/shop", "/shopping/a", "/"]) assert.equal(place(outside), undefined);
  assert.equal(isInside("/", "/anything"), true);
});

test("doctor's words come worst first, with what helps", () => {
  const finding = (level: string, message: string, hint: string | null = null) => ({
    level,
    subject: "hook",
    message,
    hint,
    repaired: false,
  });
  const told = findings({
    version: 1,
    findings: [
      finding("ok", "fine"),
      finding("warning", "odd"),
      finding("error", "not installed", "`install`"),
      finding("note", "by the way"),
    ],
  });
  assert.deepEqual(told, ["hook: not installed. `install`.", "hook: odd."]);
});

test("a command is one that a shell takes back apart", () => {
  assert.equal(commandLine(["claude", "--resume", "7942dd30-1699"]), "claude --resume 7942dd30-1699");
  assert.equal(commandLine(["a b", "it's", "$(x)", ""]), "'a b' 'it'\\''s' '$(x)' ''");
});

test("the conversation is named where something was asked for it", () => {
  const told = (more: object) =>
    conversationNote({
      argv: [],
      directory: null,
      interface: null,
      kind: "none",
      note: null,
      prefill: [],
      prompt: null,
      reason: null,
      session: null,
      ...more,
    });
  assert.match(told({ kind: "forked" }), /goes on in a new one/);
  assert.equal(told({ reason: "no_transcript" }), "The conversation stays as it is: no transcript.");
  assert.equal(told({ reason: "not_asked" }), "");
  assert.equal(told({ kind: "manual", note: "Give `/undo`." }), "Give `/undo`.");
});
