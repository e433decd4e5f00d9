import asyncio
import functools
import gc
import inspect
import threading

import pytest

import opsdk
from opsdk.core import modes
from opsdk.core.errors import AttributeValueError


def leaf():
    return opsdk.to_tensor([1.0, 2.0], stop_gradient=False)


def test_nothing_is_recorded_inside_no_grad():
    x = leaf()
    with opsdk.no_grad():
        y = x * 2.0
        assert not opsdk.is_grad_enabled()
    assert y.stop_gradient
    assert y.is_leaf
    assert opsdk.is_grad_enabled()
    assert not x.stop_gradient


@pytest.mark.parametrize("decorate", [opsdk.no_grad, opsdk.no_grad()])
def test_no_grad_decorates_with_and_without_brackets(decorate):
    @decorate
    def double(x):
        """Twice x."""
        return x * 2.0

    assert double(leaf()).stop_gradient
    assert double.__doc__ == "Twice x."
    assert opsdk.is_grad_enabled()


def test_enable_grad_resumes_inside_no_grad():
    @opsdk.enable_grad
    def double(x):
        return x * 2.0

    with opsdk.no_grad():
        with opsdk.enable_grad():
            assert not (leaf() * 2.0).stop_gradient
        assert not double(leaf()).stop_gradient
        assert (leaf() * 2.0).stop_gradient


def test_set_grad_enabled_takes_the_mode():
    with opsdk.set_grad_enabled(False):
        assert not opsdk.is_grad_enabled()
        with opsdk.set_grad_enabled(True):
            assert opsdk.is_grad_enabled()
        assert not opsdk.is_grad_enabled()


def test_the_mode_comes_back_after_an_error():
    with pytest.raises(ZeroDivisionError), opsdk.no_grad():
        raise ZeroDivisionError
    assert opsdk.is_grad_enabled()


def test_one_object_may_be_entered_again_inside_itself():
    mode = opsdk.no_grad()
    with mode:
        with mode:
            pass
        assert not opsdk.is_grad_enabled()
    assert opsdk.is_grad_enabled()


def test_a_recursive_function_may_be_decorated():
    @opsdk.no_grad
    def power(x, n):
        return x if n == 1 else power(x, n - 1) * x

    assert power(leaf(), 3).stop_gradient
    assert opsdk.is_grad_enabled()


def test_the_mode_belongs_to_the_thread():
    seen = []

    def other():
        seen.append(opsdk.is_grad_enabled())
        seen.append((leaf() * 2.0).stop_gradient)

    with opsdk.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_one_object_serves_two_threads_at_once():
    mode = opsdk.no_grad()
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def other():
        with opsdk.no_grad(), mode:  # enters with recording off, so off is what it must come back to
            inside.set()
            leave.wait(10)
        seen.append(opsdk.is_grad_enabled())

    thread = threading.Thread(target=other)
    with mode:
        thread.start()
        inside.wait(10)
    enabled_here = opsdk.is_grad_enabled()
    leave.set()
    thread.join()
    assert enabled_here
    assert seen == [True]


def test_backward_works_inside_no_grad():
    x = leaf()
    y = (x * x).sum()
    with opsdk.no_grad():
        y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


# -- a statement ------------------------------------------------------------------------------------------------------


@pytest.fixture
def recording():
    """Recording is on again after the test."""
    yield
    opsdk.set_grad_enabled(True)


def test_set_grad_enabled_takes_effect_as_a_statement(recording):
    opsdk.set_grad_enabled(False)
    assert not opsdk.is_grad_enabled()
    assert (leaf() * 2.0).stop_gradient
    opsdk.set_grad_enabled(True)
    assert not (leaf() * 2.0).stop_gradient


def test_as_a_block_it_leaves_the_mode_that_was_there_before(recording):
    mode = opsdk.set_grad_enabled(False)
    with mode:
        assert not opsdk.is_grad_enabled()
    assert opsdk.is_grad_enabled()
    with mode:
        assert not opsdk.is_grad_enabled()
    assert opsdk.is_grad_enabled()


def test_as_a_decorator_it_leaves_the_mode_around_the_function_alone(recording):
    @opsdk.set_grad_enabled(False)
    def double(x):
        return x * 2.0

    assert opsdk.is_grad_enabled()
    assert double(leaf()).stop_gradient
    assert opsdk.is_grad_enabled()


@pytest.mark.parametrize("mode", ["off", None, 0])
def test_a_mode_is_true_or_false(mode):
    with pytest.raises(AttributeValueError, match=f"set_grad_enabled: mode expected True or False, got {mode!r}"):
        opsdk.set_grad_enabled(mode)
    assert opsdk.is_grad_enabled()


def test_a_thread_starts_with_recording_on_whatever_an_ended_one_did():
    seen = []

    def switch_off():
        opsdk.set_grad_enabled(False)

    for target in [switch_off, lambda: seen.append(opsdk.is_grad_enabled())] * 4:  # numbers of ended threads come again
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    assert seen == [True] * 4
    assert opsdk.is_grad_enabled()


# -- functions that stop and go on ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "decorate", [opsdk.no_grad, opsdk.no_grad(), lambda function: opsdk.set_grad_enabled(False)(function)]
)
def test_every_step_of_a_generator_is_in_the_mode_and_nothing_between_them(decorate):
    seen = []

    @decorate
    def steps(x):
        got = yield x * 2.0
        try:
            yield got * 2.0
        except ValueError:
            seen.append(opsdk.is_grad_enabled())
            yield x * 3.0
        return opsdk.is_grad_enabled()

    assert inspect.isgeneratorfunction(steps)
    running = steps(leaf())
    assert next(running).stop_gradient
    assert opsdk.is_grad_enabled()
    assert running.send(leaf()).stop_gradient
    assert running.throw(ValueError()).stop_gradient
    with pytest.raises(StopIteration) as end:
        next(running)
    assert (seen, end.value.value, opsdk.is_grad_enabled()) == ([False], False, True)


def test_a_generator_that_is_closed_is_closed_in_the_mode():
    seen = []

    @opsdk.no_grad
    def steps():
        try:
            yield 1
        finally:
            seen.append(opsdk.is_grad_enabled())

    running = steps()
    next(running)
    running.close()
    assert (seen, opsdk.is_grad_enabled()) == ([False], True)


def test_every_step_of_a_coroutine_is_in_the_mode_and_nothing_between_them():
    seen = []

    @opsdk.no_grad()
    async def inside():
        seen.append(opsdk.is_grad_enabled())
        await asyncio.sleep(0)
        seen.append(opsdk.is_grad_enabled())
        return (leaf() * 2.0).stop_gradient

    async def outside():
        task = asyncio.ensure_future(inside())
        await asyncio.sleep(0)
        seen.append(opsdk.is_grad_enabled())
        return await task

    assert asyncio.run(outside())
    assert seen == [False, True, False]


def test_what_cannot_be_run_in_a_mode_is_refused():
    async def asynchronous():
        yield 1

    with pytest.raises(AttributeValueError, match="coroutine function to decorate, got the asynchronous generator"):
        opsdk.no_grad(asynchronous)
    with pytest.raises(AttributeValueError, match=r"grad mode: expected a function, generator function or .*, got 3; "):
        opsdk.no_grad(3)


def test_a_thread_that_ends_with_recording_off_leaves_no_trace():
    before = set(modes.OFF)
    thread = threading.Thread(target=lambda: opsdk.set_grad_enabled(False))
    thread.start()
    thread.join()
    gc.collect()
    assert before == modes.OFF


def test_a_task_that_waits_inside_no_grad_leaves_other_tasks_recording():
    w = leaf()

    async def evaluate(begun, may_end):
        with opsdk.no_grad():
            begun.set()
            await may_end.wait()
            assert (w * 2.0).stop_gradient

    async def train():
        begun, end = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.create_task(evaluate(*events)) for events in zip(begun, end, strict=True)]
        for event in begun:
            await event.wait()
        assert not (w * 2.0).stop_gradient
        for event, task in zip(end, tasks, strict=True):  # in the order in which they began
            event.set()
            await task
            assert opsdk.is_grad_enabled()

    asyncio.run(train())
    assert opsdk.is_grad_enabled()


def test_blocks_of_generators_may_end_in_the_order_in_which_they_began():
    def held():
        with opsdk.no_grad():
            yield

    first, second = held(), held()
    next(first)
    next(second)
    first.close()
    assert not opsdk.is_grad_enabled()
    second.close()
    assert opsdk.is_grad_enabled()


def test_what_a_wrapper_makes_is_stepped_in_the_mode_too():
    def seen():
        yield opsdk.is_grad_enabled()
        yield opsdk.is_grad_enabled()

    @functools.wraps(seen)
    def wrapper():
        return seen()

    made = opsdk.no_grad(lambda: wrapper())()
    assert (next(made), opsdk.is_grad_enabled(), next(made)) == (False, True, False)

    async def awaited():
        await asyncio.sleep(0)
        return opsdk.is_grad_enabled()

    assert asyncio.run(opsdk.no_grad(lambda: awaited())()) is False
    assert opsdk.is_grad_enabled()


def test_inference_mode_is_torchs_word_for_no_grad():
    with opsdk.inference_mode():
        assert not opsdk.is_grad_enabled()
        with opsdk.inference_mode(False):
            assert not opsdk.is_grad_enabled()
    with opsdk.inference_mode(False):
        assert opsdk.is_grad_enabled()
    assert [opsdk.inference_mode(opsdk.is_grad_enabled)(), opsdk.inference_mode()(opsdk.is_grad_enabled)()] == [
        False
    ] * 2
