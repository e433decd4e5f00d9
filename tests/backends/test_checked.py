import numpy as np
import pytest

import opsdk
from opsdk.core.errors import MutationError


def define(function, schema="t::f(Tensor x, Tensor w) -> Tensor y"):
    return opsdk.op(schema, replace=True)(function)


def add_into(x, w):
    x += w
    return x * 2


def numba_row(op, function):
    op.kernel("cpu", function, language="numba")
    return op


@pytest.fixture(params=["numpy", "numba"])
def mutating(request):
    """An op that changes x without having said so."""
    op = define(add_into if request.param == "numpy" else lambda x, w: (x + w) * 2)
    if request.param == "numba":

        def kernel(x, w):
            for i in range(x.size):
                x[i] += w[i]
            return x * 2.0

        numba_row(op, kernel)
    return op


def test_an_input_that_is_changed_undeclared_is_named(mutating):
    with pytest.raises(MutationError) as caught:
        mutating(np.ones(3), np.ones(3))
    assert str(caught.value) == (
        "op 't::f': input 'x' was changed in place, expected it untouched; work on a copy, or declare it: Tensor(a!) x"
    )
    assert caught.value.details == {"inputs": ("x",)}


def test_an_input_that_was_changed_undeclared_is_put_back(mutating):
    x = np.arange(3.0)
    with pytest.raises(MutationError):
        mutating(x, np.ones(3))
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_the_second_call_is_refused_as_the_first_was(mutating):
    for _ in range(2):
        with pytest.raises(MutationError, match="input 'x' was changed in place"):
            mutating(np.ones(3), np.ones(3))
    assert len(mutating.opdef.plans) == 0


def test_all_inputs_that_are_changed_are_named():
    def both(x, w):
        x[0] = 9
        w[0] = 9
        return x + w

    with pytest.raises(MutationError, match="input 'x', 'w' was changed in place"):
        define(both)(np.ones(3), np.ones(3))


def test_an_item_of_a_list_that_is_changed_is_named_as_the_list():
    def first(xs):
        xs[1][0] = 9
        return xs[0] + 0

    with pytest.raises(MutationError, match="input 'xs' was changed in place"):
        define(first, "t::f(Tensor[] xs) -> Tensor y")([np.ones(3), np.ones(3)])


@pytest.mark.parametrize("language", ["numpy", "numba"])
def test_an_input_that_is_declared_as_mutated_is_changed(language):
    def fill(x, value):
        x[:] = value[0]

    op = define(fill, "t::fill(Tensor(a!) x, Tensor value) -> ()")
    if language == "numba":
        numba_row(op, fill)
    x = np.zeros(3)
    for value in (7.0, 8.0):
        assert op(x, np.array([value])) == ()
        assert x.tolist() == [value] * 3


def test_a_mutated_input_that_is_a_result_is_the_same_array():
    def fill(x, value):
        x[:] = value[0]

    op = define(fill, "t::fill(Tensor(a!) x, Tensor value) -> Tensor(a!) x_out")
    x = np.zeros(3)
    assert op(x, np.array([7.0])) is x
    assert op(x, np.array([8.0])) is x


def test_nan_in_an_input_is_no_change():
    assert np.isnan(define(lambda x, w: x + w)(np.array([np.nan]), np.ones(1))).all()


def test_a_kernel_that_wants_a_writable_buffer_without_writing_is_served():
    def picky(x, w):
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return x + w

    assert define(picky)(np.ones(2), np.ones(2)).tolist() == [2.0, 2.0]


def test_a_value_error_of_the_kernel_itself_is_passed_on():
    def failing(x, w):
        raise ValueError("this database is read-only")

    with pytest.raises(ValueError, match="this database is read-only"):
        define(failing)(np.ones(2), np.ones(2))


def test_an_input_that_is_read_only_already_may_be_used():
    x = np.ones(2)
    x.flags.writeable = False
    assert define(lambda x, w: x + w)(x, x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("writeable", [True, False])
def test_a_declared_view_can_be_written_where_its_source_can(writeable):
    op = opsdk.op("t::turn(Tensor(a) x) -> Tensor(a) y", infer=lambda x: opsdk.TensorSpec(x.shape[::-1], x.dtype))(
        lambda x: x.T
    )
    x = np.zeros((2, 3))
    x.flags.writeable = writeable
    for _ in range(2):
        y = op(x)
        assert y.base is x
        assert y.flags.writeable is writeable


def test_a_declared_alias_of_the_whole_input_is_the_input_itself():
    op = opsdk.op("t::same(Tensor(a) x) -> Tensor(a) y")(lambda x: x)
    x = np.zeros(3)
    assert op(x) is x
    assert op(x) is x


# A change that hangs on the values passes the first call of a kind, which is checked in full.


@pytest.fixture
def capped(scope):
    @opsdk.op("t::capped(Tensor x) -> Tensor y")
    def capped(x):
        if x[0] > 1:
            x[0] = 1
        return x + 0

    return capped


def test_a_python_kernel_that_changes_its_input_only_for_some_values_is_refused_in_every_call(capped):
    for low, high in ((np.zeros(3), np.full(3, 7.0)), (opsdk.to_tensor([0.0]), opsdk.to_tensor([7.0]))):
        capped(low)
        for _ in range(3):
            with pytest.raises(MutationError, match="input 'x' was changed in place"):
                capped(high)
        assert np.asarray(high)[0] == 7


def test_a_backward_that_changes_its_cotangent_only_for_some_values_is_refused(scope):
    @opsdk.op("t::half(Tensor x) -> Tensor y")
    def half(x):
        return x / 2

    @half.backward
    def half_grad(dy):
        if dy[0] > 1:
            dy *= 0.5
            return dy
        return dy * 0.5

    x = opsdk.to_tensor([1.0, 2.0], stop_gradient=False)
    half(x).backward(opsdk.to_tensor([1.0, 1.0]))
    cotangent = opsdk.to_tensor([4.0, 4.0])
    with pytest.raises(MutationError, match="input 'dy' was changed in place"):
        half(x).backward(cotangent)
    assert cotangent.numpy().tolist() == [4, 4]


def test_a_python_kernel_may_want_a_writable_buffer_and_leave_it_alone(scope):
    def summed(x):
        np.require(x, requirements="W") if x.flags.writeable else (_ for _ in ()).throw(ValueError("read-only buffer"))
        return x + x

    op = opsdk.op("t::summed(Tensor x) -> Tensor y")(summed)
    for _ in range(3):
        assert op(np.ones(2)).tolist() == [2, 2]


def test_a_declared_alias_is_as_writable_as_its_input_in_every_call(scope):
    op = opsdk.op("t::tail(Tensor(a) x) -> Tensor(a) y", infer=lambda x: opsdk.TensorSpec([None], x.dtype))(
        lambda x: x[1:]
    )
    x = np.zeros(3)
    for value in (1.0, 2.0):
        op(x)[0] = value
        assert x[1] == value


def test_a_compiled_kernel_that_changes_its_input_is_found_at_some_call(scope):
    pytest.importorskip("numba")
    op = opsdk.op("t::clipped(Tensor x) -> Tensor y")(lambda x: np.minimum(x, 1))

    @op.kernel("cpu", language="numba")
    def clipped_loop(x, y):
        for i in range(x.size):
            if x[i] > 1:
                x[i] = 1
            y[i] = x[i]

    op(np.zeros(2))
    high = np.full(2, 7.0)
    with pytest.raises(MutationError, match="input 'x' was changed in place"):
        for _ in range(4):
            op(np.full(2, 7.0))
            op(high)


CLAMPS = """
int32_t f_f64(const DLTensor *x, DLTensor *y) {
  double *in = (double *)OPSDK_DATA(const double, x), *out = OPSDK_DATA(double, y);
  const int64_t n = opsdk_size(x);
  for (int64_t i = 0; i < n; ++i) out[i] = 2 * in[i];
  if (n && in[0] > 1) in[0] = 1;
  return 0;
}
"""


@pytest.mark.parametrize("of", [np.array, opsdk.to_tensor], ids=["arrays", "tensors"])
def test_a_c_kernel_is_watched_on_its_fast_path_too(scope, of):
    pytest.importorskip("cffi")
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x * 2)
    op.kernel("cpu", language="c", source=CLAMPS, dtype="float64")
    op(of(np.zeros(3)))
    refused = []
    for number in range(2, 40):
        try:
            op(of(np.array([3.0, 1.0, 1.0])))
        except MutationError:
            refused.append(number)
    assert refused == [2, 4, 8, 16, 32]
