import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F

LAYERS = {
    "Dropout": (nn.Dropout(0.4), [3, 40]),
    "Dropout2D": (nn.Dropout2D(0.4), [3, 16, 2, 2]),
    "Dropout3D": (nn.Dropout3D(0.4, "NDHWC"), [3, 2, 2, 2, 16]),
    "Dropout1d": (nn.Dropout1d(0.4), [16, 3]),
    "Dropout2d": (nn.Dropout2d(0.4), [3, 16, 2]),
    "Dropout3d": (nn.Dropout3d(0.4), [16, 2, 2, 2]),
    "AlphaDropout": (nn.AlphaDropout(0.4), [3, 40]),
    "DropBlock": (nn.DropBlock(0.4, 2), [3, 8, 4, 4]),
}
at_layers = pytest.mark.parametrize(("layer", "shape"), LAYERS.values(), ids=LAYERS)


@at_layers
def test_no_mask_repeats_by_itself_and_a_seed_repeats_all(layer, shape):
    x = opsdk.ones(shape)
    opsdk.seed(5)
    first, second = layer(x).numpy(), layer(x).numpy()
    opsdk.seed(5)
    assert (layer(x).numpy() == first).all()
    assert (first != second).any()


@at_layers
def test_evaluated_it_is_the_identity(layer, shape):
    x = opsdk.rand(shape)
    try:
        assert layer.eval()(x) is x
    finally:
        layer.train()


@at_layers
def test_the_gradient_is_of_the_same_mask(layer, shape):
    x = opsdk.ones(shape)
    x.stop_gradient = False
    y = layer(x)
    y.sum().backward()
    made, slope = y.numpy(), x.grad.numpy()
    if isinstance(layer, nn.AlphaDropout):  # what is kept has one value, and one slope
        assert len({*made.ravel().tolist()}) == 2
        assert ((made == made.max()) == (slope > 0)).all()
    else:
        np.testing.assert_array_equal(slope, made)
    assert 0 < (slope == 0).mean() < 1


def run_twice(program, fetch, x, scope):
    exe = opsdk.static.Executor()
    return [exe.run(program, feed={"x": x}, fetch_list=fetch, scope=scope) for _ in range(2)]


@at_layers
def test_the_mask_of_a_program_differs_in_every_run_and_is_off_in_its_clone_for_tests(layer, shape):
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [None, *shape[1:]])
        x.stop_gradient = False
        y = layer(x)
        (dx,) = opsdk.static.gradients([y], [x])
    values = np.ones(shape, np.float32)
    first, second = run_twice(main, [y, dx], values, opsdk.static.Scope())
    assert (first[0] != second[0]).any()
    assert all(((dy > 0) == (made == made.max())).all() for made, dy in (first, second))
    (tested, again) = run_twice(main.clone(for_test=True), [y], values, opsdk.static.Scope())
    assert (tested[0] == values).all()
    assert (again[0] == values).all()


def test_what_is_kept_is_scaled_in_training_or_all_when_evaluated():
    opsdk.seed(1)
    x = opsdk.full([1000], 3.0)
    kept = {*F.dropout(x, 0.25).numpy().tolist()}
    assert kept == {0.0, 4.0}
    layer = nn.Dropout(0.25, mode="downscale_in_infer")
    assert {*layer(x).numpy().tolist()} == {0.0, 3.0}
    assert {*layer.eval()(x).numpy().tolist()} == {2.25}


def test_an_axis_says_what_is_dropped_one_by_one():
    opsdk.seed(2)
    made = F.dropout(opsdk.ones([50, 4]), 0.5, axis=0).numpy()
    assert (made == made[:, :1]).all()
    assert 10 < (made[:, 0] == 0).sum() < 40


def test_all_is_dropped_at_one_and_nothing_at_zero():
    x = opsdk.to_tensor([1.0, np.nan, np.inf])
    assert F.dropout(x, 1.0).numpy().tolist() == [0.0, 0.0, 0.0]
    assert F.dropout(x, 0.0) is x
    assert F.alpha_dropout(opsdk.ones([3]), 1.0).numpy().tolist() == [0.0, 0.0, 0.0]


def test_alpha_dropout_keeps_mean_and_variance():
    opsdk.seed(3)
    made = F.alpha_dropout(opsdk.randn([100_000]), 0.3).numpy()
    assert abs(made.mean()) < 0.02
    assert abs(made.var() - 1) < 0.02


def test_a_dropped_block_is_a_square_that_lies_inside_and_the_mean_stays():
    opsdk.seed(4)
    made = F.drop_block(opsdk.ones([1, 1, 6, 6]), 0.3, 3).numpy()[0, 0]
    zeros = np.argwhere(made == 0)
    low, high = zeros.min(0), zeros.max(0)
    assert (high - low + 1 >= 3).all()
    assert made.mean() == pytest.approx(1.0)
    assert (F.drop_block(opsdk.ones([2, 1, 2, 2]), 1.0, 3).numpy() == 0).all()


def test_a_share_of_about_p_is_dropped_in_blocks():
    opsdk.seed(6)
    made = F.drop_block(opsdk.ones([40, 4, 12, 12]), 0.1, 3).numpy()
    assert (made == 0).mean() == pytest.approx(0.1, abs=0.02)


def test_a_generator_of_its_own_is_taken_from():
    x = opsdk.ones([20])
    first, same = opsdk.Generator(9), opsdk.Generator(9)
    assert (F.dropout(x, rng=first).numpy() == F.dropout(x, rng=same).numpy()).all()
    assert first.state_dict() == {"seed": 9, "count": 1}


PRINTED = {
    "Dropout(p=0.4, axis=None, mode=upscale_in_train, inplace=False)": "Dropout",
    "Dropout2D(p=0.4, data_format=NCHW)": "Dropout2D",
    "Dropout3D(p=0.4, data_format=NDHWC)": "Dropout3D",
    "Dropout1d(p=0.4, inplace=False)": "Dropout1d",
    "AlphaDropout(p=0.4)": "AlphaDropout",
    "DropBlock(p=0.4, block_size=2)": "DropBlock",
}


@pytest.mark.parametrize("text", PRINTED)
def test_layers_print_what_they_were_made_with(text):
    assert repr(LAYERS[PRINTED[text]][0]) == text


X, MAPS = np.ones((2, 3), np.float32), np.ones((1, 2, 2, 2), np.float32)
WRONG = {
    "p beyond 1": (lambda: F.dropout(X, 1.5), "dropout: p expected a number in [0, 1], got 1.5"),
    "p below 0, of a layer": (lambda: nn.Dropout(-0.1), "Dropout: p expected a number in [0, 1], got -0.1"),
    "p is a text": (lambda: F.alpha_dropout(X, "a"), "alpha_dropout: p expected a number in [0, 1], got 'a'"),
    "p that is not used": (lambda: F.drop_block(MAPS, 2, training=False), "drop_block: p expected a number in [0, 1]"),
    "mode": (lambda: F.dropout(X, mode="x"), "dropout: mode expected upscale_in_train or downscale_in_infer, got 'x'"),
    "mode of a layer": (lambda: nn.Dropout(mode="x"), "Dropout: mode expected upscale_in_train or downscale_in_infer"),
    "axis of a float": (lambda: F.dropout(X, axis=1.2), "axis expected a whole number, or a list of them, got 1.2"),
    "no axis": (lambda: F.dropout(X, axis=[0, 2]), "dropout: axis expected numbers in [0, 2), each once, got [0, 2]"),
    "axis from the end": (lambda: F.dropout(X, axis=-1), "dropout: axis expected numbers in [0, 2), each once, got -1"),
    "axes": (lambda: F.dropout2d(X), "dropout2d: x expected 4 axes, NCHW, got shape (2, 3)"),
    "axes of blocks": (lambda: F.drop_block(X), "drop_block: x expected 4 axes, NCHW, got shape (2, 3)"),
    "axes of a layer": (lambda: nn.Dropout2d()(X), "Dropout2d: x expected 3 or 4 axes, got shape (2, 3)"),
    "format": (lambda: F.dropout2d(MAPS, data_format="X"), "data_format expected NCHW or NHWC, got 'X'"),
    "format of a layer": (lambda: nn.Dropout3D(0.5, "NCHW"), "data_format expected NCDHW or NDHWC, got 'NCHW'"),
    "block": (lambda: nn.DropBlock(0.5, 0), "DropBlock: block_size expected a whole number ≥ 1, got 0"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_before_anything_is_drawn(call, text):
    opsdk.seed(7)
    after = opsdk.rand([1]).item()
    opsdk.seed(7)
    with pytest.raises(ValueError) as caught:
        call()
    assert text in str(caught.value)
    assert opsdk.rand([1]).item() == after


def test_whole_numbers_are_not_dropped():
    with pytest.raises(errors.DTypeError, match="x expected floats, got int64"):
        F.dropout(np.ones(3, np.int64))


def test_a_bool_behind_the_probability_says_whether_it_trains_as_in_torch():
    x = opsdk.ones([64])
    assert nn.functional.dropout(x, 0.5, False) is x
    assert set(nn.functional.dropout(x, 0.5, True).tolist()) == {0.0, 2.0}
