"""The thread pool's control block, and its protocol in every order in which its threads can run."""

from itertools import pairwise

import pytest

from opsdk.backends.native import pool_source, runtime

HOT = ("BUSY", "GENERATION", "NEXT", "PRESENT", "SLEEPERS", "WAITING")
JOB = ("ENTRY", "POINTERS", "SIZES", "ATTRS", "TOTAL", "GRAIN", "STATUS")


def test_what_several_threads_write_stands_on_cache_lines_of_its_own():
    lines = [getattr(pool_source, name) // 64 for name in HOT]
    assert len(set(lines)) == len(lines)
    assert not set(lines) & {getattr(pool_source, name) // 64 for name in JOB}


def test_no_two_fields_overlap():
    at = sorted(getattr(pool_source, name) for name in (*HOT, *JOB))
    assert all(after - before >= 8 for before, after in pairwise(at))
    assert at[-1] + 8 <= pool_source.MUTEX
    # pthread_mutex_t and pthread_cond_t have up to 64 bytes
    assert pool_source.MUTEX + 64 <= pool_source.WORK_CONDITION
    assert pool_source.WORK_CONDITION + 64 <= pool_source.DONE_CONDITION
    assert pool_source.DONE_CONDITION + 64 <= pool_source.BYTES


def test_the_runtime_makes_the_block_as_the_threads_read_it():
    block = (runtime._BYTES, runtime._MUTEX, runtime._WORK, runtime._DONE)
    assert block == (pool_source.BYTES, pool_source.MUTEX, pool_source.WORK_CONDITION, pool_source.DONE_CONDITION)


# -- the protocol ------------------------------------------------------------------------------------------------------
#
# The functions `worker` and `run` of the source, one step per access to shared memory, in every order in which threads
# can take such steps. The steps of the source are sequentially consistent, so that these orders are all there are. A
# thread that waits for a condition is runnable again only when it is broadcast: a missed one is a state without a step.


class Model:
    """Threads as generators cannot be copied, so that a state is replayed from the list of choices that led to it.

    Args:
        workers: how many threads wait for jobs.
        callers: how many jobs each caller runs.
        fault: leaves a step of the protocol out, so that the search is seen to find what goes wrong then.
    """

    def __init__(self, workers, callers, fault=None):
        self.shared = {
            "busy": 0, "generation": 0, "next": 0, "open": 0, "present": 0, "sleepers": 0, "waiting": 0, "job": None,
            "total": 0, "mutex": None,
        }  # fmt: skip
        self.blocked = {}  # thread → condition
        self.done = []  # (job, piece)
        self.workers = workers
        self.fault = fault
        self.threads = {}
        for i in range(workers):
            self.threads[f"w{i}"] = self.worker(f"w{i}")
        for i, jobs in enumerate(callers):
            self.threads[f"c{i}"] = self.caller(f"c{i}", jobs)
        self.finished = set()
        self.position = dict.fromkeys(self.threads, 0)

    def lock(self, me):
        while self.shared["mutex"] is not None:
            yield "locked"
        self.shared["mutex"] = me
        yield

    def wait(self, me, condition):
        self.shared["mutex"] = None
        self.blocked[me] = condition
        yield
        yield from self.lock(me)

    def broadcast(self, condition):
        for thread in [thread for thread, at in self.blocked.items() if at == condition]:
            del self.blocked[thread]

    def take(self):
        s = self.shared
        job, total = s["job"], s["total"]
        yield
        while True:
            piece = s["next"]
            s["next"] += 1
            yield
            if piece >= total:
                return
            self.done.append((job, piece))

    def worker(self, me):
        s = self.shared
        seen = 0
        while True:
            current = s["generation"]
            yield
            if current == seen:
                yield from self.lock(me)
                s["sleepers"] += 1
                yield
                while True:
                    current = s["generation"]
                    yield
                    if current != seen:
                        break
                    yield from self.wait(me, "work")
                s["sleepers"] -= 1
                yield
                s["mutex"] = None
                yield
            seen = s["generation"]
            yield
            is_open = s["open"]
            if self.fault == "looks before it enters":
                yield
            s["present"] += 1  # PRESENT and OPEN are one number
            yield
            if is_open:
                yield from self.take()
            s["present"] -= 1
            was_last = s["present"] == 0
            yield
            if was_last:
                waiting = s["waiting"]
                yield
                if waiting:
                    yield from self.lock(me)
                    self.broadcast("done")
                    yield
                    s["mutex"] = None
                    yield

    def caller(self, me, jobs):
        s = self.shared
        for number in range(jobs):
            job, total = (me, number), 2
            was_busy, s["busy"] = s["busy"], 1
            yield
            if was_busy:
                self.done += [(job, piece) for piece in range(total)]
                continue
            s["job"], s["total"] = job, total
            yield
            s["next"] = 0
            yield
            s["open"] = 1
            yield
            s["generation"] += 1
            yield
            sleepers = s["sleepers"]
            yield
            if sleepers:
                if self.fault != "no lock":
                    yield from self.lock(me)
                self.broadcast("work")
                yield
                if self.fault != "no lock":
                    s["mutex"] = None
                    yield
            yield from self.take()
            if self.fault != "stays open":
                s["open"] = 0
                yield
            present = s["present"]
            yield
            if present:
                yield from self.lock(me)
                if self.fault != "not waiting":
                    s["waiting"] = 1
                    yield
                while True:
                    present = s["present"]
                    yield
                    if not present:
                        break
                    yield from self.wait(me, "done")
                s["waiting"] = 0
                yield
                s["mutex"] = None
                yield
            assert sorted(entry for entry in self.done if entry[0] == job) == [(job, 0), (job, 1)], "a piece is missing"
            s["busy"] = 0
            yield

    def runnable(self):
        holder = self.shared["mutex"]
        return [
            name
            for name in self.threads
            if name not in self.finished
            and name not in self.blocked
            and not (holder and self.position[name] == "locked")
        ]

    def step(self, name):
        try:
            said = next(self.threads[name])
        except StopIteration:
            self.finished.add(name)
            return
        self.position[name] = said

    def is_over(self):
        return all(name in self.finished for name in self.threads if name.startswith("c"))

    def slept_through(self):
        """Returns the workers that sleep although a job came that was to wake them up."""
        asleep = [name for name, condition in self.blocked.items() if condition == "work"]
        return [name for name in asleep if self.threads[name].gi_frame.f_locals["seen"] != self.shared["generation"]]

    def state(self):
        frames = []
        for name, thread in self.threads.items():
            inner, lines = thread, []
            while inner is not None and inner.gi_frame is not None:
                own = {key: repr(value) for key, value in inner.gi_frame.f_locals.items() if key not in ("self", "s")}
                lines.append((inner.gi_frame.f_lasti, tuple(sorted(own.items()))))
                inner = inner.gi_yieldfrom
            frames.append((name, tuple(lines), name in self.finished, self.blocked.get(name)))
        return (tuple(frames), repr(self.shared), tuple(sorted(self.done)))


def explore(workers, callers, fault=None):
    """Visits every state; returns how many there are.

    Raises:
        AssertionError: a job ends without its pieces, a worker is not woken up for one, or a state is reached that no
            thread can leave.
    """
    seen = set()
    stack = [()]
    while stack:
        choices = stack.pop()
        model = Model(workers, callers, fault)
        for name in choices:
            model.step(name)
        while True:
            state = model.state()
            if state in seen:
                break
            seen.add(state)
            ready = model.runnable()
            assert ready or model.is_over(), "nobody can go on"
            if model.is_over():
                assert not model.slept_through(), "a job was slept through"
                break
            stack += [(*choices, other) for other in ready[1:]]
            model.step(ready[0])
            choices = (*choices, ready[0])
    return len(seen)


# Two workers have five times the states of one, eight seconds of them; one worker and a caller of two pieces stand for
# them, and for two callers.
MORE = [pytest.param(*case, marks=pytest.mark.slow) for case in ((1, (1, 1)), (2, (1,)))]


@pytest.mark.parametrize(("workers", "callers"), [(1, (2,)), *MORE])
def test_in_every_order_every_piece_is_done_and_nobody_waits_for_ever(workers, callers):
    assert explore(workers, callers) > 100


@pytest.mark.parametrize(
    ("fault", "workers", "callers", "message"),
    [
        ("not waiting", 1, (1,), "nobody can go on"),
        ("no lock", 1, (1,), "a job was slept through"),
        ("stays open", 1, (2,), "a piece is missing|nobody can go on"),
        ("looks before it enters", 1, (2,), "a piece is missing|nobody can go on"),
    ],
)
def test_a_step_that_is_left_out_is_found(fault, workers, callers, message):
    with pytest.raises(AssertionError, match=message):
        explore(workers, callers, fault)
