"""The fast path: it gives what the general way gives, keeps nothing, and stands whatever a kernel does meanwhile."""

import gc
import json
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import opsdk
from opsdk.autograd.accumulate import LOCK
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.core.fast import FAST
from tests.autograd import fast_path_cases
from tests.autograd.fast_path_cases import leaf, make, ones, relu, slope

needs_it = pytest.mark.skipif(FAST is None, reason="the fast path is not built")


def test_every_case_comes_to_the_same_without_the_fast_path():
    done = subprocess.run(
        [sys.executable, "-m", "tests.autograd.fast_path_cases"],
        env={**os.environ, "OPSDK_FAST_PATH": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    here = json.loads(json.dumps(fast_path_cases.results()))
    there = json.loads(done.stdout)
    assert here.keys() == there.keys()
    for name, found in here.items():
        assert found == there[name], name


# By hand: what the cases come to, for those that say most.


def test_gradients_along_a_chain_are_added_to_the_leaf():
    f, x = make(relu, lambda y, dy: dy * 3), leaf()
    f(f(f(x))).backward(ones())
    f(x).backward(ones())
    assert x.grad.numpy().tolist() == [30, 30, 30]


def test_a_hook_that_a_kernel_registers_on_the_way_is_called_and_no_kernel_runs_twice():
    x = leaf()
    inner = make(relu, slope, name="inner")
    y = inner(x)

    def gradient(y_, dy):
        y.register_hook(lambda grad: grad * 5)
        return dy * 1

    outer = make(relu, gradient, name="outer")
    outer(y).backward(ones())
    assert x.grad.numpy().tolist() == [5, 0, 5]
    assert inner.calls["backward"] == outer.calls["backward"] == 3


def test_hooks_of_the_leaf_and_of_a_tensor_on_the_way_are_called():
    f = make(relu, slope)
    for place, factor in (("leaf", 10), ("between", 10), ("both", 100)):
        x = leaf()
        y = f(x)
        for tensor in {"leaf": (x,), "between": (y,), "both": (x, y)}[place]:
            tensor.register_hook(lambda grad: grad * 10)
        f(y).backward(ones())
        assert x.grad.numpy().tolist() == [factor, 0, factor]


def test_a_failure_on_the_way_changes_nothing():
    x = leaf()
    inner = make(relu, lambda y, dy: 1 / 0, name="inner")
    outer = make(relu, slope, name="outer")
    y = outer(inner(x))
    for _ in range(2):  # the second time too: nothing was freed
        with pytest.raises(ZeroDivisionError) as caught:
            y.backward(ones())
        note = "  raised in op 't::inner_grad', backward of op 't::inner', numpy kernel"
        assert caught.value.__notes__[0].startswith(note)
    assert x.grad is None
    assert outer.calls["backward"] == 4


def test_an_error_of_opsdk_ends_at_the_call():
    f = make(lambda x: x, slope)
    with pytest.raises(opsdk.errors.AliasError) as caught:
        f(leaf())
    assert {entry.path.name for entry in caught.traceback} <= {"test_fast_path.py", "op.py"}


def test_a_gradient_that_is_the_cotangent_is_copied():
    f, x, dy = make(relu, lambda y, dy: dy), leaf(), ones()
    f(x).backward(dy)
    dy.fill_(9.0)
    assert x.grad.numpy().tolist() == [1, 1, 1]


def test_a_gradient_that_was_looked_at_never_changes():
    f, x = make(relu, slope), leaf()
    f(x).backward(ones())
    first = x.grad
    f(x).backward(ones())
    assert (first.numpy().tolist(), x.grad.numpy().tolist()) == ([1, 0, 1], [2, 0, 2])


def test_a_chain_of_many_calls_is_gone_back_through_and_freed():
    f, x = make(relu, slope), leaf()
    y = x
    for _ in range(20_000):
        y = f(y)
    y.backward(ones())
    assert x.grad.numpy().tolist() == [1, 0, 1]
    del y


def test_threads_lose_no_gradient_of_a_leaf_that_they_share():
    f, x = make(relu, slope), leaf()

    def work():
        for _ in range(500):
            f(x).backward(ones())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.numpy().tolist() == [2000, 0, 2000]


def test_a_gradient_that_another_thread_puts_there_meanwhile_is_added_to():
    here, entered, locked = threading.get_ident(), threading.Event(), threading.Event()

    def gradient(y, dy):
        entered.set()
        locked.wait()
        return dy * 1

    f, x = make(relu, gradient), leaf()

    def work():
        entered.wait()
        with LOCK:
            locked.set()
            while sys._current_frames()[here].f_code.co_name not in ("backward", "accumulate"):
                pass  # the kernel has not come back yet; then the thread waits for the lock
            x.grad = ones()

    other = threading.Thread(target=work)
    other.start()
    f(x).backward(ones())
    other.join()
    assert x.grad.numpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize("order", ["y, dy", "dy, y", "x, dy", "dy, x"])
def test_a_gradient_kernel_gets_what_it_names_in_its_order(order):
    f = opsdk.op("t::cubed(Tensor x) -> Tensor y")(lambda x: x**3)
    value = "y" if "y" in order.split(", ") else "x"
    f.backward(eval(f"lambda {order}: dy * 10 + {value}"), name="cubed_grad")
    for _ in range(3):
        x = leaf()
        f(f(x)).backward(ones())
        inner, outer = np.array([1, -8, 27.0]), np.array([1, -512, 19683.0])
        first = 10 + (outer if value == "y" else inner)
        assert x.grad.numpy().tolist() == (first * 10 + (inner if value == "y" else x.numpy())).tolist()


@needs_it
def test_the_cases_take_the_fast_path():
    f = make(relu, slope)
    (kind,) = f.opdef.plans.recorded.values()
    assert isinstance(kind, FAST.Kind)
    assert [type(value) for value in f.grad.opdef.plans.values()].count(FAST.Kind) == 1


# What it keeps: nothing.


def _counted():
    return None, True, False, 0, 1, -1, np.dtype("float32"), Tensor, GradNode, np.ndarray


@pytest.mark.parametrize("seed", [True, False])
def test_calls_keep_no_references(seed):
    f, x, dy = make(relu, slope), leaf(), ones() if seed else None
    objects = [*_counted(), x, x._array, x._version, f, f.opdef, *f.opdef.plans.recorded.values()]
    rounds = 20_000

    def go():
        for _ in range(rounds):
            x.grad = None
            f(f(x)).backward(dy)
            f(x)

    go()
    gc.collect()
    before, held = [sys.getrefcount(value) for value in objects], len(gc.get_objects())
    go()
    gc.collect()
    grown = [now - then for now, then in zip(map(sys.getrefcount, objects), before, strict=True)]
    assert max(grown) < rounds // 100
    assert len(gc.get_objects()) - held < rounds // 100


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("fault", ["an_exception", "another_dtype", "nothing", "its_input", "a_refused_write"])
def test_calls_that_fail_keep_no_references(where, fault):
    give = fast_path_cases.GIVES[fault]
    f = make(give, slope) if where == "forward" else make(relu, lambda y, dy: give(dy))
    x, dy = leaf(), ones()
    objects = [*_counted(), x, x._array, x._version, dy._array, dy, f.opdef]
    rounds = 500

    def go():
        for _ in range(rounds):
            y = None
            try:
                y = f(x)
                y.backward(dy)
            except Exception:
                pass

    go()
    gc.collect()
    before = [sys.getrefcount(value) for value in objects]
    go()
    gc.collect()
    grown = [now - then for now, then in zip(map(sys.getrefcount, objects), before, strict=True)]
    assert max(grown) < rounds // 10


def test_an_op_that_nobody_holds_is_collected_with_its_kinds_of_calls():
    def once():
        f = make(relu, slope)
        f(leaf()).backward(ones())
        opsdk.define.op.REGISTRY.remove("t::f")
        opsdk.define.op.REGISTRY.remove("t::f_grad")
        return weakref.ref(f), weakref.ref(f.opdef.plans)

    found = once()
    gc.collect()
    assert [reference() for reference in found] == [None, None]


def test_values_of_a_graph_are_gone_with_it():
    f, x = make(relu, slope), leaf()
    y = f(f(x))
    node = weakref.ref(y._edge[0])
    y.backward(ones(), retain_graph=True)
    seen = weakref.ref(y)
    del y
    assert (seen(), node()) == (None, None)


# What is given to it that is not what it takes.


@needs_it
@pytest.mark.parametrize(
    ("function", "arguments"),
    [("call", ()), ("backward", (1, 2, 3)), ("along", (1, 2, 3)), ("gradient", (1, 2, 3)), ("rebased", (1, 2))],
)
def test_wrong_arguments_are_refused(function, arguments):
    with pytest.raises(TypeError):
        getattr(FAST, function)(*arguments)


@needs_it
def test_what_is_not_all_there_is_not_connected():
    class Loose:
        _array = 1

    given = dict.fromkeys(("Tensor", "GradNode", "TapePlan", "PlanCache", "Lease"), Loose)
    with pytest.raises(TypeError, match="fast path: expected apply, got nothing"):
        FAST.connect(given)
    rest = "apply is_recording off number rescued looked_at unchanged routed seed_of accumulate zero lock unlock active"
    with pytest.raises(TypeError, match=r"fast path: expected _array of .*Loose.* to be a slot, got 1"):
        FAST.connect({**given, **dict.fromkeys([*rest.split(), "many"])})
    with pytest.raises(TypeError, match=r"connect_ops: expected a class of handles, got .*Loose"):
        FAST.connect_ops(Loose, {}, None, None)
    f, x = make(relu, slope), leaf()  # all is as it was
    f(x).backward(ones())
    assert x.grad.numpy().tolist() == [1, 0, 1]


@needs_it
def test_a_view_shows_its_base_to_nobody():
    view = FAST.read_only(np.arange(6.0).reshape(2, 3).T)
    assert (view.shape, view.flags.writeable, view.tolist()) == ((3, 2), False, [[0, 3], [1, 4], [2, 5]])
    assert gc.get_referents(view.base) == [type(view.base)] or gc.get_referents(view.base) == []
    assert [name for name in dir(view.base) if not name.startswith("__")] == []
    with pytest.raises(TypeError, match="cannot create"):
        type(view.base)()
    assert FAST.read_only(None) is None


@needs_it
def test_a_tensor_that_is_half_made_is_refused():
    f = make(relu, slope)
    half = object.__new__(Tensor)
    for name, value in {"_version": [0], "_array": np.ones(3, np.float32), "_stop": False, "_edge": None}.items():
        with pytest.raises((AttributeError, TypeError)):
            f(half)
        setattr(half, name, value)
    f(half)  # a tensor now, as far as a call looks at it
    with pytest.raises(AttributeError, match="_hooks"):
        f(half).backward(ones())
    half._edge = 5
    with pytest.raises(TypeError, match="tensor: expected the call that made it and which output it is, or None"):
        f(half)
