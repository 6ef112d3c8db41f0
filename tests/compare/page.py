"""The page of the comparison: made of what was played, and read again for what it claims."""

import datetime
import platform
import statistics
import textwrap
from pathlib import Path

from rivals.ckpt_hook import CkptHook
from scenarios import SCENARIOS
from world import Unavailable

PAGE = Path(__file__).parents[2] / "docs/comparison.md"

# How good a word is.
RANKS = {"no": 0, "lost": 1, "partly": 2, "all": 3}
TIMED = ("what comes before a message", "the same with 10,000 files", "going back", "going back with 10,000 files")
TIMES = (
    "The median of the small scenarios, and the one with 10,000 files, on a machine that had other work, too; each with the start of "
    "its programs. What an agent does by itself before a message cannot be timed from outside, and opencode's server runs already."
)

BEGINNING = """# Compared with what you would use instead

The same twenty scenarios, played with the real program of each. `just compare --write` played them on {date}
({machine}) and wrote this page. Only "How each was used" and part of "Where the others are
better" are written by hand, in [tests/compare](../tests/compare).

| word | meaning |
| --- | --- |
| all | after going back, every file of the folder has the bytes and permissions of just before the message, and what you did since is there |
| partly | something is missing, stays or differs, and [below](#what-did-not-come-back) it says what |
| lost | bytes of yours that no commit holds are neither in the folder nor brought by going forward again |
| no | it cannot be used there |
| not run | it could not be played here, and [below](#what-did-not-come-back) it says why |

All but one begin with a small shop in a git repository, a change in `README.md` that is not committed, a file `notes.txt`
that git does not track, and `.env` and `build/`, which are ignored. What "you" do comes after the agent's last message,
and before you go back.
"""


NOT_PLAYED = (
    "Entire and git-ai, which record with a commit what agents did, are not in these tables. Neither npm nor PyPI has their "
    "programs, so they could not be run where this page is made, and nothing is claimed of them."
)


def wrapped(text):
    """Text as lines of the width that the other pages have."""
    further = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=further, break_long_words=False, break_on_hyphens=False) + "\n"


def cells(row):
    """A row of a table."""
    return "| " + " | ".join(row) + " |\n"


def table(heads, rows):
    """A table."""
    return cells(heads) + cells(["---"] * len(heads)) + "".join(cells(row) for row in rows)


def told(value):
    """A time as a person tells it."""
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def times(rival, results):
    """The seconds that a rival takes, in the order of `TIMED`; None where they are not known."""
    small = [results[rival, scenario.name] for scenario in SCENARIOS if not scenario.tags]
    small = [played for played in small if played.back is not None]
    large = next(results[rival, scenario.name] for scenario in SCENARIOS if scenario.tags)
    begin, back = (
        [statistics.median(getattr(played, what) for played in small), getattr(large, what)] if small else [None, None]
        for what in ("begin", "back")
    )
    return ([None, None] if rival.is_built_in else begin) + back


def advantages(rival, results):
    """A sentence for each place where a rival did better than ckpt-hook."""
    for scenario in SCENARIOS:
        own, other = results[CkptHook, scenario.name].word, results[rival, scenario.name].word
        if RANKS.get(other, -1) > RANKS.get(own, -1):
            yield f"Where {scenario.says}, it is {other} with it, and {own} with ckpt-hook."
    # Doing half of it in half the time is no advantage.
    large = next(scenario.name for scenario in SCENARIOS if scenario.tags)
    is_whole = results[rival, large].word == "all"
    for what, own, other in zip(TIMED, times(CkptHook, results), times(rival, results)):
        if None not in (own, other) and other < own and (is_whole or "10,000" not in what):
            yield f"{what[0].upper()}{what[1:]} takes {told(other)} with it, and {told(own)} with ckpt-hook."


def sentences(rival, results):
    """Where a rival is better, by its nature and by what was played."""
    return [*rival.better, *(advantages(rival, results) if rival is not CkptHook else ())]


def page(versions, results):
    """Returns the page."""
    there = [rival for rival, version in versions.items() if not isinstance(version, Unavailable)]
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    parts = [BEGINNING.format(date=datetime.date.today().isoformat(), machine=machine)]
    parts.append("\n## What came back\n\n")
    rows = [[scenario.says] + [results[rival, scenario.name].word for rival in there] for scenario in SCENARIOS]
    rows.append(["**all, of twenty**"] + [str(sum(row[at + 1] == "all" for row in rows)) for at in range(len(there))])
    parts.append(table([""] + [rival.name for rival in there], rows))
    parts += [f"\n{rival.name} was not run: {why}.\n" for rival, why in versions.items() if isinstance(why, Unavailable)]
    parts.append("\n## What did not come back\n")
    for rival in there:
        notes = [(scenario, results[rival, scenario.name]) for scenario in SCENARIOS]
        lines = [f"- {scenario.says}: {'; '.join(played.notes)}" for scenario, played in notes if played.word != "all"]
        parts.append(f"\n### {rival.name}\n\n" + ("".join(map(wrapped, lines)) or "Everything came back.\n"))
    parts += ["\n## How long it took\n\n", wrapped(TIMES), "\n"]
    heads = ["", "version", "before a message", "with 10,000 files", "going back", "with 10,000 files"]
    rows = [[rival.name, str(versions[rival]), *map(told, times(rival, results))] for rival in there]
    parts.append(table(heads, rows))
    parts.append("\n## Where the others are better\n\n")
    parts += [wrapped(f"- **{rival.name}**: {sentence}") for rival in there for sentence in sentences(rival, results)]
    parts.append("\n## How each was used\n\nAs a careful user does who knows it well.\n\n")
    parts += [wrapped(f"- **{rival.name}**: {rival.use}") for rival in versions]
    parts += ["\n## What was not played\n\n", wrapped(NOT_PLAYED)]
    return "".join(parts)


def broken_claims(results):
    """Returns a sentence for each scenario in which ckpt-hook does less than the page says."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = next(row for row in rows if CkptHook.name in row)
    claims = {row[0]: row[heads.index(CkptHook.name)] for row in rows if len(row) == len(heads)}
    missing = [f"the page does not tell of: {scenario.says}" for scenario in SCENARIOS if scenario.says not in claims]
    played = [(scenario, results.get((CkptHook, scenario.name))) for scenario in SCENARIOS]
    return missing + [
        f"{scenario.says}: the page says all, and it was {found.word}: {'; '.join(found.notes)}"
        for scenario, found in played
        if found and claims.get(scenario.says) == "all" and found.word != "all"
    ]
