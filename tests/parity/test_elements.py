"""An op that declares which elements its tensors have: held to it by every runtime, before anything runs."""

import numpy as np
import pytest

import opsdk
from opsdk.core.dtype import bfloat16
from opsdk.core.errors import DTypeError
from opsdk.static import Executor, Program, data, program_guard

TABLE = np.arange(6, dtype=np.float32).reshape(3, 2)
REFUSED = "^op 't::rows': index expected integers, got {}; cast it to int64"


@pytest.fixture
def rows():
    calls = []

    @opsdk.op(
        "t::rows(Tensor table, Tensor<int> index) -> Tensor y",
        infer=lambda table, index: opsdk.TensorSpec((*index.shape, *table.shape[1:]), table.dtype),
    )
    def rows(table, index):
        calls.append(index.dtype)
        return table[index]

    @rows.backward
    def rows_grad(table, index, dy):
        return opsdk.sum_at(dy, index, len(table))

    rows.calls = calls
    return rows


@pytest.mark.parametrize("index", [np.array([0.0]), np.array([True]), np.float32(1), 1.5, [0.5, 1], [False, True]])
def test_other_elements_are_refused_in_both_runtimes_and_for_arrays(rows, index):
    wrong = REFUSED.format("(float64|float32|bool)")
    for _ in range(2):
        with pytest.raises(DTypeError, match=wrong):
            rows(TABLE, index)
        with pytest.raises(DTypeError, match=wrong):
            rows(opsdk.to_tensor(TABLE), index)
        if isinstance(index, np.ndarray):
            with pytest.raises(DTypeError, match=wrong):
                rows(opsdk.to_tensor(TABLE, stop_gradient=False), opsdk.to_tensor(index))
    with program_guard(program := Program()):
        table = data("table", [None, 2], "float32")
        before = (len(program.global_block().ops), set(program.global_block().vars))
        with pytest.raises(DTypeError, match=wrong):
            rows(table, index)
        with pytest.raises(DTypeError, match=REFUSED.format("float32")):
            rows(table, table)
        assert (len(program.global_block().ops), set(program.global_block().vars)) == before
    assert rows.calls == []


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_integers_of_every_width_are_taken(rows, dtype):
    np.testing.assert_array_equal(rows(TABLE, np.array([2, 0], dtype)), TABLE[[2, 0]])


def test_whole_numbers_without_a_dtype_are_integers_there_and_not_what_stands_beside_them(rows):
    np.testing.assert_array_equal(rows(TABLE, [2, 0]), TABLE[[2, 0]])
    np.testing.assert_array_equal(rows(TABLE, 1), TABLE[1])
    np.testing.assert_array_equal(rows(opsdk.to_tensor(TABLE), 1).numpy(), TABLE[1])
    with program_guard(program := Program()):
        y = rows(data("table", [3, 2], "float32"), 1)
    np.testing.assert_array_equal(Executor().run(program, feed={"table": TABLE}, fetch_list=[y])[0], TABLE[1])
    far = 2**24 + 1

    @opsdk.op("t::same(Tensor x, Tensor<int> k) -> Tensor<int> y", infer=opsdk.infer.like("k"))
    def same(x, k):
        return k + 0

    assert int(same(opsdk.to_tensor(TABLE), far).numpy()) == far  # float32 has no such number


def test_a_number_takes_the_kind_that_is_declared():
    @opsdk.op("t::half(Tensor<float> x) -> Tensor y")
    def half(x):
        return x / 2

    assert half(3).dtype == np.float32
    assert half(3) == 1.5
    with pytest.raises(DTypeError, match="op 't::half': x expected floats, got int64; cast it to float32"):
        half(np.array(3))
    assert half(np.array(3, bfloat16())).dtype == bfloat16()


def test_integers_carry_no_gradient_without_being_listed(rows):
    assert rows.opdef.traits.nondifferentiable == ("index",)
    assert str(rows.grad.opdef.schema) == "t::rows_grad@1(Tensor table, Tensor<int> index, Tensor dy) -> Tensor dtable"
    table = opsdk.to_tensor(TABLE, stop_gradient=False)
    rows(table, np.array([0, 0, 2])).sum().backward()
    np.testing.assert_array_equal(table.grad.numpy(), [[2, 2], [0, 0], [1, 1]])
    with pytest.raises(DTypeError, match="op 't::rows_grad': index expected integers, got float64"):
        rows.grad(TABLE, np.zeros(1), np.ones((1, 2)))


def test_each_tensor_of_a_list_and_optional_ones_are_held_to_it():
    @opsdk.op("t::pick(Tensor x, Tensor<bool>? mask=None, Tensor<int|bool>[] more) -> Tensor y")
    def pick(x, mask, more):
        return x + 0

    x = np.ones(2)
    pick(x)
    pick(x, None, np.ones(2, int), np.ones(2, bool))
    with pytest.raises(DTypeError, match="op 't::pick': mask expected bools, got float64; cast it to bool"):
        pick(x, x)
    with pytest.raises(DTypeError, match=r"op 't::pick': more\[1\] expected integers or bools, got float64"):
        pick(x, None, np.ones(2, int), x)


def test_an_output_is_held_to_what_its_schema_declares():
    @opsdk.op("t::best(Tensor x) -> (Tensor value, Tensor<int> index)")
    def best(x):
        return x.max(-1), x.argmax(-1)

    text = r"op 't::best', infer: output 'index' expected integers, which its schema declares, got float32; correct the"
    with pytest.raises(DTypeError, match=text):
        best(TABLE)
    with program_guard(Program()), pytest.raises(DTypeError, match=text):
        best(data("x", [3, 2], "float32"))

    @best.infer
    def best_infer(x):
        return opsdk.TensorSpec(x.shape[:-1], x.dtype), opsdk.TensorSpec(x.shape[:-1], "int64")

    @best.backward
    def best_grad(x, index, dvalue):
        dx = np.zeros_like(x)
        np.put_along_axis(dx, index[:, None], dvalue[:, None], -1)
        return dx

    value, index = best(x := opsdk.to_tensor(TABLE, stop_gradient=False))
    assert index.stop_gradient
    value.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[0, 1], [0, 1], [0, 1]])


def test_elements_are_part_of_what_an_op_is():
    def same(x):
        return x + 0

    digests = {opsdk.op(f"t::same(Tensor{e} x) -> Tensor y", replace=True)(same).opdef.digest for e in ("", "<int>")}
    assert len(digests) == 2


def test_a_kernel_is_chosen_by_the_numbers_and_not_by_the_index_before_them():
    @opsdk.op(
        "t::rows_of(Tensor<int> index, Tensor table) -> Tensor y",
        infer=lambda index, table: opsdk.TensorSpec((*index.shape, *table.shape[1:]), table.dtype),
    )
    def rows_of(index, table):
        return table[index]

    ran = []

    @rows_of.kernel("cpu", language="numpy", dtype="float32")
    def narrow(index, table):
        ran.append(table.dtype)
        return table[index]

    np.testing.assert_array_equal(rows_of(np.array([1]), TABLE), TABLE[[1]])
    np.testing.assert_array_equal(rows_of(np.array([1]), TABLE.astype(float)), TABLE[[1]])
    assert set(ran) == {np.dtype("float32")}


def test_verify_tries_integers_where_they_are_declared(rows):
    report = opsdk.verify(rows)
    assert report.findings == ()
    tried = str(report.coverage.samples)
    assert "(float64(3, 5), int64(3, 5)) matrix" in tried
    assert "(float64(3, 5), int32(3, 5)) int32" in tried


def test_verify_finds_a_gradient_that_forgets_repeated_positions(rows):
    @rows.backward(replace=True)
    def rows_grad(table, index, dy):
        made = np.zeros_like(table)
        made[index] = dy
        return made

    assert opsdk.verify(rows).findings[0].check == "vjp.table"


def test_samples_lie_inside_the_domain_of_an_integer_input():
    seen = set()

    @opsdk.op(
        "t::shift(Tensor x, Tensor<int> k, Tensor<complex> z, Tensor<bool> m) -> Tensor y", domain={"k": (1, 2.5)}
    )
    def shift(x, k, z, m):
        assert z.dtype.kind == "c"
        assert m.dtype.kind == "b"
        seen.update(k.ravel().tolist())
        return x + 0

    opsdk.verify(shift)
    assert seen == {1, 2}
