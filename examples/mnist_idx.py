"""Reader of MNIST's IDX files, plain or gzipped, with every claim of their headers checked.

An IDX file is: two zero bytes, one byte for the element type (8: unsigned byte), one for the number of dimensions, one
big-endian 32-bit size per dimension, then the elements.
"""

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

IMAGES, LABELS = "images-idx3-ubyte", "labels-idx1-ubyte"
PREFIX = {"train": "train", "test": "t10k"}
UNSIGNED_BYTE = 8
LARGEST = 1 << 30  # bytes; MNIST's training images take 47 million


def read_mnist(folder, part):
    """Returns the images (float32, N×784, in [0, 1]) and labels (int64, N×1) of `train` or `test`.

    Raises FileNotFoundError where a file is missing, ValueError where one is not what its name says.
    """
    images = read_idx(find(folder, f"{PREFIX[part]}-{IMAGES}"), dimensions=3)
    labels_file = find(folder, f"{PREFIX[part]}-{LABELS}")
    labels = read_idx(labels_file, dimensions=1)
    if len(images) != len(labels):
        raise ValueError(f"{labels_file}: expected {len(images)} labels, one per image, got {len(labels)}")
    if len(labels) and labels.max() > 9:
        raise ValueError(f"{labels_file}: expected labels from 0 to 9, got {labels.max()}")
    flat = images.reshape(len(images), math.prod(images.shape[1:]))
    return flat.astype(np.float32) / 255, labels.astype(np.int64).reshape(-1, 1)


def find(folder, name):
    """Returns the file of a name in a folder, plain or with `.gz`; some copies are called `train-images.idx3-ubyte`."""
    for candidate in (name, f"{name}.gz", name.replace("-idx", ".idx"), f"{name.replace('-idx', '.idx')}.gz"):
        path = Path(folder, candidate)
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder}: expected {name} or {name}.gz in this folder, found neither")


def read_idx(path, dimensions):
    """Returns the array of unsigned bytes in one IDX file, which has to have that many dimensions."""
    data = _bytes(path)
    header = 4 + 4 * dimensions
    if len(data) < header:
        raise ValueError(f"{path}: expected a header of {header} bytes, got a file of {len(data)}; it is truncated")
    if data[:2] != b"\0\0" or data[2] != UNSIGNED_BYTE or data[3] != dimensions:
        expected = bytes([0, 0, UNSIGNED_BYTE, dimensions]).hex()
        raise ValueError(f"{path}: expected the magic number {expected}, got {data[:4].hex()}; not this kind of file")
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(dimensions)]
    count = math.prod(shape)
    if len(data) - header != count:
        sizes = " × ".join(map(str, shape))
        kind = "truncated" if len(data) - header < count else "too long"
        raise ValueError(f"{path}: expected {count} bytes of data ({sizes}), got {len(data) - header}; it is {kind}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)


def _bytes(path):
    if Path(path).suffix != ".gz":
        return Path(path).read_bytes()
    try:
        with gzip.open(path) as file:
            data = file.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path}: expected a whole gzip file, got one that cannot be unpacked ({error})") from error
    if len(data) > LARGEST:
        raise ValueError(f"{path}: expected at most {LARGEST} bytes once unpacked, got more; it is no MNIST file")
    return data
