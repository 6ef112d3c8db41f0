"""stepback, a watcher around an agent."""

import subprocess

import world
from rivals import Rival

VERSION = "0.2.0"
# Stands for the agent; what it does, it does while this waits.
AGENT = "echo ready; read -r _"


class Stepback(Rival):
    """See the module."""

    name = "stepback"
    use = (
        "Each message under `stepback run -- AGENT`. To go back: `stepback rewind N --yes` with the checkpoint that was the newest "
        "when the agent started. To go forward: `stepback redo`."
    )
    better = (
        "It works with any program, also with an agent that calls no hooks and without a line of settings.",
        "By its documentation it brings the transcript of Claude Code or Codex back, too, so the agent's memory fits the files.",
    )

    def __init__(self, place):
        super().__init__(place)
        self.noted, self.session = {}, None

    @classmethod
    def version(cls, tools):
        install = ["bash", "-c", f"python3 -m venv FOLDER/python && FOLDER/python/bin/pip install --quiet stepback=={VERSION}"]
        cls.program = tools.install(f"stepback-{VERSION}", install) / "python/bin/stepback"
        return VERSION

    def begin_message(self, number):
        self.session = subprocess.Popen(
            [self.program, "run", "--", "bash", "-c", AGENT], cwd=self.world.workspace, env=self.world.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        while line := self.session.stdout.readline():
            if line == b"ready\n":
                break
        listed = self.world.run([self.program, "list"]).stdout.decode().split()
        self.noted[number] = next(word[1:] for word in listed if word.startswith("#"))

    def agent_changes(self, number, message, is_killed):
        super().agent_changes(number, message, is_killed)
        self.session.communicate(b"\n", timeout=world.PATIENCE)

    def go_back(self, number):
        self.world.run([self.program, "rewind", self.noted[number], "--yes"])

    def redo(self):
        self.world.run([self.program, "redo"])

    def end(self):
        if self.session and self.session.poll() is None:
            self.session.kill()
            self.session.wait()
