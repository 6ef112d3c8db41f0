"""ccundo, which reads Claude Code's transcripts."""

from rivals.claude_code import ClaudeCode

VERSION = "1.1.1"


class Ccundo(ClaudeCode):
    """See the module."""

    name = "ccundo"
    use = (
        "Claude Code, and after it `ccundo undo ID --yes` with the first operation of the message, which undoes it and all later ones. "
        "To go forward: `ccundo redo ID --yes` with the last one."
    )
    better = ("It can be installed after the fact: what it needs is in the transcripts that Claude Code writes anyway.",)
    has_redo = True

    @classmethod
    def version(cls, tools):
        super().version(tools)
        install = ["npm", "install", "--prefix", "FOLDER", "--no-audit", "--no-fund", f"ccundo@{VERSION}"]
        cls.ccundo = tools.install(f"ccundo-{VERSION}", install) / "node_modules/.bin/ccundo"
        return VERSION

    def ask(self, *arguments):
        return self.world.run([self.ccundo, *arguments], variables=self.variables)

    def operations(self, number):
        """The operations of a message and of all after it that ccundo knows, oldest first."""
        known = self.ask("list", "--all").stdout.decode()
        tools = [part["id"] for line in self.transcript() if line.get("type") == "assistant" for part in line["message"]["content"]
                 if part["type"] == "tool_use"]
        first = next((at for at, tool in enumerate(tools) if f"TURN{number}_" in tool), len(tools))
        return [tool for tool in tools[first:] if tool in known]

    def go_back(self, number):
        self.undone = self.operations(number)
        if self.undone:
            self.ask("undo", self.undone[0], "--yes")

    def redo(self):
        if self.undone:
            self.ask("redo", self.undone[-1], "--yes")
