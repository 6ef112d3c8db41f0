// Syntax colours: highlight.js finds the words, and they become tokens here and not markup.

let library = null;

/** Collects what highlight.js finds, by line: each token is a text and its kind. */
class Collector {
  constructor() {
    this.kinds = [];
    this.lines = [[]];
  }
  addText(text) {
    const kind = this.kinds.at(-1) ?? null;
    text.split("\n").forEach((part, index) => {
      if (index > 0) this.lines.push([]);
      if (part !== "") this.lines.at(-1).push([part, kind]);
    });
  }
  startScope(kind) {
    this.kinds.push(kind);
  }
  endScope() {
    this.kinds.pop();
  }
  openNode(kind) {
    this.startScope(kind);
  }
  closeNode() {
    this.endScope();
  }
  closeAllNodes() {
    this.kinds = [];
  }
  __addSublanguage(other) {
    other.lines.forEach((line, index) => {
      if (index > 0) this.lines.push([]);
      this.lines.at(-1).push(...line);
    });
  }
  finalize() {}
  toHTML() {
    return "";
  }
}

const names = { makefile: "makefile", gnumakefile: "makefile", justfile: "makefile", "cargo.lock": "ini", rakefile: "ruby", gemfile: "ruby" };

/** Returns the lines of a text as tokens: each a text and its kind, or null. */
export async function tokens(text, path) {
  const plain = () => text.split("\n").map((line) => (line === "" ? [] : [[line, null]]));
  if (text.length > 400_000) return plain();
  if (library === null) {
    library = (await import("/vendor/highlight.min.js")).default;
    library.configure({ __emitter: Collector });
  }
  const file = path.split("/").at(-1).toLowerCase();
  const language = names[file] ?? file.split(".").at(-1);
  if (!library.getLanguage(language)) return plain();
  try {
    return library.highlight(text, { language, ignoreIllegals: true })._emitter.lines;
  } catch {
    return plain();
  }
}

const classes = [
  [/^(keyword|built_in|literal|type|selector-tag|doctag)/, "k"],
  [/^(string|regexp|char|link|addition)/, "s"],
  [/^(comment|quote)/, "c"],
  [/^(number|symbol|bullet)/, "n"],
  [/^(title|section|name|function)/, "f"],
  [/^(attr|attribute|variable|property|params|meta|tag|selector)/, "a"],
];
const known = new Map();

/** Returns the style class of a kind of token. */
export function styleOf(kind) {
  if (kind === null) return null;
  if (!known.has(kind)) known.set(kind, classes.find(([pattern]) => pattern.test(kind))?.[1] ?? null);
  return known.get(kind);
}
