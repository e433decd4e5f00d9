import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ArityError, MixedRuntimeError, ProgramError, ReturnError
from opsdk.define.frontend import owner_of


@pytest.fixture
def x():
    return static.data("x", [None, 2], "float32")


@pytest.fixture
def weight():
    return static.create_parameter([2], "float32", default_initializer=opsdk.nn.initializer.Constant(3.0))


ROW = np.array([[1.0, 2.0]], np.float32)


def test_variables_belong_to_it(x, weight):
    assert (owner_of(x), owner_of(weight)) == ("Program variables", "Program variables")


def test_a_call_goes_to_the_program_of_its_variables_and_not_to_the_default_one(main, x):
    other = static.Program()
    with static.program_guard(other):
        opsdk.relu(x)
    assert (len(main.global_block().ops), len(other.global_block().ops)) == (1, 0)


def test_variables_of_two_programs_are_refused(x):
    with static.program_guard(static.Program()):
        y = static.data("y", [None, 2], "float32")
    with pytest.raises(ProgramError, match="op 'opsdk::elementwise_add': expected variables of one Program, 'x' and"):
        x + y


def composite(body, schema="test_ops::composed(Tensor x, *, float by=2.0) -> Tensor y"):
    return opsdk.op(schema, composite=True)(body)


def test_a_composite_of_a_parameter_is_recorded_as_what_it_is_made_of(block, weight):
    composite(lambda x, *, by: opsdk.tanh(x) * by)(weight)
    assert [operator.type for operator in block.ops] == ["tanh", "scale"]


def test_a_composite_of_data_alone_is_what_it_is_made_of_too(block, x):
    composite(lambda x, *, by: opsdk.tanh(x) * by)(x)
    assert [operator.type for operator in block.ops] == ["tanh", "scale"]


def test_a_composite_of_data_alone_that_asks_for_sizes_is_recorded_as_itself(block, x):
    composite(lambda x, *, by: opsdk.tanh(x) * float(x.shape[0]))(x)
    assert [operator.type for operator in block.ops] == ["composed"]


@pytest.mark.parametrize("of", ["x", "weight"])
def test_a_composite_computes_its_body(fetch, x, weight, of):
    y = composite(lambda x, *, by: opsdk.tanh(x) * by)({"x": x, "weight": weight}[of])
    expected = np.tanh({"x": ROW, "weight": np.array([3.0, 3.0], np.float32)}[of]) * 2
    np.testing.assert_allclose(fetch(y, x=ROW), expected, rtol=1e-6)


def test_attributes_of_a_composite_are_completed_and_converted(fetch, weight):
    op = composite(lambda x, *, by: x * by)
    np.testing.assert_array_equal(fetch(op(weight, by=np.float64(4.0))), [12.0, 12.0])


def test_a_composite_may_return_its_outputs_by_name(fetch, weight):
    op = composite(lambda x: {"b": x * 2.0, "a": x * 1.0}, "test_ops::composed(Tensor x) -> (Tensor a, Tensor b)")
    a, b = op(weight)
    assert [float(v[0]) for v in fetch([a, b])] == [3.0, 6.0]


def test_a_composite_that_returns_no_variable_is_refused(main, state, weight):
    op = composite(lambda x, *, by: 0.0)
    before = state(main)
    with pytest.raises(ReturnError, match="expected its body to return a Variable in a Program, got float"):
        op(weight)
    assert state(main) == before


def test_a_composite_that_fails_halfway_leaves_the_program_as_it_was(main, state, weight):
    def body(x, *, by):
        opsdk.tanh(x)
        raise KeyError("halfway")

    op = composite(body)
    before = state(main)
    with pytest.raises(KeyError, match="halfway"):
        op(weight)
    assert state(main) == before


def test_a_composite_that_returns_too_little_is_refused(weight):
    op = composite(lambda x: x * 1.0, "test_ops::composed(Tensor x) -> (Tensor a, Tensor b)")
    with pytest.raises(ArityError, match=r"expected 2 outputs \(a, b\), got 1"):
        op(weight)


def test_variables_in_a_list_are_told_to_be_one(main, state):
    v, u = (static.data(name, [2], "float32") for name in "vu")
    before = state(main)
    for call in (lambda: v * [u, u], lambda: [u, 1.0] * v, lambda: opsdk.exp([u, u])):
        with pytest.raises(MixedRuntimeError, match=r"numbers in a list, got Variable, .* takes out of its graph"):
            call()
    assert state(main) == before


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_ones_and_zeros_like_a_variable_and_its_copy_are_calls(fetch, x, dtype):
    assert fetch(opsdk.ones_like(x, dtype), x=ROW).tolist() == [[1.0, 1.0]]
    zeros = fetch(opsdk.zeros_like(x, dtype), x=ROW)
    assert (zeros.tolist(), zeros.dtype) == ([[0.0, 0.0]], np.dtype(dtype or "float32"))
    assert fetch(opsdk.assign(x), x=ROW).tolist() == ROW.tolist()
    sevens = fetch(opsdk.full_like(x, 7.5, dtype), x=ROW)
    assert (sevens.tolist(), sevens.dtype) == ([[7.5, 7.5]], np.dtype(dtype or "float32"))


def test_in_a_composite_what_is_made_of_nothing_belongs_to_the_program(fetch, block, x):
    def body(x, *, by):
        made = opsdk.ones([2]) + opsdk.full([], by) + opsdk.assign(np.ones(2, np.float32))
        return x * made + opsdk.arange(2, dtype="float32") + opsdk.zeros([x.shape[0], 2])

    by_array = np.array([[4.0, 9.0]], np.float32)
    assert fetch(composite(body)(x), x=ROW).tolist() == by_array.tolist()
    assert composite(body)(ROW).tolist() == by_array.tolist()
    assert composite(body)(opsdk.to_tensor(ROW, stop_gradient=False)).tolist() == by_array.tolist()
    assert opsdk.ones([2]).block is block  # as beside it, in the program_guard of these tests


def test_random_numbers_of_a_composite_are_drawn_anew_in_each_run(exe, x):
    made = composite(lambda x, *, by: x + opsdk.rand([2]) + opsdk.randn([2]))(x)
    first, second = (exe.run(feed={"x": ROW}, fetch_list=[made])[0] for _ in range(2))
    assert first.tolist() != second.tolist()


def test_what_runs_on_arrays_while_a_program_is_built_makes_tensors(x):
    inner = composite(lambda x, *, by: x + opsdk.ones([2]), "test_ops::inner(Tensor x, *, float by=2.0) -> Tensor y")
    seen = []
    composite(lambda x, *, by: (seen.append(inner(ROW)), x * 1.0)[1])(x)
    assert seen[0].tolist() == [[2.0, 3.0]]


def test_sizes_that_only_a_run_can_tell_make_numbers_of_the_program(fetch, x):
    n = x.shape[0]
    made = [opsdk.arange(n), opsdk.arange(1, n, dtype="float32"), opsdk.full([n, 1], True, "bool"), opsdk.zeros((2, n))]
    assert [tuple(value.spec.shape) for value in made] == [(None,), (None,), (None, 1), (2, None)]
    found = fetch(made, x=np.ones((3, 2), np.float32))
    assert [value.tolist() for value in found] == [[0, 1, 2], [1.0, 2.0], [[True]] * 3, [[0.0] * 3] * 2]
    assert [value.dtype for value in made] == [np.int64, np.float32, np.bool_, np.float32]


def test_a_size_of_what_is_no_variable_has_no_number_to_count_to():
    with pytest.raises(ProgramError, match="size 0 of 'images': expected a number for arange"):
        opsdk.arange(static.InputSpec([None], "float32", "images").shape[0])
