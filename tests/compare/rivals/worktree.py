"""A git worktree for the agent."""

from rivals import GitRival


class Worktree(GitRival):
    """See the module."""

    name = "git worktree"
    use = (
        "The agent works in `git worktree add --detach ../agent`, you in your own folder. Before a message: `git add --all` and "
        "`git commit` there. To go back: commit once more (so that nothing is thrown away), then `git reset --hard` to the noted "
        "commit and `git clean -fd`. To go forward: `git reset --hard` to the newer commit."
    )
    better = (
        "Your own folder is not touched at all as long as the agent keeps to its own: what nobody can reach, nobody has to bring back. "
        "(ckpt-hook works in a worktree, too.)",
        "Several agents work side by side without meeting each other.",
    )

    @property
    def agent_folder(self):
        return self.world.folder / "agent"

    def prepare(self):
        self.world.git("worktree", "add", "--quiet", "--detach", str(self.agent_folder))

    def commit(self):
        """Commits what the agent has; returns the commit."""
        self.world.git("add", "--all", cwd=self.agent_folder)
        self.world.git("commit", "--quiet", "--allow-empty", "--message", "Before a message", cwd=self.agent_folder)
        return self.world.git("rev-parse", "HEAD", cwd=self.agent_folder)

    def bring(self, commit):
        """Takes the agent's folder to a commit."""
        self.world.git("reset", "--hard", "--quiet", commit, cwd=self.agent_folder)
        self.world.git("clean", "-fdq", cwd=self.agent_folder)

    def begin_message(self, number):
        self.noted[number] = self.commit()

    def go_back(self, number):
        self.forward = self.commit()
        self.bring(self.noted[number])

    def redo(self):
        self.bring(self.forward)
