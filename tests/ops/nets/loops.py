"""Windows over images by plain loops, which the tests of convolution and pooling compare with."""

import numpy as np


def reads(x, place):
    """The element at a place of an image, 0 outside."""
    inside = all(0 <= at < size for at, size in zip(place, x.shape, strict=True))
    return x[tuple(place)] if inside else 0.0


def convolved(x, weight, stride, before, dilation, groups, sizes):
    """Σ_c Σ_k weight[o, c, k] · x[n, c, p · stride + k · dilation - before]."""
    out = np.zeros((len(x), len(weight), *sizes))
    each, channels = len(weight) // groups, weight.shape[1]
    for n, o, *at in np.ndindex(*out.shape):
        for c, *tap in np.ndindex(*weight.shape[1:]):
            place = [p * s + k * d - b for p, s, k, d, b in zip(at, stride, tap, dilation, before, strict=True)]
            out[(n, o, *at)] += weight[(o, c, *tap)] * reads(x[n, o // each * channels + c], place)
    return out
