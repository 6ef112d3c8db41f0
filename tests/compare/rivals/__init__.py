"""The rivals: a file each, behind one interface."""

import world


class Rival:
    """How one program is used. A scenario is played by: prepare, then for each message begin_message and agent_changes, then
    go_back, and redo."""

    name = ""
    # How it is used, in one sentence: what a careful user types.
    use = ""
    # Where it is better than ckpt-hook, a sentence each.
    better = ()
    has_redo = True
    needs_repository = False
    # Whether what happens before a message is done by the agent itself, and cannot be timed alone.
    is_built_in = False

    def __init__(self, place):
        self.world = place
        self.scenario = None

    @classmethod
    def version(cls, tools):
        """Returns the version; raises `Unavailable` where it cannot be run."""
        raise NotImplementedError

    @property
    def agent_folder(self):
        """Where the agent works."""
        return self.world.workspace

    def prepare(self):
        """What is done once, before the first message."""

    def begin_message(self, number):
        """What the user, or the program, does before a message."""

    def agent_changes(self, number, message, is_killed):
        """The agent's work."""
        world.carry_out(self.world, message, self.agent_folder, is_killed)

    def go_back(self, number):
        """Back to just before a message."""
        raise NotImplementedError

    def redo(self):
        """Forward again."""

    def end(self):
        """Ends what was started."""


class GitRival(Rival):
    """A use of git alone: what it notes of each message, and what is put aside when it goes back."""

    needs_repository = True

    def __init__(self, place):
        super().__init__(place)
        self.noted = {}
        self.forward = None

    @classmethod
    def version(cls, tools):
        return tools.first_line(["git", "--version"]).removeprefix("git version ")
