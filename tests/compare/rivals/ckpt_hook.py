"""ckpt-hook, called as by an agent's hooks."""

from rivals import Rival

# The exit code that says that an agent is at work.
BUSY = 5


class CkptHook(Rival):
    """See the module."""

    name = "ckpt-hook"
    use = (
        "The agent's hooks call it before a message and around each step. To go back: `ckpt-hook revert --message ID`, with `--git` "
        "in a repository, and with `--force` if it refuses because the agent did not report its end. To go forward: "
        "`ckpt-hook redo --all`."
    )

    @classmethod
    def version(cls, tools):
        cls.binary = tools.hook
        return tools.first_line([tools.hook, "--version"]).removeprefix("ckpt-hook ")

    def hook(self, *arguments):
        return self.world.run([self.binary, *arguments])

    def begin_message(self, number):
        self.hook("message", "--strict", "--session", "s", "--message", f"m{number}", "--prompt", f"message {number}")

    def agent_changes(self, number, message, is_killed):
        for step in message:
            self.hook("step-start", "--strict", "--session", "s")
            super().agent_changes(number, [step], is_killed)
            if is_killed:
                return
            self.hook("step-finish", "--strict", "--session", "s")

    def go_back(self, number):
        git = ["--git"] if self.scenario.is_repository else []
        revert = ["revert", "--message", f"m{number}", *git]
        if self.hook(*revert).returncode == BUSY:
            self.hook(*revert, "--force")

    def redo(self):
        self.hook("redo", "--all")
