// Nothing is put back before its plan was seen: what would happen to each file, what stays and why, and the way out. What is taken of
// it is chosen file by file, and hunk by hunk.

import { call } from "/api.js";
import { moved, show, sidesOfContents } from "/diff.js";
import { folded, movement, options } from "/detail.js";
import { count, h, lines, path, shown } from "/dom.js";

const actions = { write: "put back", delete: "removed", merge: "merged: only the agent's lines go", keep: "stays", none: "already so" };

/** Asks for a plan, shows it, and carries it out if that is wanted. `hunk` is the one that is meant of its only file. Returns the report, or null. */
export async function propose(title, asked, hunk = null) {
  return new Promise((done) => new Proposal(title, asked, hunk, done).start());
}

/** What stays, by kind: what it is called. Why it stays, and the way out, the plan says itself. */
const titles = {
  yours: "Yours", conflict: "Changed since", other_agent: "Changed by another agent", shared: "Changed by several agents",
  unclear: "Unclear", database: "Databases", blocked: "No place", moved: "Changed just now", not_captured: "Not captured",
  forgotten: "Forgotten", other_message: "For another message",
};
const sentence = (clause) => clause.charAt(0).toUpperCase() + clause.slice(1);

/** Why files stay, and what has to be done first. */
export function reason({ why, way, root }) {
  const first = way?.first ? ` ${sentence(way.first)}, then plan again.` : way || root ? "" : " Nothing takes that back.";
  return `${sentence(why)}.${first}`;
}

const goes = (file) => ["done", "planned"].includes(file.result) && !["none", "keep"].includes(file.action);
const idOf = (file) => `${file.root ? `${file.root}/` : ""}${file.path_hex ?? file.path}`;
/** A file of another root goes by its full path. */
const nameOf = (file) => (file.root ? `${file.root}/${file.path}` : file.path);

/** Puts what is in the other roots of a plan into the lists of its own. */
function inOneList(report) {
  for (const { workspace: root, report: there } of report.roots) {
    report.files.push(...there.files.map((file) => ({ ...file, root })));
    report.git.push(...there.git);
    // The ways out are plans of that root alone, which are not asked for here.
    report.kept.push(...there.kept.map((kept) => ({ ...kept, way: null, root, paths: kept.paths.map((file) => ({ ...file, root })) })));
  }
}

class Proposal {
  constructor(title, asked, hunk, done) {
    this.title = title;
    this.asked = asked;
    this.hunk = hunk;
    /** Files that go back whatever they hold. */
    this.forced = new Map();
    /** What is taken of files of which not everything is: hunks, and nothing for none. */
    this.choices = new Map();
    /** Files that a move makes go: they are no row of their own. */
    this.gone = new Set();
    this.banner = null;
    this.report = null;
    this.done = done;
    this.dialog = h("dialog.plan", { "aria-labelledby": "plan-title" });
    this.dialog.addEventListener("close", () => {
      this.dialog.remove();
      this.done(this.report);
    });
  }

  async start() {
    document.body.append(this.dialog);
    this.dialog.append(h("h2", { id: "plan-title" }, this.title), h("p.note", {}, "Looking at the workspace…"));
    this.dialog.showModal();
    await this.plan();
  }

  async plan() {
    try {
      const planned = await call("plan", { ...this.asked, contents: true });
      inOneList(planned.report);
      for (const file of planned.report.files) file.plan = planned.plan;
      if (this.forced.size > 0) await this.force(planned);
      await this.choose(planned.report.files);
      await this.draw(planned);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Plans single files by the ways out that they have, and puts them in the place of those that stay. */
  async force({ report }) {
    const all = new Map();
    for (const kept of report.kept) {
      let only = kept.kind === "other_message" ? [] : kept.paths.filter((file) => this.forced.has(idOf(file)));
      if (only.length === 0 || !kept.way) continue;
      // A database goes as a whole.
      if (kept.kind === "database") only = kept.paths;
      const more = kept.way.parameters.operation === "revert" ? { on_conflict: "overwrite", unclear: "take" } : {};
      const these = await call("plan", { ...kept.way.parameters, ...more, only, contents: true });
      for (const file of these.report.files) all.set(idOf(file), Object.assign(file, { plan: these.plan }));
      kept.paths = kept.paths.filter((file) => !all.has(idOf(file)));
    }
    const own = new Set(report.files.map(idOf));
    // The log of a database is in the plan with it alone.
    const more = [...all].filter(([id]) => !own.has(id)).map(([, file]) => file);
    report.files = [...report.files.map((file) => all.get(idOf(file)) ?? file), ...more];
  }

  /** Of a hunk that is meant, only that is taken. */
  async choose(files) {
    if (this.hunk === null) return;
    const { lines: meant, text } = this.hunk;
    const file = files.find(goes);
    this.hunk = null;
    const now = file && (await sidesOfContents(file)).before?.bytes;
    if (now) this.choices.set(idOf(file), [moved(text, new TextDecoder().decode(now), meant)]);
  }

  fail(error) {
    this.dialog.replaceChildren(
      h("h2", { id: "plan-title" }, this.title),
      h("p.banner", { role: "alert" }, shown(error.message)),
      error.hint ? h("p.note", {}, shown(error.hint)) : null,
      h("footer", {}, h("button", { type: "button", on: { click: () => this.dialog.close() } }, "Close")));
  }

  async draw({ plan, report }) {
    this.planned = { plan, report };
    const moving = report.files.filter(goes);
    const byId = new Map(report.files.map((file) => [idOf(file), file]));
    const kept = report.kept.filter(({ paths }) => paths.length > 0);
    this.stays = new Set(kept.filter(({ kind }) => kind !== "other_message").flatMap(({ paths }) => paths.map(idOf)));
    const sections = kept.map((one) => this.kept(one, one.paths.map((file) => byId.get(idOf(file)) ?? file)));
    const failed = report.files.filter(({ result }) => result === "failed");
    if (failed.length > 0) sections.push(this.kept({ kind: "failed", why: "the system refused; the next operation tries again", way: { first: null } }, failed));
    sections.push(this.git(report.git.filter(({ result }) => !["planned", "done"].includes(result))));
    const same = report.files.filter((file) => !goes(file) && file.result !== "failed" && !this.stays.has(idOf(file)));
    const isSomething = plan !== null && (moving.length > 0 || await this.moves(report));
    const list = moving.length > 0 ? h("section", {}, h("h3", {}, "Changes"), h("ul.plan-files", {}, this.rows(moving))) : null;
    const parts = [
      h("h2", { id: "plan-title" }, this.title),
      this.banner ? h("p.banner", { role: "status" }, this.banner) : null,
      report.busy ? h("p.banner", { role: "status" }, "An agent is at work in this workspace. Wait until it is done, or go ahead anyway.") : null,
      h("p.facts", { id: "plan-facts", role: "status" }),
      report.notes.map((note) => h("p.note", {}, shown(note))),
      this.conversation(report),
      sections,
      list,
      same.length > 0 ? h("section", {}, h("h3", {}, same.every(({ action }) => action === "none") ? "Already so" : "Stays"), h("ul.plan-files", {}, folded(same, { row: (file) => this.file(file), movement: () => null, group: () => "as it is" }))) : null,
      moving.length === 0 ? h("p.empty", {}, "No file would change.") : null,
      h("footer", {},
        h("button", { type: "button", on: { click: () => this.dialog.close() } }, isSomething ? "Cancel" : "Close"),
        !isSomething ? null
          : report.busy ? h("button.danger", { type: "button", id: "apply", on: { click: () => this.apply(true) } }, "Go ahead anyway")
            : h("button.main", { type: "button", id: "apply", on: { click: () => this.apply(false) } })),
    ];
    this.dialog.replaceChildren(...parts.flat(2).filter(Boolean));
    this.tell();
    if (!report.busy) this.dialog.querySelector("#apply")?.focus();
  }

  /** Returns whether a plan that changes no file moves git's state or the revert point: otherwise there is nothing to do. */
  async moves(report) {
    const { operation, alone, step, only } = this.asked;
    if (report.git.some(({ result }) => result === "planned")) return true;
    if (["forked", "cut", "back"].includes(report.conversation?.kind)) return true;
    if (operation === "restore" || alone || step || only || report.session === null) return false;
    const now = await call("status", { session: report.session });
    return now.revert_point !== report.message || (now.redo && ["redo", "unrevert"].includes(operation));
  }

  /** What goes back: the files, the agent's conversation, or both. What cannot be is said, and why. */
  conversation({ conversation: told }) {
    const { operation, alone, step, only, conversation: asked = "no" } = this.asked;
    if (operation !== "revert" || alone || step || only) return null;
    const choices = { no: "Files", fork: "Files and conversation", only: "Conversation" };
    const button = ([how, name]) => h("button", { type: "button", id: `conversation-${how}`, "aria-pressed": String(how === asked), on: { click: () => this.again({ conversation: how }) } }, name);
    const stays = told?.note ?? told?.reason?.replaceAll("_", " ");
    const text = asked === "no" ? null
      : told?.kind === "forked" ? `A new conversation will end just before the message (${told.interface}); the old one stays.${told.note ? ` ${told.note}` : ""}`
        : `The conversation stays as it is: ${stays}.`;
    return h("section.conversation", {}, h("h3", {}, "Goes back"), h("p", {}, Object.entries(choices).map(button)), text ? h("p.note", {}, shown(text)) : null);
  }

  /** The command that goes on in the conversation, to copy. */
  goOn({ argv, prefill = [], directory }) {
    const quote = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
    const command = `cd ${quote(directory)} && ${[...argv, ...prefill].map(quote).join(" ")}`;
    this.dialog.replaceChildren(
      h("h2", { id: "plan-title" }, this.title), h("p", {}, "The conversation goes on here:"), h("pre", {}, shown(command)),
      h("footer", {}, h("button.main", { type: "button", on: { click: () => this.dialog.close() } }, "Close")));
  }

  /** Says how much of it is taken. */
  tell() {
    const { report } = this.planned;
    // A file that moves is one.
    const moving = report.files.filter((file) => goes(file) && !this.gone.has(file));
    const taken = moving.filter((file) => this.choices.get(idOf(file))?.length !== 0);
    const stay = this.stays.size;
    const facts = [`${count(taken.length, "file")} to change`];
    if (taken.length < moving.length) facts.push(`${count(moving.length - taken.length, "file")} left out`);
    if (stay > 0) facts.push(`${count(stay, "file")} ${stay === 1 ? "stays" : "stay"}, wholly or in part`);
    if (report.messages_hidden.length > 0) facts.push(this.isWhole() ? `${count(report.messages_hidden.length, "message")} taken back` : "a part: no message is taken back");
    this.dialog.querySelector("#plan-facts").replaceChildren(...facts.map((fact) => h("span", {}, fact)));
    const apply = this.dialog.querySelector("#apply");
    if (!apply || report.busy) return;
    apply.textContent = moving.length > 0 ? `Change ${count(taken.length, "file")}` : "Do it";
    apply.disabled = moving.length > 0 && taken.length === 0;
  }

  isWhole() {
    return this.choices.size === 0 && this.forced.size === 0;
  }

  again(more) {
    this.asked = { ...this.asked, ...more };
    return this.plan();
  }

  /** Files that stay for one reason, and the way out. */
  kept({ kind, why, way, root }, files) {
    const choice = ["overwrite", "take", "again"].find((one) => files.some(({ choices = [] }) => choices.includes(one)));
    const isTried = choice === "take" ? this.asked.unclear === "take" : choice === "overwrite" && this.asked.on_conflict === "overwrite";
    const single = !root && ["take", "overwrite"].includes(choice) ? choice : null;
    return h("section.conflicts", { data: { kind } },
      h("h3", {}, titles[kind] ?? "Not written"),
      h("p", {}, shown(reason({ why, way, root }))),
      h("ul.plan-files", {}, folded(files, { row: (file) => this.file(file, single), movement: () => null, group: () => "kept" })),
      this.wayOut({ kind, way, root }, files, isTried ? undefined : choice));
  }

  /** What of git's state stays, why, and the command that moves it, to copy. */
  git(parts) {
    if (parts.length === 0) return null;
    const names = { head: "HEAD", index: "The index" };
    const part = ({ part: kind, name, reason, way }) => {
      const text = [reason, way].filter(Boolean).map((clause) => `${sentence(clause)}.`).join(" ");
      return h("li", {}, h("strong", {}, shown(names[kind] ?? name.replace("refs/heads/", ""))), ` ${shown(text)}`);
    };
    return h("section.conflicts", { data: { kind: "git" } }, h("h3", {}, "Git’s state stays"), h("ul", {}, parts.map(part)));
  }

  /** The button that takes all files of a kind along. */
  wayOut({ kind, way, root }, files, choice) {
    const button = (id, text, click) => h("button", { type: "button", id, on: { click } }, text);
    if (kind === "other_message") return way && button("theirs", "Plan to take these back", () => this.instead(way.parameters));
    if (choice === "again") return button("again", "Plan again", () => this.plan());
    const more = choice === "overwrite" && this.asked.operation !== "undo" ? { on_conflict: "overwrite" }
      : kind === "unclear" && this.asked.operation === "revert" ? { unclear: "take" } : null;
    if (!choice || (root && !more)) return null;
    const isGone = files.every(({ contents }) => contents?.earlier?.blob === null);
    const text = choice === "take" ? "Take these, too" : isGone ? "Remove these" : "Take the earlier version of these";
    return button(choice, text, () => {
      // That is a plan of all roots: what stays in others is not meant, and is left out.
      const others = this.planned.report.kept.filter((kept) => more && kept.root !== root);
      for (const file of others.flatMap(({ paths }) => paths)) this.choices.set(idOf(file), []);
      if (more) return this.again(more);
      for (const file of files) this.forced.set(idOf(file), file);
      return this.plan();
    });
  }

  /** Plans something else in the place of this. */
  instead(asked) {
    [this.asked, this.title] = [asked, "Take back what another message did"];
    for (const chosen of [this.forced, this.choices]) chosen.clear();
    return this.plan();
  }

  /** The rows of files that change: of a renamed file one, and those that only move together as one. */
  rows(files) {
    const gone = new Map(files.filter(({ action, old_blob: blob }) => action === "delete" && blob).map((file) => [file.old_blob, file]));
    const merged = [];
    const hidden = new Set();
    for (const file of files) {
      const from = file.action === "write" && !file.old_blob && gone.get(file.new_blob);
      if (!from || hidden.has(from)) continue;
      hidden.add(from);
      merged.push({ ...file, was: from, additions: 0, deletions: 0 });
    }
    this.gone = hidden;
    const renamed = new Map(merged.map((file) => [idOf(file), file]));
    const all = files.filter((file) => !hidden.has(file)).map((file) => renamed.get(idOf(file)) ?? file);
    const words = { write: "put back", delete: "removed", merge: "merged" };
    return folded(all, {
      row: (file) => this.file(file, null),
      movement: (file) => (file.was ? movement(nameOf(file.was), nameOf(file)) : null),
      group: (file) => words[file.action],
      head: (some) => this.box(some, `${count(some.length, "file")}`),
    });
  }

  /** A box that takes files, or leaves them out. */
  box(files, name) {
    const all = files.flatMap((file) => (file.was ? [file, file.was] : [file]));
    const choice = () => all.map((file) => this.choices.get(idOf(file)));
    const box = h("input.take", { type: "checkbox", "aria-label": `Take ${name}`, checked: choice().every((one) => one?.length !== 0) });
    box.indeterminate = choice().some((one) => one?.length > 0);
    box.addEventListener("change", () => {
      for (const file of all) {
        if (box.checked) this.choices.delete(idOf(file));
        else this.choices.set(idOf(file), []);
      }
      for (const other of box.closest("li").querySelectorAll("input.take")) [other.checked, other.indeterminate] = [box.checked, false];
      this.tell();
    });
    return box;
  }

  file(file, way) {
    const body = h("div.change");
    const stays = !goes(file);
    const isDecided = stays && file.action !== "none" && file.result !== "planned";
    const tag = isDecided ? (file.result === "gap" ? "not captured" : "stays") : actions[file.action];
    const force = !way || !file.choices?.includes(way) || goes(file) && !file.unclear ? null : h("button.force", { type: "button", "aria-label": `${way === "take" ? "Take" : "Overwrite"} ${shown(nameOf(file))}`, on: { click: () => {
      this.forced.set(idOf(file), file);
      this.plan();
    } } }, way === "take" ? "Take" : "Overwrite");
    const element = h("details", { on: { toggle: () => this.unfold(element, body, file) } },
      h("summary", {},
        file.was ? [path(nameOf(file.was)), h("span", {}, "→")] : null, path(nameOf(file)), h("span.tag", {}, file.was ? "moved back" : tag),
        lines(file.additions, file.deletions), file.reason ? h("span.why", {}, shown(file.reason)) : null), body);
    // Beside the summary: what can be pressed has no place in what can be.
    return h("li.part", {}, stays || way ? null : this.box([file], shown(nameOf(file))), element, force);
  }

  async unfold(element, body, file) {
    if (!element.open || body.childElementCount > 0) return;
    try {
      let sides = await sidesOfContents(file);
      let names = ["On disk", "Afterwards"];
      const isKept = !goes(file);
      if (isKept) {
        const earlier = file.contents?.earlier ?? null;
        if (earlier === null) return void body.replaceChildren(h("p.note", {}, "There is no other version of it to show."));
        names = ["As it is now", "The earlier version"];
        sides = await sidesOfContents({ ...file, new_blob: earlier.blob, contents: { ...file.contents, after: earlier.content } });
      }
      const canChoose = !isKept && file.action !== "delete" && sides.before !== null;
      const hunk = canChoose ? (one) => this.hunkBox(element, file, one) : null;
      body.replaceChildren(h("p.sides", {}, h("span", {}, `− ${names[0]}`), h("span", {}, `+ ${names[1]}`)),
        await show(file.path, sides, { ...options, split: isKept ? innerWidth > 900 : options.split, hunk }));
    } catch (error) {
      body.replaceChildren(h("p.note", {}, shown(error.message)));
    }
  }

  /** A box that takes one hunk, or leaves it. */
  hunkBox(element, file, { old, first }) {
    const id = idOf(file);
    const meets = ([from, to]) => Math.max(from, old[0]) < Math.min(to, old[1]) || (from === old[0] && to === old[1]);
    const isTaken = () => !this.choices.has(id) || this.choices.get(id).some(meets);
    const box = h("input.take", { type: "checkbox", checked: isTaken(), data: { lines: `${old[0]} ${old[1]}` } });
    box.addEventListener("change", () => {
      const boxes = [...element.querySelectorAll(".change input.take")];
      const taken = boxes.filter(({ checked }) => checked).map(({ dataset }) => dataset.lines.split(" ").map(Number));
      if (taken.length === boxes.length) this.choices.delete(id);
      else this.choices.set(id, taken);
      const whole = element.parentElement.querySelector("input.take");
      [whole.checked, whole.indeterminate] = [taken.length > 0, taken.length > 0 && taken.length < boxes.length];
      this.tell();
    });
    return h("label", {}, box, ` Take the change at line ${first.old + 1}`);
  }

  /** The files that are taken, as `apply` wants them; nothing if all of the plan is. */
  parts() {
    if (this.isWhole()) return {};
    const taken = this.planned.report.files.filter((file) => goes(file) && this.choices.get(idOf(file))?.length !== 0);
    return { parts: taken.map((file) => ({
      path: { path: file.path, path_hex: file.path_hex ?? null },
      workspace: file.root ?? null,
      plan: file.plan,
      hunks: this.choices.get(idOf(file))?.map(([from, to]) => ({ old_start: to > from ? from + 1 : from, old_lines: to - from })) ?? null,
    })) };
  }

  async apply(force) {
    for (const button of this.dialog.querySelectorAll("button")) button.disabled = true;
    try {
      this.report = await call("apply", { plan: this.planned.plan, force, ...this.parts() });
      const conversation = this.report.conversation;
      if (conversation?.argv.length > 0) this.goOn(conversation);
      else this.dialog.close();
    } catch (error) {
      if (error.kind !== "stale" && error.kind !== "busy") return this.fail(error);
      this.banner = error.kind === "stale" ? "Something has changed since this plan was made, and nothing was done. This is the new plan." : shown(error.message);
      await this.plan();
    }
  }
}
