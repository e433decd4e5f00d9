import asyncio
import threading

import pytest

from opsdk.core.current import Current
from opsdk.core.errors import GraphError


@pytest.fixture
def colour():
    """A value that is grey outside of all blocks."""
    return Current("colour", "grey")


def test_a_block_changes_the_value_and_its_end_brings_it_back(colour):
    with colour.held("red"):
        with colour.held("blue"):
            assert colour.get() == "blue"
        assert colour.get() == "red"
    assert colour.get() == "grey"


def test_an_error_ends_the_block_too(colour):
    with pytest.raises(KeyError), colour.held("red"):
        raise KeyError
    assert colour.get() == "grey"


def test_a_thread_starts_with_the_default_and_keeps_what_it_changes(colour):
    seen = []

    def work():
        seen.append(colour.get())
        colour.change("green")
        seen.append(colour.get())

    with colour.held("red"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == ["grey", "green"]
        assert colour.get() == "red"


def test_what_a_task_changes_no_other_task_sees_while_it_waits(colour):
    async def change(value, begun, may_end):
        with colour.held(value):
            begun.set()
            await may_end.wait()
            assert colour.get() == value
        return colour.get()

    async def both():
        first, second, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(change("red", first, end)), asyncio.create_task(change("blue", second, end))]
        await first.wait()
        await second.wait()
        assert colour.get() == "grey"
        end.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(both()) == ["grey", "grey"]
    assert colour.get() == "grey"


def test_a_task_starts_with_what_its_maker_had(colour):
    async def look():
        return colour.get()

    async def make():
        with colour.held("red"):
            task = asyncio.create_task(look())
        return await task

    assert asyncio.run(make()) == "red"


def test_a_block_that_ends_before_one_inside_of_it_takes_away_its_own_value_only(colour):
    def hold(value):
        with colour.held(value):
            yield

    outer, inner = hold("red"), hold("blue")
    next(outer)
    next(inner)
    outer.close()
    assert colour.get() == "blue"
    inner.close()
    assert colour.get() == "grey"


def test_a_block_of_another_thread_does_not_end_here(colour):
    owner = object()
    thread = threading.Thread(target=lambda: colour.enter(owner, "red"))
    thread.start()
    thread.join()
    with colour.held("blue"):
        with pytest.raises(GraphError, match="colour: a with block expected to end in the thread, or task of asyncio"):
            colour.leave(owner)
        assert colour.get() == "blue"


def test_a_change_lasts_to_the_end_of_the_block_around_it(colour):
    with colour.held("red"):
        colour.change("pink")
        assert colour.get() == "pink"
    assert colour.get() == "grey"
    colour.change("white")
    with colour.held("red"):
        assert colour.get() == "red"
    assert colour.get() == "white"
    colour.change("grey")
