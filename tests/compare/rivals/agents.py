"""What agents that bring their own way back have in common: a scripted model, and that they do what the script says."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import world
from rivals import Rival

FAKE_MODEL = Path(__file__).parents[2] / "fake-model/fake_model.py"


def free_port():
    """A port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def answers(port):
    """Whether somebody listens on a port."""
    with socket.socket() as asker:
        return asker.connect_ex(("127.0.0.1", port)) == 0


class RealAgent(Rival):
    """See the module."""

    is_built_in = True

    def __init__(self, place):
        super().__init__(place)
        self.started = []
        self.port = free_port()

    @property
    def url(self):
        """Where the model is."""
        return f"http://127.0.0.1:{self.port}"

    def prepare(self):
        turns = {
            f"TURN-{number}.": [*message, [{"say": f"Message {number} is done."}]]
            for number, message in enumerate(self.scenario.messages)
        }
        script = self.world.folder / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        log = self.world.folder / "model.jsonl"
        self.start([sys.executable, FAKE_MODEL, self.port, script, self.world.workspace, log], self.world.folder)
        world.wait_for(lambda: answers(self.port), "the scripted model")

    def start(self, arguments, cwd, variables=None):
        """Starts a program in a group of its own, which `end` ends."""
        with open(self.world.folder / "said.log", "ab") as said:
            program = subprocess.Popen(
                [str(argument) for argument in arguments], cwd=cwd, env=self.world.environment | (variables or {}),
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True,
            )
        self.started.append(program)
        return program

    def kill(self, program):
        """Kills a program as a power cut does, and waits until nothing works in the workspace any more."""
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        (self.world.folder / "killed").touch()
        world.wait_for(lambda: not world.is_at_work(self.world.workspace), "the agent's command to end")

    def agent_changes(self, number, message, is_killed):
        shadow = self.world.folder / f"shadow-{number}"
        shutil.copytree(self.world.workspace, shadow, symlinks=True)
        world.carry_out(self.world, message, shadow, is_killed)
        self.say(number, is_killed)
        if world.tree(shadow) != world.tree(self.world.workspace):
            raise world.Unavailable("the agent did something else than the script says")

    def say(self, number, is_killed):
        """Sends the message, and waits until it is answered, or kills the agent in the middle."""
        raise NotImplementedError

    def is_half_done(self):
        """Whether the command that is to be killed is half-way."""
        return (self.world.workspace / "half-done").exists()

    def end(self):
        for program in self.started:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()
