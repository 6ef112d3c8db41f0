"""Asks every question of docs/database.md with the programs that people have for SQLite, of a store with 20,000 steps.

    tools.py BINARY SCRATCH [--measure]

Each has to answer without an error. With --measure, processor times are printed, which a busy machine does not change much: the least of
three, in milliseconds, without the start of Python's programs; the slowest question last.
"""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

from datasette.app import Datasette
from sqlite_utils import Database

HERE = Path(__file__).parent
PAGE = (HERE / "../../docs/database.md").read_text()


def world(binary, scratch):
    """A store with a workspace of one file, and the history that stands beside this program."""
    workspace = scratch / "workspace"
    workspace.mkdir()
    (workspace / "a").write_text("1\n")
    environment = {"HOME": str(scratch), "CKPT_HOOK_HOME": str(scratch / "store"), "PATH": "/usr/bin:/bin"}

    def run(*arguments):
        subprocess.run([binary, *arguments], cwd=workspace, env=environment, check=True, stdout=subprocess.PIPE)

    run("snapshot")
    run("status")
    store = scratch / "store/sessions.db"
    connection = sqlite3.connect(store)
    connection.executescript((HERE / "history.sql").read_text())
    connection.close()
    return store, workspace, run


def questions(workspace):
    queries = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    place = str(workspace).replace("'", "''")
    own = {"/home/you/project": place, "src/main.rs": "src/parser/file3.rs", "%second%": "%parser%", "second OR third": "parser OR login"}
    for name, here in own.items():
        queries = [query.replace(name, here) for query in queries]
    return queries


def processor_time():
    """Seconds of this process, and of the programs that it started and that have ended."""
    return sum(os.times()[:4])


def timed(ask):
    """The least time of three, and the last answer."""
    best = None
    for _ in range(3):
        begin = processor_time()
        answer = ask()
        took = (processor_time() - begin) * 1000
        best = took if best is None else min(best, took)
    return best, answer


def with_sqlite(store, query):
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        rows = []
        for statement in filter(str.strip, query.split(";\n")):
            rows = connection.execute(statement).fetchall()
        return rows
    finally:
        connection.close()


def with_sqlite_utils(store, query):
    database = Database(sqlite3.connect(f"file:{store}?mode=ro", uri=True))
    return list(database.query(query))


class WithDatasette:
    """Datasette's own pages and its JSON, without a server."""

    def __init__(self, store):
        self.datasette = Datasette([str(store)], settings={"sql_time_limit_ms": 60000, "facet_time_limit_ms": 60000})
        self.loop = asyncio.new_event_loop()

    def get(self, path, **parameters):
        from urllib.parse import urlencode

        url = path + ("?" + urlencode(parameters) if parameters else "")
        answer = self.loop.run_until_complete(self.datasette.client.get(url, follow_redirects=True))
        assert answer.status_code == 200, f"{url}: {answer.status_code} {answer.text[:300]}"
        return answer


def main():
    binary, scratch = sys.argv[1], Path(sys.argv[2]).resolve()
    measures = "--measure" in sys.argv
    store, workspace, run = world(binary, scratch)
    times = []

    def ask(program, what, question):
        took, answer = timed(question)
        times.append((took, program, what))
        return answer

    datasette = WithDatasette(store)
    empty = []
    for query in questions(workspace):
        what = " ".join(query.split())[:70]
        if not ask("sqlite3", what, lambda: with_sqlite(store, query)):
            empty.append(what)
        if query.lstrip().startswith("CREATE"):
            continue
        ask("sqlite-utils", what, lambda: with_sqlite_utils(store, query))
        statement = query.strip().rstrip(";")
        ask("datasette", what, lambda: datasette.get("/sessions.json", sql=statement, _shape="array"))
    for view, facet in [
        ("file_history", "agent"),
        ("file_history", "attribution"),
        ("message_overview", "state"),
        ("step_overview", "agent"),
        ("tool_overview", "name"),
        ("operation_overview", "outcome"),
        ("snapshot_overview", "branch"),
        ("label_overview", "kind"),
        ("session_overview", "agent"),
    ]:
        # Without it, Datasette tries every column as a facet, and gives up each after 50 ms of its own.
        page = ask("datasette", f"{view} by {facet}", lambda: datasette.get(f"/sessions/{view}", _facet=facet, _nosuggest=1))
        assert f'data-column="{facet}"' in page.text or facet in page.text, f"{view} has the facet {facet}"
    for arguments in [("log",), ("log", "-n", "50"), ("log", "--graph", "-n", "200"), ("status",), ("show", "last"), ("log", "--operations")]:
        ask("ckpt-hook", " ".join(arguments), lambda: run(*arguments))
    if measures:
        for took, program, what in sorted(times):
            print(f"{took:8.1f} ms  {program:12}  {what}")
    # What happened today is nothing, and the newest version of a file is what a revert made of it.
    assert len(empty) <= 2, f"nothing was found by: {empty}"
    print(f"{len(times)} questions were answered")


main()
