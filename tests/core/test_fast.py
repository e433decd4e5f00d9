"""What C stands in for: launches on arrays. Calls on tensors are in tests/autograd/test_fast_path.py."""

import ctypes
import gc
import sys

import numpy as np
import pytest

import opsdk
from opsdk.backends.memory.arena import SMALLEST, is_leased
from opsdk.core import fast
from opsdk.core.fast import FAST

needs_it = pytest.mark.skipif(FAST is None, reason="the fast path is not built")


def test_a_build_of_other_sources_is_not_used(monkeypatch):
    class Built:
        SOURCE = "0"

    monkeypatch.delenv("OPSDK_FAST_PATH", raising=False)
    monkeypatch.setattr(fast, "_built", Built)
    assert fast.state() == "out of date"
    Built.SOURCE = fast.source_mark()
    assert fast.state() == "built"
    monkeypatch.setattr(fast, "_built", None)
    assert fast.state() == "not built"
    monkeypatch.setenv("OPSDK_FAST_PATH", "0")
    assert fast.state() == "off"


# Launches of Python kernels.


@pytest.mark.parametrize("count", [1, 2, 8, 9])
def test_calls_of_any_number_of_inputs_give_the_sum(count):
    names = [f"x{i}" for i in range(count)]
    kernel = eval(f"lambda {', '.join(names)}: {' + '.join([*names, '0'])}")
    op = opsdk.op(f"t::total({', '.join(f'Tensor {name}' for name in names)}) -> Tensor y")(kernel)
    for _ in range(3):
        assert op(*[np.full(2, i + 1.0) for i in range(count)]).tolist() == [count * (count + 1) / 2] * 2


def test_inputs_that_are_lists_or_absent_are_served():
    op = opsdk.op("t::total(Tensor[] xs, Tensor? w=None) -> Tensor y")(
        lambda xs, w: sum(xs[1:], xs[0]) + (0 if w is None else w)
    )
    for _ in range(3):
        assert op([np.ones(2), np.ones(2)]).tolist() == [2, 2]
        assert op([np.ones(2)], np.ones(2)).tolist() == [2, 2]


def test_what_a_kernel_raises_has_its_note_in_every_call():
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w if x[0] else {}["no"])
    op(np.ones(2), np.ones(2))
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            op(np.zeros(2), np.ones(2))
        assert caught.value.__notes__[0].startswith("  raised in op 't::f', numpy kernel at ")


@needs_it
@pytest.mark.parametrize("status", [0, 5])
def test_a_compiled_kernel_that_fails_is_left_to_launch(status):
    Compiled = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)
    compiled = Compiled(lambda pointers, sizes, attrs, start, stop: status)
    known = {np.dtype(np.float64): (ctypes.cast(compiled, ctypes.c_void_p).value, 100)}
    entry = FAST.Entry(lambda x: "launched", known, 1)
    made = entry(np.ones(2))
    assert (made == "launched") if status else (made.shape == (2,))


def test_launches_keep_no_references():
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w)
    bad = opsdk.op("t::g(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w if x[0] else None)
    x, w = np.zeros(2), np.ones(2)
    bad(w, w)

    def go():
        for _ in range(1000):
            op(x, w), opsdk.maximum(x, w), opsdk.exp(x)
            with pytest.raises(opsdk.errors.ReturnError):
                bad(x, w)

    go()
    gc.collect()
    objects = [x, w, x.dtype, None, op]
    before = [sys.getrefcount(value) for value in objects]
    go()
    gc.collect()
    assert max(now - then for now, then in zip(map(sys.getrefcount, objects), before, strict=True)) < 50


@needs_it
def test_a_launch_is_given_a_list_and_attributes():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    op(np.ones(1))
    (plan,) = op.opdef.plans.values()
    assert isinstance(plan.run, FAST.Kind)
    assert plan.run([np.ones(1)], {}).tolist() == plan.run((np.ones(1),), {}).tolist() == [2]
    for arguments in ((), ([np.ones(1)],), ([np.ones(1)], {}, 3)):
        with pytest.raises(TypeError, match="Kind: expected a list of inputs and attributes"):
            plan.run(*arguments)
    with pytest.raises(TypeError, match="int"):
        plan.run(1, {})


# Compiled kernels.

ARRAYS = {
    "small": np.array([0.5, -1.0, 2.0], np.float32),
    "one element": np.array([[2.0]], np.float32),
    "without dimensions": np.array(-2.0, np.float32),
    "empty": np.zeros((0, 3), np.float32),
    "double": np.array([0.5, -1.0]),
    "half": np.array([0.5, -1.0], np.float16),
    "strided": np.arange(-6, 6, dtype=np.float32)[::2],
    "in columns": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "swapped": np.array([0.5, -1.0], ">f4"),
    "unaligned": np.frombuffer(b"\0" + np.array([0.5, -1.0], np.float32).tobytes(), np.float32, offset=1),
    "larger than what C is for": np.linspace(-1, 1, 70_000, dtype=np.float32),
    "read-only": np.broadcast_to(np.float32(-1.0), (3,)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_compiled_kernel_serves_every_kind_of_array(name):
    x = ARRAYS[name]
    for _ in range(3):
        made = opsdk.relu(x)
        assert (made.dtype.newbyteorder("="), made.shape) == (x.dtype.newbyteorder("="), x.shape)
        np.testing.assert_array_equal(made, np.maximum(x, 0))


def test_a_compiled_kernel_of_two_inputs_promotes_and_broadcasts():
    x, w = np.array([1.0, -2.0], np.float32), np.array([0.5, 3.0], np.float32)
    for _ in range(3):
        assert opsdk.maximum(x, w).tolist() == [1, 3]
        assert opsdk.maximum(x, w.astype(np.float64)).dtype == np.float64
        assert opsdk.maximum(x, w[:1]).tolist() == [1, 0.5]
        assert opsdk.maximum(x, x) is not x


@needs_it
def test_a_kernel_in_c_falls_back_where_it_is_not_for():
    seen = []
    entry = FAST.Entry(lambda *values: seen.append(values), {}, 1)
    entry(np.ones(2))
    entry("text")
    entry(np.ones(2), np.ones(2))
    assert [len(values) for values in seen] == [1, 1, 2]
    with pytest.raises(ValueError, match="Entry: expected 1 to 8 inputs, got 9"):
        FAST.Entry(print, {}, 9)
    with pytest.raises(TypeError):
        FAST.Entry(print, None, 1)


def test_an_op_of_two_inputs_that_gets_one_names_the_other():
    op = opsdk.op("t::f(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w)
    known = opsdk.op("t::g(Tensor x, Tensor? w=None) -> Tensor y")(lambda x, w: x if w is None else x + w)
    for value in (np.ones(2), opsdk.to_tensor([1.0])):
        with pytest.raises(TypeError, match="'w'"):
            op(value)
        with pytest.raises(opsdk.errors.AliasError):
            known(value)


@needs_it
def test_a_compiled_kernel_is_left_to_python_for_other_dtypes_and_large_arrays():
    @opsdk.elementwise(namespace="t")
    def mixed(x, w):
        return 2 * x + w

    x = np.ones(3, np.float32)
    mixed(x, x)
    (plan,) = mixed.opdef.plans.values()
    assert isinstance(plan.launch, FAST.Entry)
    for w in (np.full(3, 0.5), np.full((2, 3), 0.5, np.float32)):
        np.testing.assert_array_equal(plan.launch(x, w), 2 * x + w)
    large = np.ones(SMALLEST // 4, np.float32)
    assert is_leased(plan.launch(large, large), ())
    assert plan.launch(large[1:], large[1:]).base is None
