#!/usr/bin/env python3
"""The comparison that a user would make: the same twenty scenarios with each rival's real program.

    compare.py --hook BINARY                  plays all with all that can be run, and prints the table
    compare.py --hook BINARY --write          and writes docs/comparison.md
    compare.py --hook BINARY --check          plays those that need no network, quickly, and fails where ckpt-hook does not do what
                                              docs/comparison.md says of it
    --only RIVAL, --scenario NAME, --verbose  some of them, and what every program said
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import page  # noqa: E402
import verdict  # noqa: E402
import world  # noqa: E402
from rivals.ccundo import Ccundo  # noqa: E402
from rivals.ckpt_hook import CkptHook  # noqa: E402
from rivals.claude_code import ClaudeCode  # noqa: E402
from rivals.git_stash import GitStash  # noqa: E402
from rivals.opencode import Opencode  # noqa: E402
from rivals.stepback import Stepback  # noqa: E402
from rivals.worktree import Worktree  # noqa: E402
from scenarios import OWN_PATHS, SCENARIOS  # noqa: E402

RIVALS = (GitStash, Worktree, Opencode, ClaudeCode, Stepback, Ccundo, CkptHook)
# Those of them that need nothing but git.
QUICK = (GitStash, Worktree, CkptHook)
# What these play in a quick run, so that nothing of the recipe rots; ckpt-hook plays all.
QUICK_SCENARIOS = ("shell", "commit", "your other file", "redo")


class Tools:
    """Where the programs are."""

    def __init__(self, hook, folder):
        self.hook, self.folder = Path(hook).resolve(), Path(folder)
        self.path = os.environ["PATH"]

    def install(self, name, arguments):
        """Installs a program into a folder of its own by its registry's client, unless it is there; returns the folder."""
        folder = self.folder / "compare" / name
        if not (folder / "installed").exists():
            folder.mkdir(parents=True, exist_ok=True)
            done = self.say([argument.replace("FOLDER", str(folder)) for argument in arguments])
            if done is None or done.returncode != 0:
                raise world.Unavailable("it could not be installed")
            (folder / "installed").touch()
        return folder

    def agent(self, name):
        """Installs one of the agents that the other tests run, too; returns its version and its program."""
        tests = Path(__file__).parents[1] / "agents"
        rows = {line.split()[0]: line.split() for line in (tests / "packages").read_text().splitlines() if line[0] != "#"}
        done = self.say([str(tests / "run"), "--install", name])
        if done is None or done.returncode != 0:
            raise world.Unavailable("it could not be installed")
        _, _, version, program, _ = rows[name]
        agents = Path(os.environ.get("CKPT_REAL_AGENTS", self.folder / "agents"))
        node = agents / f"node-{rows['node'][2]}" / "node_modules/node/bin"
        return version, agents / f"{name}-{version}" / "node_modules/.bin" / program, node

    @staticmethod
    def say(arguments):
        """Runs a program; None where it is not there or does not end."""
        try:
            return subprocess.run(arguments, capture_output=True, stdin=subprocess.DEVNULL, timeout=world.PATIENCE, check=False)
        except (OSError, subprocess.SubprocessError):
            return None

    def first_line(self, arguments):
        """The first line that a program prints of itself."""
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=world.PATIENCE, check=True)
        except (OSError, subprocess.SubprocessError) as failure:
            raise world.Unavailable(f"{Path(arguments[0]).name} does not run here") from failure
        return done.stdout.splitlines()[0].strip()


class Played:
    """What a scenario came to with a rival: the word, the notes, and the seconds that it took."""

    def __init__(self, word, notes, begin=None, back=None):
        self.word, self.notes, self.begin, self.back = word, notes, begin, back


def holds(folder, path, needle):
    """Whether a file holds the bytes."""
    try:
        return needle in (Path(folder) / path).read_bytes()
    except OSError:
        return False


def play(rival_class, scenario, tools, is_quick, is_verbose):
    """Plays a scenario with a rival in a folder of its own."""
    if rival_class.needs_repository and not scenario.is_repository:
        return Played("no", ["it needs a repository"])
    folder = tempfile.mkdtemp(prefix="ckpt-compare-")
    rival = rival_class(world.World(folder, tools.path, is_quick))
    rival.tools = tools
    try:
        return perform(rival, scenario)
    finally:
        rival.end()
        if is_verbose:
            for arguments, code, said in rival.world.log:
                print(f"    $ {' '.join(map(str, arguments))[:200]} -> {code}\n{said.decode(errors='replace')[:2000]}")
        shutil.rmtree(folder, ignore_errors=True)


def perform(rival, scenario):
    """See `play`."""
    place, own = rival.world, rival.agent_folder == rival.world.workspace
    rival.scenario = scenario
    place.settle(scenario)
    rival.prepare()
    begins = []
    for number, message in enumerate(scenario.messages):
        # What is to come back is what the user has before the rival does anything about the message.
        if number == scenario.back_to:
            before, expected_folder = world.tree(place.workspace), place.copy("expected")
        begins.append(timed(lambda: rival.begin_message(number)))
        if number == scenario.back_to:
            seen = world.tree(rival.agent_folder)
            head = place.head(rival.agent_folder) if scenario.is_repository else None
        rival.agent_changes(number, message, scenario.is_killed)
    unseen = tuple(path for path in scenario.needs if seen.get(path) != before.get(path))
    if scenario.between:
        place.must(scenario.between if own else scenario.expected or scenario.between)
        done = place.shell(scenario.expected or scenario.between, expected_folder)
        if done.returncode != 0:
            raise RuntimeError(f"{scenario.name}: {done.stderr.decode()}")
    precious = [(path, (expected_folder / path).read_bytes()) for path in OWN_PATHS] + list(scenario.keeps)
    after = world.tree(place.workspace)
    back = timed(lambda: rival.go_back(scenario.back_to))
    expected, found = world.tree(expected_folder), world.tree(place.workspace)
    is_head_back = not scenario.is_repository or place.head(rival.agent_folder) == head
    if not own:
        found = joined(found, world.tree(rival.agent_folder), "agent")
        expected = joined(expected, seen, "agent")
        after = joined(after, {}, "agent")
    in_found = {path: holds(place.workspace, path, needle) for path, needle in precious}
    redone, in_redone = None, {}
    if rival.has_redo:
        rival.redo()
        redone = world.tree(place.workspace)
        in_redone = {path: holds(place.workspace, path, needle) for path, needle in precious}
    outcome = verdict.Outcome(
        expected, after, found, redone, is_head_back, unseen,
        tuple((path, in_found[path], in_redone.get(path, False)) for path, _ in precious), scenario.is_redone,
    )
    word, notes = verdict.verdict(outcome)
    return Played(word, notes, statistics.median(begins), back)


def joined(one, other, name):
    """Two trees as one; the paths of the second get a name in front."""
    return one | {f"{name}/{path}": node for path, node in other.items()}


def timed(work):
    """Does something; returns the seconds that it took."""
    start = time.monotonic()
    work()
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hook", required=True)
    parser.add_argument("--tools", default=os.environ.get("CKPT_TOOLS", Path.home() / ".cache/ckpt-hook-tools"))
    parser.add_argument("--only", action="append")
    parser.add_argument("--scenario", action="append")
    for name in ("--write", "--check", "--verbose"):
        parser.add_argument(name, action="store_true")
    options = parser.parse_args()
    # Whoever ends it ends what it started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.write and (options.only or options.scenario or options.check):
        parser.error("--write writes the whole page: play all of them")
    tools = Tools(options.hook, options.tools)
    versions, results = {}, {}
    for rival in QUICK if options.check else RIVALS:
        if options.only and rival.name not in options.only:
            continue
        try:
            versions[rival] = rival.version(tools)
        except world.Unavailable as why:
            versions[rival] = why
            print(f"{rival.name}: not run: {why}")
            continue
        for scenario in SCENARIOS:
            if options.scenario and scenario.name not in options.scenario:
                continue
            if options.check and rival is not CkptHook and scenario.name not in QUICK_SCENARIOS:
                continue
            try:
                played = play(rival, scenario, tools, options.check, options.verbose)
            except (world.Unavailable, RuntimeError, OSError, subprocess.SubprocessError) as why:
                played = Played("not run", [str(why)])
            results[rival, scenario.name] = played
            print(f"{rival.name}: {scenario.name}: {'; '.join([played.word, *played.notes])}", flush=True)
    if options.write:
        page.PAGE.write_text(page.page(versions, results))
    if options.check:
        broken = page.broken_claims(results)
        print("\n".join(broken) or "ckpt-hook does what docs/comparison.md says of it")
        sys.exit(bool(broken))


if __name__ == "__main__":
    main()
