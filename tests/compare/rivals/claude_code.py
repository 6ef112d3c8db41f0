"""Claude Code's own rewind."""

import json

import world
from rivals.agents import RealAgent

SETTINGS = {
    "permissions": {"allow": ["Bash", "Write", "Edit", "Read"], "defaultMode": "acceptEdits"},
    "autoUpdates": False,
}
VARIABLES = {
    "ANTHROPIC_API_KEY": "dummy", "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1",
}
SESSION = "11111111-2222-4333-8444-555555555555"


class ClaudeCode(RealAgent):
    """See the module."""

    name = "Claude Code's rewind"
    use = (
        "Claude Code with its file checkpoints on. To go back: `claude --resume SESSION --rewind-files MESSAGE`, which does to the "
        "files what `/rewind` does at a terminal. It has no way forward."
    )
    better = (
        "Nothing has to be installed, and the conversation goes back together with the files, in one place.",
        "It takes no look at the workspace, so it costs nothing however large that is.",
    )
    has_redo = False

    @classmethod
    def version(cls, tools):
        version, cls.program, cls.node = tools.agent("claude-code")
        return version

    def prepare(self):
        super().prepare()
        folder = self.world.home / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(SETTINGS))
        path = f"{self.node}:{self.world.environment['PATH']}"
        self.variables = VARIABLES | {"ANTHROPIC_BASE_URL": self.url, "PATH": path}

    def say(self, number, is_killed):
        session = ["--resume" if number else "--session-id", SESSION]
        arguments = [self.program, "-p", *session, "--model", "claude-sonnet-4-6", "--", f"TURN-{number}. please"]
        program = self.start(arguments, self.world.workspace, self.variables)
        if is_killed:
            world.wait_for(self.is_half_done, "the command to get half-way")
            self.kill(program)
        else:
            program.wait(world.PATIENCE)

    def transcript(self):
        """The lines of the session."""
        file = next((self.world.home / ".claude/projects").glob(f"*/{SESSION}.jsonl"))
        return [json.loads(line) for line in file.read_text().splitlines()]

    def go_back(self, number):
        users = (line for line in self.transcript() if line.get("type") == "user")
        message = next(line["uuid"] for line in users if f"TURN-{number}." in str(line["message"]["content"]))
        arguments = [self.program, "-p", "--resume", SESSION, "--rewind-files", message]
        self.world.run(arguments, variables=self.variables)
