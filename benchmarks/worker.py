"""The process that runs one framework's subjects: requests come as JSON lines, answers go back the same way.

Every framework has a process of its own, and one request measures one sample, so that samples of all frameworks
alternate while none of them shares an interpreter with another.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import timeit
import traceback

from benchmarks.subjects.subject import arrays, problem_of


class Bench:
    """The subjects of one module, and the timers that were made of their statements."""

    def __init__(self, module):
        self.module = importlib.import_module(f"benchmarks.subjects.{module}")
        self.timers = {}

    def describe(self):
        """Says which subjects there are, what they can do, and what is wrong with them."""
        return {
            "version": self.module.VERSION,
            "subjects": [
                {"name": subject.name, "works": list(subject.statements), "problem": problem_of(subject)}
                for subject in self.module.SUBJECTS
            ],
        }

    def sample(self, name, work, seconds):
        """Measures once, for about the given time; the first call also finds how many repeats that is."""
        if (name, work) not in self.timers:
            self.timers[name, work] = self._made(name, work, seconds)
        timer, number = self.timers[name, work]
        return timer.timeit(number) / number

    def _made(self, name, work, seconds):
        subject = next(subject for subject in self.module.SUBJECTS if subject.name == name)
        timer = timeit.Timer(subject.statements[work], globals=subject.build(*arrays()))
        number = 1
        while (taken := timer.timeit(number)) < seconds / 4:
            number *= 2
        return timer, max(1, round(number * seconds / taken))


def serve(module, requests, answer):
    """Answers each request until there are no more."""
    try:
        bench = Bench(module)
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer(bench.describe())
    for line in requests:
        request = json.loads(line)
        try:
            answer({"seconds": bench.sample(request["name"], request["work"], request["seconds"])})
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            answer({"error": f"{type(error).__name__}: {error}"})


def main():
    """Serves standard input; what frameworks print themselves is sent to standard error."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(value):
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    serve(sys.argv[1], sys.stdin, answer)


if __name__ == "__main__":
    main()
