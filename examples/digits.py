"""The 1797 handwritten digits of 8 × 8 pixels that come with scikit-learn, as 1500 to train on and 297 to test with."""

import numpy as np

TRAIN = 1500


def read_digits(part):
    """Returns the images (float32, N×64, in [0, 1]) and labels (int64, N×1) of `train` or `test`."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit(f"the digits come with scikit-learn, which cannot be imported ({error})") from error
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    chosen = order[:TRAIN] if part == "train" else order[TRAIN:]
    return (images[chosen] / 16).astype(np.float32), labels[chosen].astype(np.int64).reshape(-1, 1)


def batches(images, labels, size):
    """Yields (images, labels) of `size` rows each, in order; the last may have fewer."""
    for start in range(0, len(images), size):
        yield images[start : start + size], labels[start : start + size]
