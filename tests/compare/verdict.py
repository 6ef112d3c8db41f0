"""What a scenario came to: pure, of trees and bytes.

`all`: exactly as just before the message, with what the user did since. `lost`: bytes of the user's that no commit holds are
neither in the tree nor brought by the rival's own way forward. `partly`: everything between the two; the notes name it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """What was expected, and what was found."""

    expected: dict
    # What the agent and the user had made of it.
    after: dict
    found: dict
    # What the way forward brought; None where the rival has none.
    redone: dict | None
    is_head_back: bool
    # What the agent was to work on and did not have.
    unseen: tuple
    # The user's bytes, as (path, is it in what was found, is it in what was redone).
    precious: tuple
    # Whether the scenario is about the way forward.
    is_redone: bool = False


def named(paths):
    """Some of the paths, by name."""
    paths = sorted(paths)
    names = ", ".join(f"`{path}`" for path in paths[:3])
    return names if len(paths) <= 3 else f"{names} and {len(paths) - 3} more"


def verdict(outcome):
    """Returns the word and the notes."""
    notes = []
    expected, after, found = outcome.expected, outcome.after, outcome.found
    lost = [path for path, is_found, is_redone in outcome.precious if not is_found and not is_redone]
    aside = [path for path, is_found, is_redone in outcome.precious if not is_found and is_redone]
    wrong = {path for path in expected.keys() | found.keys() if expected.get(path) != found.get(path)} - set(lost) - set(aside)
    gone = {path for path in wrong if path not in found}
    stays = {path for path in wrong - gone if found[path] == after.get(path)}
    modes = {path for path in wrong - gone - stays if path in expected and alike(expected[path], found[path])}
    for paths, what in (
        (lost, "lost: {}"), (aside, "gone until you go forward again: {}"), (gone, "not back: {}"), (stays, "the agent's stays: {}"),
        (modes, "other permissions: {}"), (wrong - gone - stays - modes, "differs: {}"),
    ):
        if paths:
            notes.append(what.format(named(paths)))
    if not outcome.is_head_back:
        notes.append("the agent's commit stays on the branch")
    if outcome.unseen:
        notes.append(f"the agent did not have {named(outcome.unseen)} to work on")
    if outcome.is_redone and outcome.redone is None:
        notes.append("no way forward")
    elif outcome.is_redone and outcome.redone != after:
        paths = {path for path in after.keys() | outcome.redone.keys() if after.get(path) != outcome.redone.get(path)}
        notes.append(f"not brought again: {named(paths)}")
    return ("lost" if lost else "partly" if notes else "all"), notes


def alike(one, other):
    """Whether two nodes differ in nothing but permissions."""
    return (one[0], one[2]) == (other[0], other[2])
