"""once: one of each in a process, whichever thread asks first."""

import os
import threading

import pytest

from opsdk.core.once import once


def test_threads_that_ask_at_once_get_the_same_one():
    asking, made, found = threading.Barrier(8), [], []

    @once
    def thing():
        """Returns a thing."""
        made.append(object())
        asking.wait(20)  # until the seven others are about to ask
        return made[-1]

    def ask():
        if not one.acquire(blocking=False):
            asking.wait(20)
        found.append(thing())

    one = threading.Lock()
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(each is made[0] for each in found)
    assert thing.__doc__ == "Returns a thing."


def test_what_fails_is_tried_again():
    tries = []

    @once
    def thing():
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return "made"

    with pytest.raises(ValueError, match="not yet"):
        thing()
    assert [thing(), thing(), len(tries)] == ["made", "made", 2]


def test_making_may_ask_for_another_thing_and_for_itself_no_more_than_once():
    first = once(lambda: "first")
    second = once(lambda: first() + " and second")
    assert second() == "first and second"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_may_make_what_a_thread_of_the_parent_was_making():
    inside, leave = threading.Event(), threading.Event()

    @once
    def thing():
        inside.set()
        leave.wait(20)
        return "made"

    thread = threading.Thread(target=thing)
    thread.start()
    inside.wait(20)
    child = os.fork()
    if child == 0:
        leave.set()
        os._exit(0 if thing() == "made" else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
