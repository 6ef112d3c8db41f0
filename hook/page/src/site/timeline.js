// The history as a list: messages with their steps, operations, and what changed outside. Only the rows in view are elements, so that
// a long history scrolls like a short one.

import { count, h, lines, shown, time, titleOf } from "/dom.js";

/** How high a row is; on a phone, a prompt has two lines. */
const ROWS = { wide: 60, narrow: 82 };
const narrow = matchMedia("(max-width: 760px)");
let ROW = narrow.matches ? ROWS.narrow : ROWS.wide;
const MORE = 8;
const verbs = { revert: "Reverted", redo: "Redone", unrevert: "Brought back", restore: "Restored" };

/** Returns what tells an entry from the others. */
export function keyOf(entry) {
  return entry.type === "outside" ? `outside ${entry.time} ${entry.from} ${entry.to}` : entry.id;
}

export class Timeline {
  /** `choose` is called with an entry that was selected, whether it is to be read, and whether the address follows; `steps` returns the steps of a message. */
  constructor(place, choose, steps) {
    this.choose = choose;
    this.steps = steps;
    this.entries = [];
    this.prompts = new Map();
    this.operations = new Map();
    this.rows = [];
    this.opened = new Map();
    this.kinds = new Set(["message", "operation", "outside"]);
    this.at = -1;
    this.fresh = new Set();
    this.space = h("div.space", { role: "presentation" });
    this.list = h("div.list", { role: "tree", tabindex: 0, "aria-label": "History, newest first" }, this.space);
    place.append(this.list);
    this.list.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => {
      ROW = narrow.matches ? ROWS.narrow : ROWS.wide;
      this.space.style.setProperty("height", `${this.rows.length * ROW}px`);
      this.draw();
    }).observe(this.list);
    this.list.addEventListener("keydown", (event) => this.press(event));
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[data-at]");
      if (row === null) return;
      const at = Number(row.dataset.at);
      if (event.target.closest(".turn")) this.toggle(at);
      else this.select(at, true);
    });
  }

  /** Shows these entries; what was selected and opened stays so. */
  set(entries, { isLive = false } = {}) {
    const before = new Set(this.entries.map(keyOf));
    this.entries = entries;
    // Of a search, the operations are listed without the messages that they name.
    for (const entry of entries) {
      if (entry.type === "message") this.prompts.set(entry.id, entry.prompt);
      if (entry.type === "operation") this.operations.set(entry.id, entry);
    }
    if (isLive) {
      for (const entry of entries.slice(0, 50)) if (!before.has(keyOf(entry))) this.fresh.add(keyOf(entry));
    }
    this.arrange();
  }

  /** Returns what an operation did, in words; of an undo, what it took back. */
  named(operation) {
    if (operation.undoes) {
      const undone = this.operations.get(operation.undoes);
      return `Undone: ${undone ? this.named(undone) : `operation ${operation.undoes.slice(0, 8)}`}`;
    }
    const prompt = this.prompts.get(operation.alone ?? operation.part ?? operation.message);
    const named = prompt ? `: ${shown(prompt).replace(/\s+/g, " ")}` : "";
    const where = operation.alone ? " one message" : operation.part ? " a part" : named && " to before";
    return `${verbs[operation.kind] ?? operation.kind}${where}${named}`;
  }

  /** Returns the operation that an undo took back in the end, as far as it is here; any other stands for itself. */
  first(operation) {
    const undone = this.operations.get(operation.undoes);
    return undone ? this.first(undone) : operation;
  }

  selected() {
    return this.rows[this.at]?.entry ?? null;
  }

  arrange() {
    const key = this.at >= 0 ? keyOf(this.rows[this.at].entry) : null;
    const anchor = this.list.scrollTop > ROW ? this.rows[Math.floor(this.list.scrollTop / ROW)] : null;
    this.rows = [];
    this.undos = new Map();
    for (const entry of this.entries) {
      if (!this.kinds.has(entry.type)) continue;
      // An operation and its undos are one row.
      const first = entry.type === "operation" ? this.first(entry) : entry;
      if (first !== entry) {
        this.undos.set(first.id, (this.undos.get(first.id) ?? 0) + 1);
        continue;
      }
      this.rows.push({ entry, level: 1 });
      for (const step of this.opened.get(entry.id) ?? []) this.rows.push({ entry: step, level: 2 });
    }
    this.at = key === null ? -1 : this.rows.findIndex((row) => keyOf(row.entry) === key);
    this.space.style.setProperty("height", `${this.rows.length * ROW}px`);
    // What is being read stays where it is while newer rows come above it.
    if (anchor) {
      const now = this.rows.findIndex((row) => keyOf(row.entry) === keyOf(anchor.entry));
      if (now >= 0) this.list.scrollTop = now * ROW + (this.list.scrollTop % ROW);
    }
    this.draw();
  }

  async toggle(at) {
    const { entry } = this.rows[at] ?? {};
    if (entry?.type !== "message" || entry.steps === 0) return;
    if (this.opened.has(entry.id)) this.opened.delete(entry.id);
    else this.opened.set(entry.id, await this.steps(entry));
    this.arrange();
  }

  select(at, isFinal = false, isLinked = true) {
    if (this.rows.length === 0) return;
    this.at = Math.max(0, Math.min(at, this.rows.length - 1));
    const top = this.at * ROW;
    const height = this.list.clientHeight;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + ROW > this.list.scrollTop + height) this.list.scrollTop = top + ROW - height;
    this.draw();
    this.choose(this.rows[this.at].entry, isFinal, isLinked);
  }

  /** Moves the selection by so many rows. */
  move(by) {
    this.select(this.at < 0 ? 0 : this.at + by);
  }

  press(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const row = this.rows[this.at];
    const keys = {
      ArrowDown: () => this.move(1),
      ArrowUp: () => this.move(-1),
      PageDown: () => this.move(page),
      PageUp: () => this.move(-page),
      Home: () => this.select(0),
      End: () => this.select(this.rows.length - 1),
      Enter: () => this.select(this.at, true),
      " ": () => this.toggle(this.at),
      ArrowRight: () => row && !this.opened.has(row.entry.id) && this.toggle(this.at),
      ArrowLeft: () => row && this.close(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  close() {
    const { entry, level } = this.rows[this.at];
    if (level === 2) {
      const parent = this.rows.findIndex((row) => row.level === 1 && row.entry.id === entry.message);
      this.select(parent);
    } else if (this.opened.has(entry.id)) this.toggle(this.at);
  }

  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - MORE);
    const last = Math.min(this.rows.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + MORE);
    const elements = [];
    for (let at = first; at < last; at += 1) elements.push(this.element(at));
    this.space.replaceChildren(...elements);
    const chosen = this.at >= first && this.at < last ? `row-${this.at}` : null;
    if (chosen) this.list.setAttribute("aria-activedescendant", chosen);
    else this.list.removeAttribute("aria-activedescendant");
  }

  element(at) {
    const { entry, level } = this.rows[at];
    const [classes, inner] = level === 2 ? stepRow(entry) : rows[entry.type](entry, this);
    if (this.fresh.delete(keyOf(entry))) classes.push("fresh");
    return h(["div", "row", ...classes].join("."), {
      id: `row-${at}`,
      role: "treeitem",
      "aria-level": level,
      "aria-selected": at === this.at ? "true" : "false",
      "aria-expanded": entry.type === "message" && level === 1 && entry.steps > 0 ? String(this.opened.has(entry.id)) : null,
      "aria-posinset": at + 1,
      "aria-setsize": this.rows.length,
      data: { at },
      style: { transform: `translateY(${at * ROW}px)` },
    }, h("span.rail", {}, h("span.dot")), inner);
  }
}

/** Returns whether a step of a message goes on. */
export function isAtWork(message) {
  return message.finished === null && message.steps > 0;
}

/** Returns whether nothing is known yet of what a message changed: that is counted when its step ends. */
export function isUncounted(message) {
  return isAtWork(message) && message.files === 0;
}

const states = { hidden: "reverted", discarded: "discarded" };

const rows = {
  message(entry, timeline) {
    const isOpen = timeline.opened.has(entry.id);
    const state = states[entry.state] ?? (entry.undone_alone ? "undone alone" : entry.left ? "left by the agent" : null);
    const facts = [entry.agent];
    if (!isUncounted(entry)) facts.push(count(entry.files, "file"));
    for (const root of entry.roots ?? []) if (root.files > 0) facts.push(`${count(root.files, "file")} in ${root.workspace.split("/").pop()}`);
    if (entry.steps !== 1) facts.push(count(entry.steps, "step"));
    return [["message", entry.state, ...(entry.undone_alone ? ["alone"] : [])], h("div.text", {},
      h("div.first", {}, h("span.title", {}, shown(titleOf(entry.prompt)).replace(/\s+/g, " ")), time(entry.time)),
      h("div.second", {},
        entry.steps > 0 ? h(`span.turn${isOpen ? ".open" : ""}`, { "aria-hidden": "true" }) : null,
        h("span", {}, shown(facts.join(" · "))), lines(entry.additions, entry.deletions),
        state ? h("span.tag", {}, state) : null,
        isAtWork(entry) ? h("span.tag.live", {}, "at work") : null,
        ...entry.labels.map((label) => h("span.tag.label", {}, shown(label))),
        entry.unprotected ? h("span.tag.warn", {}, "not protected") : null))];
  },
  operation(entry, timeline) {
    const facts = [count(entry.files, "file")];
    const undos = timeline.undos.get(entry.id) ?? 0;
    return [["operation", entry.state], h("div.text", {},
      h("div.first", {}, h("span.title", {}, timeline.named(entry)), time(entry.time)),
      h("div.second", {}, h("span", {}, facts.join(" · ")),
        undos > 0 ? h("span.tag", {}, undos % 2 === 1 ? "undone" : "undone and done again") : null,
        entry.conflicts > 0 ? h("span.tag.warn", {}, count(entry.conflicts, "conflict")) : null,
        entry.state === "done" ? null : h("span.tag.warn", {}, entry.state.replaceAll("_", " "))))];
  },
  outside(entry) {
    return [["outside"], h("div.text", {},
      h("div.first", {}, h("span.title", {}, "Changed outside"), time(entry.time)),
      h("div.second", {}, h("span", {}, count(entry.files, "file")), lines(entry.additions, entry.deletions)))];
  },
};

function stepRow(step) {
  const tools = step.tools.length > 0 ? [...new Set(step.tools)].join(", ") : "step";
  return [["step"], h("div.text", {},
    h("div.first", {}, h("span.title", {}, shown(tools)), time(step.started)),
    h("div.second", {}, step.open && step.files.length === 0 ? null : h("span", {}, count(step.files.length, "file")),
      step.open ? h("span.tag.live", {}, "at work") : null,
      step.unprotected ? h("span.tag.warn", {}, "not protected") : null))];
}
