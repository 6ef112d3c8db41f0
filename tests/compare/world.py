"""A folder in which a scenario is played: a home, a workspace, an environment that inherits nothing, and trees to compare."""

import hashlib
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import scenarios

# Folders in a workspace that belong to git or to a rival, and not to the user.
NOT_THE_USERS = {".git", ".stepback"}
PATIENCE = 600


class Unavailable(Exception):
    """A rival cannot be had or run here; the text says why."""


class World:
    """See the module."""

    def __init__(self, folder, path, is_quick=False):
        self.folder = Path(folder)
        self.home, self.workspace = self.folder / "home", self.folder / "shop"
        self.is_quick, self.log = is_quick, []
        self.home.mkdir()
        self.workspace.mkdir()
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
        )
        self.environment = {
            "HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm-256color",
            "TMPDIR": str(self.folder),
        }

    def run(self, arguments, cwd=None, variables=None, stdin=None):
        """Runs a program to its end; what it prints and how it ends is kept for whoever asks with `--verbose`."""
        done = subprocess.run(
            [str(argument) for argument in arguments], cwd=cwd or self.workspace, env=self.environment | (variables or {}),
            input=stdin, stdin=subprocess.DEVNULL if stdin is None else None, capture_output=True, timeout=PATIENCE, check=False,
        )
        self.log.append((arguments, done.returncode, done.stdout + done.stderr))
        return done

    def git(self, *arguments, cwd=None):
        return self.run(["git", *arguments], cwd).stdout.decode().strip()

    def shell(self, line, cwd=None):
        return self.run(["bash", "-c", line], cwd)

    def settle(self, scenario):
        """Makes what the user has before the first message."""
        self.must(scenarios.COMMITTED)
        if before := scenarios.settled(scenario, self.is_quick):
            self.must(before)
        if scenario.is_repository:
            self.must("git init --quiet && git add --all && git commit --quiet --message 'A shop'")
        self.must(scenarios.OWN_WORK)

    def must(self, line):
        done = self.shell(line)
        if done.returncode != 0:
            raise RuntimeError(f"{line}: {done.stderr.decode()}")

    def head(self, folder=None):
        """Which commit is checked out, and by what name."""
        return self.git("rev-parse", "HEAD", cwd=folder), self.git("rev-parse", "--abbrev-ref", "HEAD", cwd=folder)

    def copy(self, name):
        """A copy of the workspace as it is, to do there what is expected."""
        copy = self.folder / name
        shutil.copytree(self.workspace, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_THE_USERS))
        return copy


def tree(folder):
    """Every path below a folder: what it is, its permissions, and a hash of what is in it."""
    found = {}
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not (at == str(folder) and name in NOT_THE_USERS)]
        for name in folders + files:
            path = Path(at) / name
            status = path.lstat()
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                node = ("link", 0, os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                node = ("folder", mode, "")
            else:
                node = ("file", mode, hashlib.sha256(path.read_bytes()).hexdigest())
            found[str(path.relative_to(folder))] = node
    return found


def carry_out(world, message, folder, is_killed=False):
    """Does what an agent does in a message, where the agent's program makes no difference."""
    for step in message:
        for action in step:
            act(world, action, folder, is_killed)


def act(world, action, folder, is_killed):
    """Does one action."""
    path = Path(action.get("path", "").replace("{ws}", str(folder)))
    if action["do"] == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(action["content"])
    elif action["do"] == "edit":
        path.write_text(path.read_text().replace(action["old"], action["new"], 1))
    elif action["do"] == "shell" and not is_killed:
        world.shell(action["cmd"], folder)
    elif action["do"] == "shell":
        command = subprocess.Popen(["bash", "-c", action["cmd"]], cwd=folder, env=world.environment, start_new_session=True)
        wait_for(lambda: (Path(folder) / "half-done").exists(), "the command to get half-way")
        os.killpg(command.pid, signal.SIGKILL)
        command.wait()


def is_at_work(folder):
    """Whether a process has a folder as its current one."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(link) == str(folder):
                return True
        except OSError:
            continue
    return False


def wait_for(is_so, what):
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain for {what}")
        time.sleep(0.02)
