import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.nn import functional as F

X = np.sin(np.arange(2 * 4 * 4 * 4.0)).reshape(2, 4, 4, 4)
LINE, SOLID = X[:, :, 0], X[:, :, None]
ROWS = X[:, 0, 0]
CLASSES = np.array([1, 3])

# How a layer is made, of what it is called, and the function's call that it stands for.
CASES = {
    "GLU": (lambda: nn.GLU(dim=1), [X], lambda x: F.glu(x, 1)),
    "Maxout": (lambda: nn.Maxout(2), [X], lambda x: F.maxout(x, 2)),
    "Softmin": (lambda: nn.Softmin(dim=1), [X], lambda x: F.softmin(x, 1)),
    "Softmax2d": (nn.Softmax2d, [X], lambda x: F.softmax(x, 1)),
    "Threshold": (lambda: nn.Threshold(0.1, 2.0, inplace=False), [X], lambda x: F.threshold(x, 0.1, 2.0)),
    "RReLU": (lambda: nn.RReLU(0.1, 0.2).eval(), [X], lambda x: F.rrelu(x, 0.1, 0.2, False)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), [X], lambda x: F.pixel_shuffle(x, 2)),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), [X], lambda x: F.pixel_unshuffle(x, 2)),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), [X], lambda x: F.channel_shuffle(x, 2)),
    "Unfold": (lambda: nn.Unfold(2, 1, 1, 2), [X], lambda x: F.unfold(x, 2, strides=2, paddings=1)),
    "Fold": (
        lambda: nn.Fold((4, 4), kernel_size=2, stride=2),
        [X.reshape(2, 16, 4)],
        lambda x: F.fold(x, (4, 4), 2, 2),
    ),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2, 0.5), [X], lambda x: F.local_response_norm(x, 2, 0.5)),
    "Unflatten": (lambda: nn.Unflatten(1, [2, -1]), [X], lambda x: x.reshape([2, 2, 2, 4, 4])),
    "Pad1D": (lambda: nn.Pad1D([1, 2], "reflect"), [LINE], lambda x: F.pad(x, [1, 2], "reflect")),
    "Pad2D": (lambda: nn.Pad2D(1, value=2.0), [X], lambda x: F.pad(x, [1] * 4, value=2.0)),
    "ZeroPad2D": (lambda: nn.ZeroPad2D([1, 0, 2, 0]), [X], lambda x: F.pad(x, [1, 0, 2, 0])),
    "ZeroPad1d": (lambda: nn.ZeroPad1d(2), [LINE], lambda x: F.pad(x, [2, 2])),
    "ConstantPad2d": (lambda: nn.ConstantPad2d(1, 3.5), [X], lambda x: F.pad(x, [1] * 4, value=3.5)),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d([1, 2, 0, 1]), [X], lambda x: F.pad(x, [1, 2, 0, 1], "reflect")),
    "ReplicationPad3d": (lambda: nn.ReplicationPad3d(1), [SOLID], lambda x: F.pad(x, [1] * 6, "replicate")),
    "CircularPad1d": (lambda: nn.CircularPad1d([2, 0]), [LINE], lambda x: F.pad(x, [2, 0], "circular")),
    "LPPool2d": (lambda: nn.LPPool2d(2.0, 2), [abs(X)], lambda x: F.lp_pool2d(x, 2.0, 2)),
    "MaxUnPool2D": (
        lambda: nn.MaxUnPool2D(2),
        F.max_pool2d(X, 2, return_mask=True),
        lambda x, at: F.max_unpool2d(x, at, 2),
    ),
    "MaxUnpool1d": (
        lambda: nn.MaxUnpool1d(2),
        F.max_pool1d(LINE, 2, return_mask=True),
        lambda x, at: F.max_unpool1d(x, at, 2),
    ),
    "Upsample": (
        lambda: nn.Upsample(scale_factor=2, mode="bilinear"),
        [X],
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
    "UpsamplingNearest2d": (lambda: nn.UpsamplingNearest2d(6), [X], lambda x: F.interpolate(x, 6)),
    "UpsamplingBilinear2D": (
        lambda: nn.UpsamplingBilinear2D([6, 3]),
        [X],
        lambda x: F.interpolate(x, [6, 3], mode="bilinear", align_corners=True),
    ),
    "CosineSimilarity": (
        lambda: nn.CosineSimilarity(dim=2, eps=1e-3),
        [X, X[::-1]],
        lambda x, y: F.cosine_similarity(x, y, 2, 1e-3),
    ),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(1), [X, X[::-1]], lambda x, y: F.pairwise_distance(x, y, 1)),
    "CosineEmbeddingLoss": (
        lambda: nn.CosineEmbeddingLoss(0.2),
        [ROWS, ROWS[::-1], np.array([1, -1])],
        lambda x, y, z: F.cosine_embedding_loss(x, y, z, 0.2),
    ),
    "GaussianNLLLoss": (
        lambda: nn.GaussianNLLLoss(full=True, eps=0.1),
        [ROWS, ROWS[::-1], abs(ROWS)],
        lambda x, y, v: F.gaussian_nll_loss(x, y, v, True, 0.1),
    ),
    "PoissonNLLLoss": (
        lambda: nn.PoissonNLLLoss(reduction="sum"),
        [ROWS, abs(ROWS)],
        lambda x, y: F.poisson_nll_loss(x, y, reduction="sum"),
    ),
    "MultiMarginLoss": (
        lambda: nn.MultiMarginLoss(2, 0.5),
        [ROWS, CLASSES],
        lambda x, y: F.multi_margin_loss(x, y, 2, 0.5),
    ),
    "MultiLabelMarginLoss": (
        lambda: nn.MultiLabelMarginLoss("sum"),
        [ROWS, np.array([[1, 0, -1, 0]] * 2)],
        lambda x, y: F.multi_label_margin_loss(x, y, "sum"),
    ),
    "MultiLabelSoftMarginLoss": (
        nn.MultiLabelSoftMarginLoss,
        [ROWS, (ROWS > 0) * 1.0],
        F.multi_label_soft_margin_loss,
    ),
    "TripletMarginLoss": (
        lambda: nn.TripletMarginLoss(2.0, swap=True),
        [ROWS, ROWS[::-1], -ROWS],
        lambda x, y, z: F.triplet_margin_loss(x, y, z, 2.0, swap=True),
    ),
    "TripletMarginWithDistanceLoss": (
        lambda: nn.TripletMarginWithDistanceLoss(distance_function=nn.PairwiseDistance(1)),
        [ROWS, ROWS[::-1], -ROWS],
        lambda x, y, z: F.triplet_margin_loss(x, y, z, p=1),
    ),
    "Identity": (lambda: nn.Identity(54, unused=True), [X], lambda x: x),
}


@pytest.mark.parametrize("name", CASES)
def test_a_layer_is_its_function_with_the_options_that_it_was_made_with(name):
    make, arrays, function = CASES[name]
    layer, values = make(), [opsdk.to_tensor(each) for each in arrays]
    assert type(layer).__name__ == name
    assert list(layer.parameters()) == []
    np.testing.assert_array_equal(layer(*values).numpy(), function(*values).numpy())


def test_slopes_are_drawn_while_the_layer_trains():
    layer, x = nn.RReLU(), opsdk.to_tensor(np.full(50, -1.0))
    assert len(set(layer(x).tolist())) > 40
    layer.eval()
    assert set(layer(x).tolist()) == {-(1 / 8 + 1 / 3) / 2}


def test_a_size_given_to_the_call_comes_before_that_of_the_layer():
    value, at = F.max_pool1d(opsdk.to_tensor(X[:, :, 0]), 3, return_mask=True)
    assert nn.MaxUnpool1d(3)(value, at, output_size=[4]).shape == [2, 4, 4]


def test_what_differs_from_the_defaults_is_printed():
    assert repr(nn.PixelShuffle(2)) == "PixelShuffle(upscale_factor=2)"
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2)"
    assert repr(nn.GLU()) == "GLU()"
    assert repr(nn.TripletMarginLoss(2.0)) == "TripletMarginLoss()"


def test_spellings_of_activations_are_the_same():
    x = opsdk.to_tensor(X)
    for layer, function in ((nn.SiLU(), F.silu), (nn.Swish(), F.silu), (nn.ReLU(inplace=False), F.relu)):
        assert layer(x).tolist() == function(x).tolist()
    assert nn.Softmax(dim=1)(x).tolist() == F.softmax(x, 1).tolist()
    assert nn.Hardtanh(min_val=-0.1, max_val=0.2)(x).tolist() == F.hardtanh(x, -0.1, 0.2).tolist()
    assert nn.Flatten(start_dim=2)(x).shape == [2, 4, 16]


WRONG = {
    "an option that there is not": (lambda: nn.PixelShuffle(2, scale=1), "got an unexpected keyword argument 'scale'"),
    "one that is missing": (lambda: nn.PixelShuffle(), "missing a required argument: 'upscale_factor'"),
    "both words": (lambda: nn.GLU(axis=1, dim=1), "GLU: expected axis once, got it as dim too"),
    "reduction": (lambda: nn.MultiMarginLoss(reduction="x"), "MultiMarginLoss: reduction expected mean, sum or none"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)
