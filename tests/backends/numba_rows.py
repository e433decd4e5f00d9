"""A process that plays many: each step runs in a forked child, which has compiled nothing and loaded nothing."""

import json
import os
import subprocess
import sys
import textwrap

from tests.contracts.tree import REPOSITORY

_RUNNER = """
import contextlib, io, json, os, sys, traceback
sys.dont_write_bytecode = True  # a file that is edited twice in a second has the same date
import numpy as np
import numba
import opsdk
from numba.core import event
from opsdk.backends.numba import store as numba_store
from opsdk.backends.vmath import overloads
overloads.register()
from numba.core.registry import cpu_target
cpu_target.target_context.refresh(); cpu_target.typing_context.refresh()

def play(source):
    with event.install_recorder("numba:compile") as recorder, contextlib.redirect_stdout(io.StringIO()) as out:
        names = {"np": np, "opsdk": opsdk, "X": np.array([1.0, 2.0])}
        exec(compile(source, "<step>", "exec"), names)
    made = {entry.data["dispatcher"].py_func for _, entry in recorder.buffer}
    own = {each.__name__ for each in made if each.__globals__["__name__"].split(".")[0] not in ("numba", "opsdk")}
    return [out.getvalue().splitlines(), sorted(own)]

for line in sys.stdin:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            said = json.dumps(play(json.loads(line)))
        except BaseException:
            said = json.dumps([[traceback.format_exc()], []])
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with open(read) as file:
        print(file.read(), flush=True)
    os.waitpid(pid, 0)
"""


class Processes:
    """Runs sources, each in what a new process would be; a folder is their first place of modules."""

    def __init__(self, folder, **environment):
        self.folder = folder
        paths = os.pathsep.join([str(folder), str(REPOSITORY)])
        everything = {**os.environ, "PYTHONPATH": paths, "OPSDK_CACHE_DIR": str(folder / "cache"), **environment}
        command = [sys.executable, "-c", _RUNNER]
        self._process = subprocess.Popen(
            command, env=everything, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def write(self, name, source):
        (self.folder / name).write_text(textwrap.dedent(source))

    def run(self, source):
        """Returns the lines that a source printed, and the names of the functions that were compiled."""
        self._process.stdin.write(json.dumps(textwrap.dedent(source)) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self):
        self._process.communicate()
