"""Stages of a script: how long each took, printed as one line of JSON."""

import json
import sys
from time import perf_counter


class Stages:
    """A stop watch that is read at the end of each stage."""

    def __init__(self):
        self.taken = {}
        self.last = perf_counter()

    def end(self, name):
        """Ends a stage; the next one begins after it."""
        self.taken[name] = perf_counter() - self.last
        self.last = perf_counter()

    def print(self, **others):
        """Writes all stages as the last line of standard output."""
        sys.stdout.write(f"\n{json.dumps({**self.taken, **others})}\n")
