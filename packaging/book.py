#!/usr/bin/env python3
"""Makes the documentation a book of its own.

  packaging/book.py supports html       what mdbook asks first
  packaging/book.py                     what mdbook calls with the book: see `book.toml`
  packaging/book.py --check FOLDER      fails for every link of a book that was built that leads nowhere

The pages link to each other and to files of the repository, so that they can be read there. In the book, the pages of the
repository's root are beside the others, and the first of them is its first page. What is no page of the book is named
instead of linked, or linked if CKPT_SOURCES is the address of the repository's files.
"""

import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath, relpath
from urllib.parse import unquote

FENCE = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
ATTRIBUTE = re.compile(r'\b(src|srcset|href)="([^"]+)"')


def chapters(items):
    """Returns all chapters of a book, from the first to the last."""
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter and chapter["source_path"]:
            yield chapter
            yield from chapters(chapter["sub_items"])


def place_of(source, is_first):
    """Returns where the book has a page: those of the repository's root come beside the others."""
    if source.startswith("../") and not is_first:
        return source.removeprefix("../").lower()
    return source.removeprefix("../").replace("README.md", "index.md")


class Pages:
    """The pages of a book, by their paths in the repository."""

    def __init__(self, folder, items, sources):
        self.folder, self.sources = folder, sources
        self.places = {}
        for chapter in chapters(items):
            source = chapter["source_path"]
            self.places[normpath(join(folder, source))] = place_of(source, not self.places)

    def target(self, page, link):
        """Returns what a link of a page is in the book, and whether it leaves the book."""
        path, mark, anchor = link.partition("#")
        if "://" in link or not path:
            return link, False
        target = normpath(join(dirname(page), path))
        at = self.places.get(target)
        if at is None and target.startswith(self.folder + "/"):
            at = relpath(target, self.folder)
        if at is None:
            return target, True
        return relpath(at, dirname(self.places[page]) or ".") + mark + anchor, False

    def link(self, page, text, link):
        target, leaves = self.target(page, link)
        if not leaves:
            return f"[{text}]({target})"
        if self.sources:
            return f"[{text}]({self.sources.rstrip('/')}/{target})"
        return text if text.strip("`") == target else f"{text} (`{target}`)"

    def converted(self, page, text):
        """Returns a page as the book has it. Blocks of code stay as they are."""
        parts = FENCE.split(text)
        for at in range(0, len(parts), 2):
            parts[at] = LINK.sub(lambda found: self.link(page, *found.groups()), parts[at])
            parts[at] = ATTRIBUTE.sub(lambda found: f'{found[1]}="{self.target(page, found[2])[0]}"', parts[at])
        return "".join(parts)


def convert(context, book):
    # Before mdbook 0.5 they had another name.
    items = book.get("items") or book["sections"]
    folder = context["config"]["book"]["src"]
    pages = Pages(folder, items, os.environ.get("CKPT_SOURCES"))
    for chapter in chapters(items):
        page = normpath(join(folder, chapter["source_path"]))
        chapter["content"] = pages.converted(page, chapter["content"])
        chapter["path"] = pages.places[page]


class Links(HTMLParser):
    """The links and the names of a page."""

    def __init__(self, file):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.names.add(value)
            elif name in ("href", "src", "srcset") and value:
                self.links.append(value)


def check(folder):
    folder = Path(folder).resolve()
    # The page for printing holds all others once more, and the one for errors is read from anywhere.
    files = {file: Links(file) for file in folder.rglob("*.html") if file.name not in ("print.html", "404.html", "toc.html")}
    dead = []
    for file, page in files.items():
        for link in page.links:
            path, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (file.parent / unquote(path)).resolve() if path else file
            if not target.is_relative_to(folder) or not target.exists():
                dead.append(f"{file.relative_to(folder)}: {link}")
            elif anchor and target in files and unquote(anchor) not in files[target].names:
                dead.append(f"{file.relative_to(folder)}: {link}")
    for link in dead:
        print(f"a link that leads nowhere: {link}")
    print(f"{len(files)} pages, {sum(len(page.links) for page in files.values())} links")
    sys.exit(bool(dead) or not files)


if sys.argv[1:2] == ["supports"]:
    sys.exit()
elif sys.argv[1:2] == ["--check"]:
    check(sys.argv[2])
else:
    the_context, the_book = json.load(sys.stdin)
    convert(the_context, the_book)
    json.dump(the_book, sys.stdout)
