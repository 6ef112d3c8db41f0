"""The twenty scenarios, as data that every rival gets alike.

A message is a list of steps, a step a list of actions, in the words of `tests/fake-model`: `write`, `edit`, `read`, `shell`.
`{ws}` stands for the folder in which the agent works. The user's own doings are lines for a shell.
"""

from dataclasses import dataclass, field

# What the user has before every scenario: a commit, and work that is not committed, not tracked, or ignored.
COMMITTED = r"""
mkdir -p src docs recipes
printf 'def total(items):\n    return sum(items)\n\n\ndef tax(amount):\n    return amount * 19 // 100\n' > src/order.py
printf 'import order\nprint(order.total([1, 2]))\n' > src/main.py
printf '# Guide\n\nRead the recipes.\n' > docs/guide.md
printf '# Shop\n\nA shop.\n' > README.md
printf 'apples\nflour\n' > recipes/pie.txt
printf 'eggs\nmilk\n' > recipes/pancakes.txt
printf '\000\001\002logo\377\000\r\n' > logo.bin
printf '#!/bin/sh\necho run\n' > run.sh && chmod 755 run.sh
printf '.env\nbuild/\n' > .gitignore
"""
OWN_WORK = r"""
printf '# Shop\n\nA shop with a cart.\n' > README.md
printf 'ask about VAT\n' > notes.txt
printf 'KEY=secret\n' > .env
mkdir -p build && printf 'an hour of compiling\n' > build/out.o
"""
# The paths that no commit holds.
OWN_PATHS = ("README.md", "notes.txt", ".env", "build/out.o")


@dataclass(frozen=True)
class Scenario:
    """See the module. `between` is done by the user after the last message; `expected` says what it makes of the tree before."""

    name: str
    says: str
    messages: tuple
    # More that the user had before the first message, committed.
    before: str = ""
    # What the user does after the agent's last message, and what has to be in which file afterwards.
    between: str = ""
    keeps: tuple = ()
    # What `between` does to the tree that is to come back, where that is something else.
    expected: str = ""
    # The number of the message to go back to, from 0.
    back_to: int = 0
    # What no commit holds and the agent is asked to work on.
    needs: tuple = ()
    is_killed: bool = False
    is_redone: bool = False
    is_repository: bool = True
    tags: frozenset = field(default_factory=frozenset)


def write(path, content):
    return {"do": "write", "path": "{ws}/" + path, "content": content}


def edit(path, old, new):
    return {"do": "edit", "path": "{ws}/" + path, "old": old, "new": new}


def read(path):
    return {"do": "read", "path": "{ws}/" + path}


def shell(line):
    return {"do": "shell", "cmd": line}


# Agents refuse to edit what they have not read.
EDIT = ([read("src/order.py")], [edit("src/order.py", "19", "20")], [write("src/cart.py", "cart = []\n")])
SED = ([shell("sed -i 's/19/20/' src/order.py && echo 'cart = []' > src/cart.py && rm recipes/pie.txt")],)

LARGE = r"""
mkdir -p data && for d in $(seq 1 COUNT); do mkdir data/$d; for f in $(seq 1 50); do echo "file $f of $d" > data/$d/$f.txt; done; done
"""
# It goes on for ever; where the agent was killed and the command lives on, it ends.
WAITS = "touch half-done; until [ -e ../never ]; do sleep 0.1; [ -e ../killed ] && exit 1; done; rm -r src docs"

SCENARIOS = (
    Scenario("edits", "the agent edits and writes files with its edit tools", (EDIT,)),
    Scenario("shell", "the agent edits, writes and deletes files with a shell", (SED,)),
    Scenario(
        "untracked", "the agent deletes a file of yours that git does not track",
        (([shell("rm notes.txt")],),), needs=("notes.txt",),
    ),
    Scenario(
        "uncommitted", "the agent rewrites a file in which you had changes that are not committed",
        (([read("README.md")], [write("README.md", "# Rewritten\n")]),), needs=("README.md",),
    ),
    Scenario(
        "reset", "the agent runs `git reset --hard`, and your changes that are not committed are gone",
        (([shell("git reset --hard --quiet && echo done > result.txt")],),), needs=("README.md",),
    ),
    Scenario(
        "ignored file", "the agent deletes `.env`, which is ignored",
        (([shell("rm .env && echo done > result.txt")],),), needs=(".env",),
    ),
    Scenario(
        "ignored folder", "the agent runs `git clean -fdx`, and an ignored folder with build output is gone",
        (([shell("git clean -fdxq")],),), needs=("notes.txt", ".env", "build/out.o"),
    ),
    Scenario(
        "renames", "the agent renames a folder and a file, and edits the file",
        (([shell("mv recipes kitchen && git mv src/order.py src/invoice.py && sed -i 's/19/20/' src/invoice.py")],),),
    ),
    Scenario(
        "binary", "the agent changes a binary file, and files whose names hold spaces, brackets and other letters",
        (([shell("printf '\\377\\000new' > logo.bin && echo x > 'app/[id]/my page.txt' && rm 'app/i/ü ö.txt' && echo x > 'app/i/-f'")],),),
        before="mkdir -p 'app/[id]' app/i && echo one > 'app/[id]/my page.txt' && echo two > 'app/i/ü ö.txt'",
    ),
    Scenario(
        "permissions", "the agent changes permissions: a script loses its bit, a private file is opened to all",
        (([shell("chmod 644 run.sh && chmod 666 private.txt")],),),
        before="echo private > private.txt && chmod 600 private.txt",
    ),
    Scenario(
        "kinds", "a file becomes a folder, a folder a link, and an empty folder goes",
        (([shell("rm README.md && mkdir README.md && echo x > README.md/x && rm -r docs && ln -s src docs && rmdir empty")],),),
        before="mkdir empty", needs=("README.md",),
    ),
    Scenario(
        "commit", "the agent commits what it did",
        (([shell("sed -i 's/19/20/' src/order.py && git commit --quiet --message 'Charge more' src/order.py")],),),
    ),
    Scenario(
        "your other file", "you edit another file and write a new one before you go back",
        (SED,), between="echo 'Your line.' >> docs/guide.md && echo 'yours' > idea.txt",
        keeps=(("docs/guide.md", b"Your line."), ("idea.txt", b"yours")),
    ),
    Scenario(
        "your edit of its file", "you edit the file that the agent edited, some lines further up",
        (EDIT,), between="sed -i '1i # Yours.' src/order.py", keeps=(("src/order.py", b"# Yours."),),
    ),
    Scenario(
        "your file in its folder", "you put a file into a folder that the agent made",
        (([shell("mkdir shop && echo x > shop/cart.py && echo x > shop/list.py")],),),
        between="echo yours > shop/idea.txt", expected="mkdir shop && echo yours > shop/idea.txt", keeps=(("shop/idea.txt", b"yours"),),
    ),
    Scenario(
        "second of three", "three messages, and you go back to just before the second",
        (
            EDIT,
            ([shell("rm recipes/pie.txt && echo two > two.txt && echo two >> src/cart.py")],),
            ([shell("echo three > three.txt && echo three >> src/cart.py && echo three > two.txt")],),
        ),
        back_to=1,
    ),
    Scenario("crash", "the agent is killed in the middle of a command that had begun to change files", (
        ([shell("sed -i 's/19/20/' src/order.py && rm notes.txt; " + WAITS)],),), is_killed=True, needs=("notes.txt",)),
    Scenario(
        "large tree", "among 10,000 files the agent deletes a thousand and edits a thousand",
        (([shell("rm -r data/? data/1? && sed -i 's/file/File/' data/[23]?/*")],),), before=LARGE, tags=frozenset({"large"}),
    ),
    Scenario("no repository", "a folder without a git repository", (SED,), is_repository=False),
    Scenario("redo", "you go back, change your mind, and bring the agent's work again", (SED,), is_redone=True),
)


def settled(scenario, is_quick):
    """The lines that make a scenario's first tree, beside `COMMITTED`; a quick run has a smaller large tree."""
    return scenario.before.replace("COUNT", "24" if is_quick else "200")
