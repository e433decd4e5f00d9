import numpy as np
import pytest

import opsdk
from opsdk import amp, nn
from opsdk.amp.rules import LOW, WIDE
from opsdk.core.errors import AttributeValueError, UnknownOpError

X = opsdk.to_tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4))
W = opsdk.to_tensor(np.linspace(0, 1, 8, dtype="float32").reshape(4, 2), stop_gradient=False)


def names(*values):
    return [value.dtype.name for value in values]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_are_in_16_bits_and_what_needs_more_is_in_32(dtype):
    with amp.auto_cast(dtype=dtype):
        product = X @ W
        found = names(product, product.exp(), product.mean(), nn.functional.softmax(product), product + X[:, :2])
        kept = names(nn.functional.relu(product), product * 2.0, product.reshape([-1]))
    assert found == [dtype, "float32", "float32", "float32", "float32"]
    assert kept == [dtype] * 3
    assert names(X @ W) == ["float32"]


def test_a_product_is_that_of_the_rounded_numbers():
    with amp.auto_cast():
        product = X @ W
    rounded = (X.numpy().astype("float16") @ W.numpy().astype("float16")).astype("float32")
    assert np.allclose(product.numpy().astype("float32"), rounded, rtol=2e-3, atol=1e-3)


def test_a_backward_is_in_the_dtype_of_its_call_wherever_it_is_called():
    seen = []
    with amp.auto_cast(dtype="bfloat16"):
        product = X @ W
        product.register_hook(lambda grad: seen.append(grad.dtype.name))
        loss = product.sum()
    loss.backward()
    assert (seen, names(loss, W.grad)) == (["bfloat16"], ["float32", "float32"])
    expected = np.repeat(X.numpy().sum(0)[:, None], 2, axis=1)
    assert np.allclose(W.grad.numpy(), expected, atol=2e-2)
    W.clear_grad()


def test_a_backward_with_a_graph_of_its_own_is_not_cast():
    x = opsdk.to_tensor([0.5, 1.5], stop_gradient=False)
    y = (x.reshape([1, 2]) @ x.reshape([2, 1])).sum()
    with amp.auto_cast(dtype="bfloat16"):
        (first,) = opsdk.grad(y, x, create_graph=True)
    assert names(first) == ["float32"]
    assert first.tolist() == [1.0, 3.0]


def test_float64_and_integers_are_left_alone():
    wide = opsdk.ones([4, 4], "float64")
    with amp.auto_cast():
        product = X @ wide
        assert names(product, wide @ wide, opsdk.arange(3).sum()) == ["float64", "float64", "int64"]
    assert np.array_equal(product.numpy(), X.numpy() @ wide.numpy())


def test_layers_with_parameters_in_float32_run():
    net = nn.Sequential(
        nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3), nn.LayerNorm(3)
    )
    with amp.auto_cast(dtype="bfloat16"):
        loss = nn.functional.cross_entropy(net(opsdk.ones([2, 1, 4, 4])), opsdk.to_tensor([0, 2]))
        rows, _ = nn.GRU(4, 5)(opsdk.ones([1, 2, 4]))
    loss.backward()
    assert names(loss, rows) == ["float32", "bfloat16"]
    assert {param.grad.dtype.name for param in net.parameters() if not param.stop_gradient} == {"float32"}


def test_lists_of_ones_own_come_before_the_table():
    with opsdk.scoped_registry():

        @opsdk.op
        def mine(x):
            return x * 2

        with amp.auto_cast(custom_white_list=[mine, "exp"], custom_black_list=["opsdk::matmul"], dtype="bfloat16"):
            assert names(mine(X), X.exp(), X @ W) == ["bfloat16", "bfloat16", "float32"]
        with amp.auto_cast(dtype="bfloat16"):
            assert names(mine(X), mine(X @ W)) == ["float32", "bfloat16"]


def test_the_inner_block_holds_alone_and_the_outer_one_after_it():
    with amp.auto_cast():
        with amp.auto_cast(enable=False):
            off = X @ W
        with amp.auto_cast(dtype="bfloat16"):
            other = X @ W
        with amp.auto_cast(level="O0"):
            none = X @ W
        assert names(off, other, none, X @ W) == ["float32", "bfloat16", "float32", "float16"]


def test_it_decorates_and_one_is_entered_twice():
    cast = amp.auto_cast()

    @cast
    def product():
        return X @ W

    assert names(product(), X @ W) == ["float16", "float32"]
    with cast:
        with cast:
            pass
        assert names(X @ W) == ["float16"]
    assert names(X @ W) == ["float32"]


def test_calls_on_variables_are_cast_too():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()), amp.auto_cast(dtype="bfloat16"):
        x = opsdk.static.data("x", [2, 2])
        assert names(x @ x, (x @ x).sum()) == ["bfloat16", "float32"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"level": "O2"}, AttributeValueError, "level expected 'O0' or 'O1', got 'O2'"),
        ({"dtype": "float32"}, AttributeValueError, "dtype expected float16 or bfloat16, got float32"),
        ({"custom_white_list": "exp"}, AttributeValueError, "a list of ops expected several, got 'exp'"),
        ({"custom_white_list": ["nowhere_to_be_found"]}, UnknownOpError, "not registered"),
        (
            {"custom_white_list": ["exp"], "custom_black_list": ["exp"]},
            AttributeValueError,
            "expected an op in one list, got opsdk::exp in both",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        amp.auto_cast(**options)


def test_every_name_of_the_table_is_an_op():
    assert [name for name in LOW | WIDE if name not in opsdk.REGISTRY] == []
    assert not LOW & WIDE
