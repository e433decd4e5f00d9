import hashlib
import json
from pathlib import Path

import pytest

import opsdk
from opsdk import jit, nn
from opsdk.core.errors import FileMissingError, FileWriteError, OpsdkError, SavedFileError
from opsdk.static import InputSpec
from opsdk.static.files.model import INFO, MODEL, PARAMS, Model, prefix_of, sealed

SPEC = [InputSpec([None, 3])]


@pytest.fixture
def prefix(tmp_path):
    """The three files of a small model."""
    jit.save(nn.Linear(3, 2), tmp_path / "m", SPEC)
    return str(tmp_path / "m")


def opened(prefix):
    """Reads the files, and makes each function."""
    model = Model(prefix, "load")
    return {name: model.function(name) for name in model.names}


def as_written(info):
    """The bytes of an info, with its checksum where it is to fit."""
    return sealed(info) if isinstance(info, dict) and info.get("check", "00") != "00" else json.dumps(info).encode()


def rewritten(prefix, change, suffix=MODEL, sums=True):
    """Writes one file anew, with what a function makes of its JSON, and its checksum into the other."""
    info = json.loads(Path(prefix + INFO).read_text())
    if suffix == INFO:
        changed = change(info)
        Path(prefix + INFO).write_bytes(as_written(info if changed is None else changed))
        return
    document = json.loads(Path(prefix + MODEL).read_text())
    change(document)
    Path(prefix + MODEL).write_text(json.dumps(document))
    if sums:
        info["sha256"][MODEL] = hashlib.sha256(Path(prefix + MODEL).read_bytes()).hexdigest()
        Path(prefix + INFO).write_bytes(sealed(info))


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("a/b", "a/b"),
        ("a/b.pdmodel", "a/b"),
        ("a/b.pdiparams", "a/b"),
        ("a/b.pdiparams.info", "a/b"),
        ("a/b.pdparams", "a/b"),
        ("a/b.v2", "a/b.v2"),
        (Path("a") / "b", "a/b"),
    ],
)
def test_a_prefix_is_what_the_names_begin_with(path, prefix):
    assert prefix_of(path, "save") == prefix


@pytest.mark.parametrize("path", ["", "a/"])
def test_a_folder_is_no_prefix(path):
    with pytest.raises(FileWriteError, match="save: path expected what names of files begin with"):
        prefix_of(path, "save")


def test_there_are_three_files_that_people_and_others_can_read(prefix):
    safetensors = pytest.importorskip("safetensors.numpy")
    folder = Path(prefix).parent
    assert sorted(each.name for each in folder.iterdir()) == ["m.pdiparams", "m.pdiparams.info", "m.pdmodel"]
    arrays = safetensors.load_file(prefix + PARAMS)
    info = json.loads(Path(prefix + INFO).read_text())
    names = {path: entry["variable"] for path, entry in info["state"].items()}
    assert {path: arrays[name].shape for path, name in names.items()} == {"weight": (3, 2), "bias": (2,)}
    assert info["sha256"][MODEL] == hashlib.sha256(Path(prefix + MODEL).read_bytes()).hexdigest()
    assert list(json.loads(Path(prefix + MODEL).read_text())["programs"]) == ["forward", "forward.train"]


# -- files that are not there, or not whole ----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [MODEL, PARAMS, INFO])
def test_a_file_that_is_missing_is_named_with_what_is_there(prefix, suffix):
    Path(prefix + suffix).unlink()
    with pytest.raises(FileMissingError) as caught:
        opened(prefix)
    assert f"expected the files .pdmodel, .pdiparams and .pdiparams.info, 'm{suffix}' is not there" in str(caught.value)
    assert str(caught.value).endswith(", ".join(sorted(f"m{s}" for s in (MODEL, PARAMS, INFO) if s != suffix)))


def test_a_folder_that_is_missing_has_nothing(tmp_path):
    with pytest.raises(FileMissingError, match="the folder has nothing"):
        opened(str(tmp_path / "nowhere" / "m"))


def test_a_folder_where_a_file_should_be_cannot_be_read(prefix):
    Path(prefix + PARAMS).unlink()
    Path(prefix + PARAMS).mkdir()
    with pytest.raises(SavedFileError, match="cannot be read: Is a directory"):
        opened(prefix)


@pytest.mark.parametrize("suffix", [MODEL, PARAMS, INFO])
def test_a_file_that_is_cut_off_is_refused_wherever_it_is_cut(prefix, suffix):
    whole = Path(prefix + suffix).read_bytes()
    for size in {0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 2}:
        Path(prefix + suffix).write_bytes(whole[:size])
        with pytest.raises(SavedFileError):
            opened(prefix)


@pytest.mark.parametrize("suffix", [MODEL, PARAMS])
def test_a_flipped_bit_is_told_by_the_checksum(prefix, suffix):
    whole = bytearray(Path(prefix + suffix).read_bytes())
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        flipped = bytearray(whole)
        flipped[at] ^= 1
        Path(prefix + suffix).write_bytes(flipped)
        with pytest.raises(
            SavedFileError, match=rf"expected the \{suffix} that was written with .pdiparams.info, got ano"
        ):
            opened(prefix)


def test_a_flipped_bit_of_the_info_is_read_or_refused(prefix):
    whole = Path(prefix + INFO).read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        Path(prefix + INFO).write_bytes(flipped)
        try:
            opened(prefix)
        except OpsdkError as error:
            assert isinstance(error, SavedFileError)


@pytest.mark.parametrize("suffix", [MODEL, PARAMS, INFO])
def test_a_file_of_another_save_is_told(prefix, tmp_path, suffix):
    opsdk.seed(9)
    jit.save(nn.Linear(3, 4), tmp_path / "other", SPEC)
    Path(prefix + suffix).write_bytes(Path(f"{tmp_path}/other{suffix}").read_bytes())
    with pytest.raises(SavedFileError, match="damaged, or of another save: save the model again"):
        opened(prefix)


# -- files that say what they should not, with right checksums ---------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda info: [], "expected .pdiparams.info in JSON"),
        (lambda info: {}, "expected .pdiparams.info in JSON, 'opsdk.info'; damaged?"),
        (lambda info: {**info, "check": "00"}, "expected the .pdiparams.info that was written, got another by its"),
        (
            lambda info: info.update({"opsdk.info": 2}),
            "expected version 1 of .pdiparams.info, got 2; a newer opsdk wrote",
        ),
        (lambda info: info.update({"opsdk.info": "9" * 99}), "got 99999999999999999999; a newer opsdk wrote it"),
        (lambda info: info["sha256"].update(evil="00"), "expected checksums and a state in .pdiparams.info, got other"),
        (lambda info: info["sha256"].pop(MODEL) and None, "expected checksums and a state in .pdiparams.info"),
        (lambda info: info["state"]["bias"].update(kind="class"), "expected checksums and a state"),
        (lambda info: info["state"]["bias"].update(trainable=1), "expected checksums and a state"),
        (lambda info: info["state"]["bias"].update(variable=["x"]), "expected checksums and a state"),
        (lambda info: info["state"]["bias"].update(more=1), "expected .pdiparams.info in JSON"),
        (lambda info: info["state"]["bias"].update(variable="gone"), ".pdiparams expected a value of 'gone'; damaged?"),
    ],
)
def test_an_info_that_does_not_fit_says_why(prefix, change, words):
    rewritten(prefix, change, INFO)
    with pytest.raises(SavedFileError) as caught:
        opened(prefix)
    assert words in str(caught.value)


def test_a_text_that_is_not_utf_8_is_refused(prefix):
    Path(prefix + MODEL).write_bytes(b"\xff\xfe")
    info = json.loads(Path(prefix + INFO).read_text())
    info["sha256"][MODEL] = hashlib.sha256(b"\xff\xfe").hexdigest()
    Path(prefix + INFO).write_bytes(sealed(info))
    with pytest.raises(SavedFileError, match="expected a text in UTF-8, invalid start byte; damaged"):
        opened(prefix)


def test_a_value_of_another_shape_than_its_variable_is_told(prefix):
    def wider(document):
        for program in document["programs"].values():
            (line,) = (line for line in program["variables"] if line["shape"] == [2] and "parameter" in line)
            line["dtype"] = "float64"

    rewritten(prefix, wider)
    with pytest.raises(SavedFileError):
        opened(prefix)


def test_a_variable_without_a_value_is_told(prefix):
    def more(document):
        for program in document["programs"].values():
            line = {"name": "spy", "dtype": "float32", "shape": [2], "persistable": True}
            program["variables"].append(line)

    rewritten(prefix, more)
    with pytest.raises(
        SavedFileError, match=r"\.pdiparams expected a value of 'spy', float32\(2,\), got none; damaged"
    ):
        opened(prefix)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("inputs", None, "inputs expected names of data variables"),
        ("inputs", [["x"]], "inputs expected names of data variables"),
        ("inputs", ["nowhere"], "inputs expected names of data variables"),
        ("inputs", ["x", "x"], "inputs and outputs expected names of variables, of inputs once each"),
        ("outputs", {"variable": "nowhere"}, "inputs and outputs expected names of variables, of inputs once each"),
        ("outputs", 3, "a structure of names expected variable, value, list, tuple or dict, got 3"),
    ],
)
def test_a_function_of_what_is_not_there_is_told(prefix, name, value, words):
    rewritten(prefix, lambda document: document["programs"]["forward"].update({name: value}))
    with pytest.raises(SavedFileError, match=words):
        opened(prefix)


@pytest.mark.parametrize("path", ["", ".", "forward", "weight.b", "training"])
def test_a_state_that_is_no_part_of_a_layer_is_told(prefix, path):
    rewritten(prefix, lambda info: info["state"].update({path: info["state"]["bias"]}), INFO)
    with pytest.raises(SavedFileError, match="expected to be a part of a layer, add_"):
        jit.load(prefix)


def test_a_state_of_too_many_layers_is_told(prefix):
    rewritten(prefix, lambda info: info["state"].update({"a." * 100 + "b": info["state"]["bias"]}), INFO)
    with pytest.raises(SavedFileError, match="expected checksums and a state"):
        jit.load(prefix)


def test_a_function_that_is_missing_is_told(prefix):
    rewritten(prefix, lambda document: document["programs"].pop("forward"))
    with pytest.raises(SavedFileError, match=r"expected function 'forward', the model has forward\.train"):
        Model(prefix, "load").function("forward")
    with pytest.raises(SavedFileError, match=r"expected function 'forward', got forward\.train"):
        jit.load(prefix)
