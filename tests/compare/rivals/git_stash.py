"""git stash, by hand."""

from rivals import GitRival


class GitStash(GitRival):
    """See the module."""

    name = "git stash"
    use = (
        "Before a message: `git stash push --include-untracked`, `git stash apply --index`, and a note of the commit. To go back: "
        "`git stash push --include-untracked` (so that nothing is thrown away), `git reset --hard` to the noted commit, `git stash "
        "apply --index` of the noted stash. To go forward: the same with the newer stash."
    )
    better = (
        "It is there already wherever git is, needs no agent that can run hooks, and everybody knows it.",
        "The index comes back as it was, too, without being asked for.",
    )

    def put_aside(self):
        """Stashes what there is; returns the commit and the stash, if there was anything to stash."""
        before = self.world.git("rev-parse", "--quiet", "--verify", "refs/stash")
        head = self.world.git("rev-parse", "HEAD")
        self.world.git("stash", "push", "--quiet", "--include-untracked")
        stash = self.world.git("rev-parse", "--quiet", "--verify", "refs/stash")
        return head, stash if stash != before else None

    def bring(self, head, stash):
        """Takes the work tree to a commit and a stash."""
        self.world.git("reset", "--hard", "--quiet", head)
        if stash:
            self.world.git("stash", "apply", "--quiet", "--index", stash)

    def begin_message(self, number):
        self.noted[number] = self.put_aside()
        self.bring(*self.noted[number])

    def go_back(self, number):
        self.forward = self.put_aside()
        self.bring(*self.noted[number])

    def redo(self):
        self.put_aside()
        self.bring(*self.forward)
