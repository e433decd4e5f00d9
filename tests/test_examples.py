"""The examples: each runs as the script that its first lines promise, and shows what it says."""

import gzip
import os
import runpy
import subprocess
import sys

import numpy as np
import pytest

from examples.mnist_idx import find, read_idx, read_mnist
from tests.contracts.tree import REPOSITORY

EXAMPLES = sorted(path.name for path in (REPOSITORY / "examples").glob("*.py"))
MODULES = {"digits.py", "mnist_idx.py"}  # imported by the others


def script(name, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-W", "error", str(REPOSITORY / "examples" / name), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here():
    tested = {"relu_numpy.py", "double_backward.py", "custom_relu_dynamic.py", "mnist_py_func.py"}
    tested |= {"digits_cnn.py", "characters.py", "pictures.py", "tagger.py"}
    assert set(EXAMPLES) == tested | MODULES


def test_the_pair_of_functions_gives_the_numbers_of_the_printed_demo():
    text = script("relu_numpy.py")
    assert "[0.         0.         0.04075145 0.        ]" in text
    assert "[-0.         -0.          0.34972975 -0.        ]" in text
    assert "the same through a recorded call: True" in text


def test_second_derivatives_are_right_or_refused():
    lines = script("double_backward.py").splitlines()
    assert [line.split("[")[1] for line in lines[:3]] == ["-6.  3. 12.]"] * 3
    assert "a derivative of it was asked for, but it is NumPy code" in lines[3]


def test_the_dynamic_network_learns():
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    lines = script("custom_relu_dynamic.py", "--epochs", 3).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["epoch 1", "epoch 2", "epoch 3"]
    assert float(lines[-1].rpartition(" ")[2]) > 0.8


def test_the_py_func_network_learns_the_digits():
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    text = script("mnist_py_func.py", "--epochs", 4)
    accuracies = [float(line.rpartition(":")[2]) for line in text.splitlines() if line.startswith("Epoch:")]
    assert len(accuracies) == 4
    assert text.startswith("iter [0]/[23], loss:")
    assert accuracies[-1] > 0.8


@pytest.mark.slow  # two trainings of a convolutional net
def test_the_convolutional_net_goes_on_from_a_checkpoint_with_the_same_numbers(tmp_path):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    whole = script("digits_cnn.py", "--epochs", 3, "--folder", tmp_path).splitlines()
    resumed = script("digits_cnn.py", "--epochs", 3, "--folder", tmp_path, "--resume", 1).splitlines()
    assert resumed == whole[1:]
    assert float(whole[2].rpartition(" ")[2]) > 0.88
    assert whole[3].startswith("for PyTorch: features.0.weight [16, 1, 3, 3], features.0.bias [16]")
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.slow  # a training of a net with attention
def test_the_net_with_attention_goes_on_with_the_text():
    lines = script("characters.py", "--steps", 100).splitlines()
    assert float(lines[0].rpartition(" ")[2]) > 3.0
    assert float(lines[-2].rpartition(" ")[2]) < 0.2
    assert lines[-1].startswith("the quick brown fox jumps")


# Three trainings of nets with convolutions or recurrence.
@pytest.mark.slow
@pytest.mark.parametrize(("net", "epochs", "least"), [("lenet", 2, 0.9), ("resnet18", 2, 0.4)])
def test_the_nets_for_pictures_learn_the_digits(net, epochs, least):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    lines = script("pictures.py", "--net", net, "--epochs", epochs).splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"epoch {number + 1}" for number in range(epochs)]
    assert float(lines[-1].rpartition(" ")[2]) > least


@pytest.mark.slow  # as above
def test_the_tagger_tells_kinds_of_characters():
    lines = script("tagger.py", "--steps", 80).splitlines()
    right, always = (float(part.rpartition(" ")[2]) for part in lines[-3].split(";"))
    assert right > always + 0.25
    assert len(lines[-1]) == len(lines[-2]) == 48
    assert set(lines[-1]) <= set(" kn1s#+")


def test_the_tagger_is_told_what_the_tokenizer_says():
    tagged = runpy.run_path(str(REPOSITORY / "examples" / "tagger.py"))["tagged"]
    letters, kinds = tagged("if x1 > 20:  # é\n    y = 'a'\n")
    assert "".join(" kn1s#+"[kind] for kind in kinds) == "kk nn + 11+  ###     n + sss "
    assert letters[:2].tolist() == [105, 102]
    assert letters.max() == 127


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.fixture
def mnist(tmp_path, rng):
    """A folder with the four files, tiny: 300 and 20 images of 28 × 28 whose brightest band is their label."""
    for prefix, count in (("train", 300), ("t10k", 20)):
        labels = rng.integers(0, 10, count).astype(np.uint8)
        images = rng.integers(0, 40, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[2 * label : 2 * label + 2] += 200
        (tmp_path / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (tmp_path / f"{prefix}-labels-idx1-ubyte").write_bytes(idx(labels))
    return tmp_path


def test_the_py_func_network_reads_mnist_files(mnist):
    text = script("mnist_py_func.py", mnist, "--epochs", 2)
    assert "iter [0]/[1], loss:" in text
    assert "Epoch:1, Test Done!, The accuracy is :" in text


def test_mnist_comes_as_rows_of_floats_and_a_column_of_labels(mnist):
    images, labels = read_mnist(mnist, "train")
    assert (images.shape, images.dtype, labels.shape, labels.dtype) == ((300, 784), "float32", (300, 1), "int64")
    assert 0 <= images.min() < images.max() <= 1
    band = images.reshape(300, 28, 28).mean(axis=2)[:, :20].reshape(300, 10, 2).mean(axis=2).argmax(axis=1)
    assert np.array_equal(band, labels[:, 0])


def test_both_spellings_of_the_file_names_are_found(tmp_path):
    (tmp_path / "t10k-labels.idx1-ubyte").touch()
    assert find(tmp_path, "t10k-labels-idx1-ubyte").name == "t10k-labels.idx1-ubyte"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected train-images-idx3-ubyte or train-images-idx3-ubyte\.gz in"):
        read_mnist(tmp_path, "train")


WHOLE = idx(np.arange(24, dtype=np.uint8).reshape(2, 3, 4))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (WHOLE[:10], "expected a header of 16 bytes, got a file of 10; it is truncated"),
        (b"\x00\x00\x09\x03" + WHOLE[4:], "expected the magic number 00000803, got 00000903; not this kind of file"),
        (b"\x00\x00\x08\x01" + WHOLE[4:], "expected the magic number 00000803, got 00000801"),
        (WHOLE[:-1], r"expected 24 bytes of data \(2 × 3 × 4\), got 23; it is truncated"),
        (WHOLE + b"\x00", r"expected 24 bytes of data \(2 × 3 × 4\), got 25; it is too long"),
        (WHOLE[:4] + b"\xff" * 12, "expected 79228162458924105385300197375 bytes of data"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(tmp_path, data, message):
    file = tmp_path / "images"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_idx(file, dimensions=3)


def test_a_cut_gzip_file_is_refused(tmp_path):
    file = tmp_path / "images.gz"
    file.write_bytes(gzip.compress(WHOLE)[:-9])
    with pytest.raises(ValueError, match="expected a whole gzip file, got one that cannot be unpacked"):
        read_idx(file, dimensions=3)


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("examples.mnist_idx.LARGEST", 20)
    file = tmp_path / "images.gz"
    file.write_bytes(gzip.compress(WHOLE))
    with pytest.raises(ValueError, match="expected at most 20 bytes once unpacked, got more"):
        read_idx(file, dimensions=3)


def test_counts_and_labels_have_to_agree(tmp_path):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(WHOLE)
    labels = tmp_path / "train-labels-idx1-ubyte"
    labels.write_bytes(idx(np.array([1, 2, 3], np.uint8)))
    with pytest.raises(ValueError, match="expected 2 labels, one per image, got 3"):
        read_mnist(tmp_path, "train")
    labels.write_bytes(idx(np.array([1, 10], np.uint8)))
    with pytest.raises(ValueError, match="expected labels from 0 to 9, got 10"):
        read_mnist(tmp_path, "train")


def test_a_whole_file_is_read_as_it_was_written(tmp_path):
    file = tmp_path / "images"
    file.write_bytes(WHOLE)
    assert np.array_equal(read_idx(file, dimensions=3), np.arange(24).reshape(2, 3, 4))
