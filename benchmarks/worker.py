"""The process that runs one framework's subjects: requests come as JSON lines, answers go back the same way.

Every framework has a process of its own, and one request measures one sample, so that samples of all frameworks
alternate while none of them shares an interpreter with another.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import timeit
import traceback

REST = 0.02  # seconds before a sample: threads of the one before, of another process, may stay awake for half of it
# Where others share the machine, the time that passes is mostly theirs.
CLOCK = time.process_time if os.environ.get("OPSDK_BENCH_CLOCK") == "cpu" else time.perf_counter
WARM = 10  # one call of so many is not timed: it wakes one's own threads


class Bench:
    """The subjects of one module, and the timers that were made of their statements.

    Subjects have a name, a statement for each work, `names()` for the statements, and `problem()`; two of one name have
    no work in common.
    """

    def __init__(self, module, topic=""):
        loaded = importlib.import_module(f"benchmarks.subjects.{module}")
        self.version = loaded.VERSION
        self.subjects = [subject for subject in loaded.SUBJECTS if topic in ("", subject.topic)]
        self.timers = {}
        self.work = ""

    def describe(self):
        """Says which subjects there are, what they can do, and what is wrong with them."""
        return {
            "version": self.version,
            "subjects": [
                {"name": subject.name, "works": list(subject.statements), "problem": subject.problem()}
                for subject in self.subjects
            ],
        }

    def sample(self, name, work, seconds):
        """Measures once, for about the given time; the first call also finds how many repeats that is."""
        if work != self.work:
            self.timers.clear()  # the memory of one work must not lie beside that of another
            self.work = work
        if name not in self.timers:
            self.timers[name] = self._made(name, work, seconds)
        timer, number, calls = self.timers[name]
        time.sleep(REST)
        timer.timeit(max(1, number // WARM))
        return timer.timeit(number) / number / calls

    def result(self, name, work):
        """Returns what a subject that is compared with others' computes: numbers by name."""
        return self._subject(name, work).result()

    def _subject(self, name, work):
        candidates = [subject for subject in self.subjects if subject.name == name]
        return next((subject for subject in candidates if work in subject.statements), candidates[0])

    def _made(self, name, work, seconds):
        subject = self._subject(name, work)
        timer = timeit.Timer(subject.statements[work], timer=CLOCK, globals=subject.names())
        timer.timeit(2)  # what is compiled, loaded or mapped once tells nothing of how many repeats fill a sample
        number = 1
        while (taken := timer.timeit(number)) < seconds / 4:
            number *= 2
        return timer, max(1, round(number * seconds / taken)), getattr(subject, "calls", 1)


def serve(module, topic, requests, answer):
    """Answers each request until there are no more."""
    try:
        bench = Bench(module, topic)
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer(bench.describe())
    for line in requests:
        request = json.loads(line)
        try:
            if "seconds" in request:
                answer({"seconds": bench.sample(request["name"], request["work"], request["seconds"])})
            else:
                answer({"result": bench.result(request["name"], request["work"])})
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

    serve(sys.argv[1], sys.argv[2], sys.stdin, answer)


if __name__ == "__main__":
    main()
