import numpy as np
import pytest

import opsdk
from opsdk.backends.call import normalise
from opsdk.core.errors import AliasError, ArityError, DTypeError, ReturnError, ShapeError

PAIR = "t::pair(Tensor x) -> (Tensor y, Tensor z)"
X = np.array([1.0, 2.0], "float32")


def define(function, schema="t::f(Tensor x) -> Tensor y", **options):
    return opsdk.op(schema, replace=True, **options)(function)


def refused(kind, op, *inputs):
    """The text of the first call's error, which the second call has to repeat."""
    texts = []
    for _ in range(2):
        with pytest.raises(kind) as caught:
            op(*(inputs or (X,)))
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert len(op.opdef.plans) == 0
    return texts[0]


@pytest.mark.parametrize(
    "made",
    [(X + 1, X + 2), [X + 1, X + 2], {"y": X + 1, "z": X + 2}, {"z": X + 2, "y": X + 1}],
    ids=["tuple", "list", "dict", "dict in another order"],
)
def test_several_outputs_may_be_returned_as_tuple_list_or_dict(made):
    y, z = define(lambda x: made, PAIR)(X)
    assert (y.tolist(), z.tolist()) == ([2.0, 3.0], [3.0, 4.0])


@pytest.mark.parametrize("made", [(X + 1,), [X + 1], {"y": X + 1}])
def test_one_output_may_be_wrapped(made):
    op = define(lambda x: made)
    for _ in range(2):
        assert op(X).tolist() == [2.0, 3.0]


def test_too_few_outputs_are_refused_with_their_names():
    assert refused(ArityError, define(lambda x: x + 1, PAIR)) == (
        "op 't::pair': expected 2 outputs (y, z), got 1; return a tuple in that order, or a dict by name"
    )


def test_too_many_outputs_are_refused():
    assert refused(ArityError, define(lambda x: (x + 1, x + 2))) == (
        "op 't::f': expected 1 output (y), got 2; several outputs need a schema: "
        '@opsdk.op("f(Tensor x) -> (Tensor a, Tensor b)")'
    )


def test_nothing_where_several_outputs_are_expected_asks_for_the_return():
    assert refused(ArityError, define(lambda x: None, PAIR)) == (
        "op 't::pair': expected 2 outputs (y, z), got nothing; is a `return` missing?"
    )


def test_an_output_of_an_op_without_outputs_is_refused():
    op = define(lambda x: x + 1, "t::f(Tensor(a!) x) -> ()")
    assert refused(ArityError, op) == "op 't::f': expected 0 outputs (none), got 1"


def test_a_dict_with_other_keys_is_refused_with_both():
    op = define(lambda x: {"y": x + 1, 3: x}, PAIR)
    assert refused(ReturnError, op) == "op 't::pair': expected a dict with keys y, z, got y, 3"


def test_an_empty_dict_is_refused():
    assert refused(ReturnError, define(lambda x: {}, PAIR)).endswith("expected a dict with keys y, z, got none")


@pytest.mark.parametrize(
    ("value", "returned"), [(None, "nothing (None)"), ("text", "str"), (range(3), "range"), ({1}, "set")]
)
def test_what_is_no_array_is_refused(value, returned):
    message = refused(ReturnError, define(lambda x: value))
    assert message == f"op 't::f', output 'y': expected a NumPy array, got {returned}"


def test_an_array_of_another_dtype_is_refused_with_both():
    assert refused(DTypeError, define(lambda x: x.astype("float64"))) == (
        "op 't::f', output 'y': expected float32, got float64; "
        "cast it with .astype, or declare the dtype with an infer rule"
    )


def test_an_input_of_another_dtype_is_named_where_the_output_has_it_too():
    op = opsdk.op("f(Tensor x, Tensor w, Tensor b) -> Tensor y", namespace="t")(lambda x, w, b: x * w + b)
    with pytest.raises(DTypeError) as caught:
        op(np.ones(2, "float32"), np.ones(2), np.ones(2, "float32"))
    assert str(caught.value).splitlines()[0] == (
        "op 't::f', output 'y': expected float32, got float64; 'w' is float64, 'x' and 'b' are float32: give them one "
        "dtype, cast it with .astype, or declare the dtype with an infer rule"
    )


def test_an_array_of_another_shape_is_refused_with_both():
    op = define(lambda x: x.sum(keepdims=True), infer=lambda x: x)
    assert refused(ShapeError, op) == (
        "op 't::f', output 'y': expected shape (2,) by its infer rule, got (1,); mend the rule or the result"
    )


def test_an_op_that_says_nothing_of_its_shape_is_told_of_the_default_rule_and_how_to_write_one():
    op = define(lambda x: x.sum(keepdims=True))
    assert refused(ShapeError, op) == (
        "op 't::f', output 'y': expected shape (2,) like 'x' by the default rule, got (1,); write the op's own: "
        "@f.infer, which returns opsdk.TensorSpec(shape, dtype), or infer=opsdk.infer.reduce and the like"
    )


def test_a_list_is_called_by_its_place_where_it_gives_the_default_shape():
    op = define(lambda xs: xs[0].sum(keepdims=True), "t::first(Tensor[] xs) -> Tensor y")
    with pytest.raises(ShapeError, match=r"expected shape \(2,\) like its first input by the default rule, got \(1,\)"):
        op([X, X])


def test_a_wrong_dtype_is_refused_also_after_a_call_that_was_right():
    op = define(lambda x: x.astype("float64") if x.size > 2 else x + 1)
    op(X)
    with pytest.raises(DTypeError, match="expected float32, got float64; cast it with"):
        op(np.ones(3, "float32"))


def test_a_size_that_the_rule_leaves_open_may_depend_on_values():
    op = define(lambda x: x[x > 0], infer=lambda x: opsdk.TensorSpec([None], x.dtype))
    assert [op(np.array(x)).shape for x in ([1.0, -1.0], [1.0, 2.0])] == [(1,), (2,)]


@pytest.mark.parametrize("make", [lambda x: np.sum(x), lambda x: float(x.sum()), lambda x: np.asarray(x.sum())])
def test_a_scalar_result_becomes_an_array_without_dimensions(make):
    op = define(make, infer=lambda x: opsdk.TensorSpec([], x.dtype))
    for _ in range(2):
        got = op(np.array([1.0, 2.0]))
        assert type(got) is np.ndarray
        assert (got.shape, got.item()) == ((), 3.0)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [(1, "uint8"), (1, "float32"), (True, "int64"), (0.5, "float16"), (1.5, "complex64"), (2, "bfloat16")],
)
def test_a_plain_number_takes_the_dtype_that_was_declared(number, dtype):
    op = define(lambda x: number, infer=lambda x: opsdk.TensorSpec([], dtype))
    assert op(X).dtype.name == dtype
    assert op(X) == number


@pytest.mark.parametrize(("number", "dtype"), [(0.5, "int64"), (1, "bool"), (1j, "float32")])
def test_a_plain_number_that_would_lose_something_is_refused(number, dtype):
    op = define(lambda x: number, infer=lambda x: opsdk.TensorSpec([], dtype))
    assert refused(DTypeError, op).startswith(f"op 't::f', output 'y': expected {dtype}, got ")


def test_a_subclass_of_ndarray_becomes_a_plain_array():
    got = define(lambda x: (x + 1).view(np.recarray))(X)
    assert type(got) is np.ndarray


ALIAS = (
    "op 't::f', output 'y': expected a new array, got {}; "
    "return a copy, or declare the alias: Tensor(a) x -> Tensor(a) y"
)


def numba_same(x):
    return x


def numba_tail(x):
    return x[::-1]


@pytest.mark.parametrize("language", ["numpy", "numba"])
@pytest.mark.parametrize(("function", "what"), [(numba_same, "input 'x' itself"), (numba_tail, "a view of input 'x'")])
def test_an_input_that_is_returned_is_refused(language, function, what):
    op = define(lambda x: x + 0)
    op.kernel("cpu", function, language=language)
    assert refused(AliasError, op) == ALIAS.format(what)


def test_an_input_that_is_returned_after_a_first_call_that_did_not_is_refused():
    op = define(lambda x: x if x.size > 2 else x + 0)
    op(X)
    with pytest.raises(AliasError, match=r"expected a new array, got input 'x' itself; return a copy, or declare"):
        op(np.ones(3, "float32"))


def test_a_view_that_shares_nothing_with_an_input_is_accepted():
    base = np.arange(4, dtype="float32")
    op = define(lambda x: base[1:3])
    assert op(X).tolist() == [1.0, 2.0]


def test_two_interleaved_views_of_one_buffer_share_nothing():
    base = np.zeros(8)
    assert not normalise.shares(base[::2], base[1::2])
    assert normalise.shares(base[::2], base[::4])
    assert normalise.shares(base, base)


def test_what_cannot_be_decided_cheaply_counts_as_shared(monkeypatch):
    def too_hard(left, right, max_work):
        raise np.exceptions.TooHardError

    base = np.zeros(8)
    monkeypatch.setattr(np, "shares_memory", too_hard)
    assert normalise.shares(base[::2], base[1::2])


def gradient_of(function, **options):
    return define(lambda x: x * 2).backward(**options)(function)


def test_a_gradient_that_is_its_cotangent_is_copied():
    gradient = gradient_of(lambda dy: dy)
    for _ in range(2):
        got = gradient(X)
        assert got.tolist() == X.tolist()
        assert not np.shares_memory(got, X)


def test_two_gradients_that_are_one_buffer_are_two_arrays():
    op = define(lambda x, w: x + w, "t::f(Tensor x, Tensor w) -> Tensor y")
    gradient = op.backward(lambda dy: (lambda g: (g, g))(dy * 2))
    dx, dw = gradient(X)
    assert not np.shares_memory(dx, dw)


def test_gradients_may_be_a_dict_by_the_names_of_the_inputs():
    op = define(lambda x, w: x * w, "t::f(Tensor x, Tensor w) -> Tensor y")
    gradient = op.backward(lambda x, w, dy: {"w": dy * x, "x": dy * w})
    dx, dw = gradient(np.array([2.0]), np.array([3.0]), np.array([1.0]))
    assert (dx.tolist(), dw.tolist()) == ([3.0], [2.0])


def test_gradients_by_name_are_found_also_where_their_own_names_were_taken():
    op = define(lambda x, dx: x * dx, "t::f(Tensor x, Tensor w) -> Tensor y".replace("w", "dx"))
    first = op.backward(lambda x, dx, dy: (dy * dx, dy * x))
    assert first.opdef.schema.output_names == ("x_grad", "ddx")
    got = first(np.array([2.0]), np.array([3.0]), np.array([1.0]))
    assert [array.tolist() for array in got] == [[3.0], [2.0]]


def test_gradients_under_a_wrong_name_are_refused():
    gradient = gradient_of(lambda dy: {"z": dy})
    with pytest.raises(ReturnError, match=r"^op 't::f', backward f_grad: expected a dict with keys dx, got z"):
        gradient(X)


def test_too_many_gradients_are_refused_as_gradients():
    gradient = gradient_of(lambda dy: (dy, dy))
    with pytest.raises(ArityError, match=r"^op 't::f', backward f_grad: expected 1 gradient \(dx\), got 2"):
        gradient(X)


def test_none_is_passed_on_as_a_gradient():
    assert gradient_of(lambda dy: None)(X) is None


SPLIT = "t::split(Tensor x) -> Tensor[] parts"


def split(function):
    return define(function, SPLIT, infer=lambda x: [opsdk.TensorSpec([1], x.dtype)] * 2)


@pytest.mark.parametrize("wrap", [list, tuple, lambda parts: (parts,)], ids=["list", "tuple", "list in a tuple"])
def test_an_output_that_is_a_list_is_returned_as_a_list(wrap):
    op = split(lambda x: wrap([x[:1] + 0, x[1:] + 0]))
    for _ in range(2):
        assert [part.tolist() for part in op(X)] == [[1.0], [2.0]]


@pytest.mark.parametrize(("value", "returned"), [(None, "nothing (None)"), (np.ones((2, 1)), "ndarray")])
def test_an_output_that_is_a_list_refuses_what_is_none(value, returned):
    message = refused(ReturnError, split(lambda x: value))
    assert message == f"op 't::split', output 'parts': expected a list of arrays, got {returned}"


def test_a_list_of_another_length_than_inferred_is_refused():
    message = refused(ArityError, split(lambda x: [x[:1] + 0]))
    assert message == "op 't::split', output 'parts': expected a list of 2 by its infer rule, got 1"


def test_an_item_of_another_shape_is_refused_with_its_position():
    message = refused(ShapeError, split(lambda x: [x[:1] + 0, x + 0]))
    assert message == (
        "op 't::split', output 'parts[1]': expected shape (1,) by its infer rule, got (2,); "
        "mend the rule or the result"
    )


def test_an_item_of_another_dtype_is_refused():
    message = refused(DTypeError, split(lambda x: [x[:1] + 0, x[1:].astype("int8")]))
    assert message.startswith("op 't::split', output 'parts[1]': expected float32, got int8")


def test_an_item_that_is_a_view_of_the_input_is_refused():
    assert "got a view of input 'x'; return a copy" in refused(AliasError, split(lambda x: [x[:1], x[1:]]))


def test_a_masked_array_that_is_returned_is_refused():
    op = opsdk.op("t::log_(Tensor x) -> Tensor y")(lambda x: np.ma.log(x))
    for value in (np.array([-1.0, 1.0]), opsdk.to_tensor([-1.0, 1.0])):
        with pytest.raises(ReturnError, match=r"output 'y': expected an array without a mask, got numpy\.ma\."):
            op(value)
