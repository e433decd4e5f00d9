import base64
import io
import pickle
import zlib
from collections import OrderedDict

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, FileMissingError, FileWriteError, PlaceError, SavedFileError

# paddle.save(Linear(2, 1).state_dict(), path) of Paddle 3.3.1: weight [[1.5], [-2.0]], bias [0.25]
PDPARAMS = zlib.decompress(
    base64.b85decode(
        "c-l=*O-sW-5Z$ebRj3Cqz4!-u3O#rfE#&4x5cM85$?680q-=L7IS9S@5tv(_|EK><w_60?VTL#J=J945eP3`E@P-+kZdCoMEoj=hX4NNo*%_5IZfR?"
        "2jO;;^+^Di^*VeewVh4(Y5;ShBqhtrc-jVVGpLoPfa4{1613IR-vi(XOjz%xn7`~4C6XG|>vh4oHBNV|biXlB?Y=7s2?cpg!MJ?CRkscrH_4%JU_vCU"
        "&BgVG3L3s5PvN@xw=k7ro*(j?_=G$Tc|D@(LS=OzRCZ8vpd=5SRHz@qTx#Sn#0%=z"
    )
)
# the .pdiparams of paddle.jit.save of a Linear(2, 1)
PDIPARAMS = zlib.decompress(base64.b85decode("c-muNKm{y7%)u(aIBTY)9hwva8$^ytfYI1^vwd0`+W`PgO$5y"))


def through_a_file(value, **options):
    file = io.BytesIO()
    opsdk.save(value, file)
    return opsdk.load(file, **options)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**200,
        0.1,
        float("inf"),
        1e-323,
        1 - 2j,
        "naïve \ud7ff\0",
        b"\0\xff",
        [],
        {},
        (),
        [1, [2.5, ("a", None)], {"k": {"deep": (1,)}}],
        {1: "int", (2, 3): "tuple", None: "none", "$tensor": "no mark"},
        {"$same": 0},
        {1, 2},
        slice(1, None, 2),
        np.dtype("float16"),
    ],
)
def test_values_come_back_equal_and_of_their_type(value):
    found = through_a_file(value)
    assert (found, type(found)) == (value, type(value))
    assert repr(found) == repr(value)


def test_nan_and_numpy_numbers_come_back():
    found = through_a_file([float("nan"), np.float32(0.1), np.int8(-3), np.bool_(True)])
    assert np.isnan(found[0])
    assert [type(each) for each in found[1:]] == [np.float32, np.int8, np.bool_]
    assert found[1:] == [np.float32(0.1), -3, True]


def test_orders_of_dictionaries_stay():
    found = through_a_file({"a": OrderedDict(z=1, a=2)})
    assert list(found["a"]) == ["z", "a"]


def test_tensors_come_back_as_tensors_and_arrays_as_arrays():
    x = opsdk.to_tensor([[1.0, 2.0]], stop_gradient=False)
    x.name = "x"
    found = through_a_file({"x": x, "a": np.arange(3), "list": [opsdk.ones([0, 2], "int64")]})
    assert (type(found["x"]), found["x"].tolist(), found["x"].dtype) == (opsdk.Tensor, [[1.0, 2.0]], np.float32)
    assert (found["x"].stop_gradient, found["x"].name, found["x"].is_leaf) == (False, "x", True)
    assert (type(found["a"]), found["a"].tolist()) == (np.ndarray, [0, 1, 2])
    assert (found["list"][0].shape, found["list"][0].dtype) == ([0, 2], np.int64)
    arrays = through_a_file({"x": x}, return_numpy=True)
    assert (type(arrays["x"]), arrays["x"].tolist()) == (np.ndarray, [[1.0, 2.0]])


def test_an_interior_tensor_is_saved_as_its_values():
    x = opsdk.to_tensor([3.0], stop_gradient=False)
    found = through_a_file(x * x)
    assert (found.tolist(), found.is_leaf) == ([9.0], True)


def test_a_view_is_saved_without_the_memory_around_it():
    file = io.BytesIO()
    opsdk.save(opsdk.zeros([1000, 1000])[3], file)
    assert len(file.getvalue()) < 5000
    assert opsdk.load(file).shape == [1000]


def test_a_tensor_in_two_places_is_saved_once_and_is_one_tensor_again():
    x = opsdk.ones([1000])
    file = io.BytesIO()
    opsdk.save({"a": x, "b": [x]}, file)
    found = opsdk.load(file)
    assert len(file.getvalue()) < 5000
    assert found["a"] is found["b"][0]


def test_parameters_stay_parameters():
    p = nn.Parameter(np.ones(2, "float64"), name="p", learning_rate=0.5, regularizer=0.1, need_clip=False)
    frozen = nn.Parameter(np.arange(3), trainable=False)
    found, still = through_a_file([p, frozen])
    assert (type(found), found.name, found.trainable, found.tolist()) == (nn.Parameter, "p", True, [1.0, 1.0])
    assert (found.optimize_attr, found.regularizer, found.need_clip) == ({"learning_rate": 0.5}, 0.1, False)
    assert (still.trainable, still.tolist()) == (False, [0, 1, 2])


def test_a_state_dictionary_is_a_file_of_arrays_by_their_names(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    net = nn.Sequential(nn.Linear(2, 3))
    opsdk.save(net.state_dict(), tmp_path / "net.pdparams")
    theirs = safetensors.load_file(tmp_path / "net.pdparams")
    assert sorted(theirs) == ["0.bias", "0.weight"]
    assert np.array_equal(theirs["0.weight"], net[0].weight.numpy())


def test_names_that_would_be_one_are_kept_apart():
    x, y = np.ones(2), np.zeros(3)
    found = through_a_file({"a.b": x, "a": {"b": y, "b#2": x}, "__metadata__": y})
    assert [found["a.b"].tolist(), found["a"]["b"].tolist()] == [[1.0, 1.0], [0.0] * 3]
    assert [found["a"]["b#2"].tolist(), found["__metadata__"].tolist()] == [[1.0, 1.0], [0.0] * 3]


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [1, lambda: 1]}, "a.1"),
        (object(), "the value"),
        ({"opt": opsdk.optimizer.SGD(0.1)}, "opt"),
        ({"f": open}, "f"),
    ],
)
def test_what_cannot_be_saved_is_told_with_its_place_and_the_old_file_stays(value, where, tmp_path):
    opsdk.save("old", tmp_path / "x")
    with pytest.raises(AttributeValueError, match=f"save, {where}: expected tensors, arrays, numbers, texts, lists, "):
        opsdk.save(value, tmp_path / "x")
    assert opsdk.load(tmp_path / "x") == "old"


def test_containers_in_one_another_without_end_are_refused():
    cycle = []
    cycle.append(cycle)
    with pytest.raises(AttributeValueError, match="expected at most 100 containers in one another"):
        opsdk.save(cycle, io.BytesIO())


def test_paths_make_folders_and_a_folder_is_refused(tmp_path):
    opsdk.save(1, tmp_path / "a" / "b" / "c.any")
    assert opsdk.load(str(tmp_path / "a" / "b" / "c.any")) == 1
    with pytest.raises(FileWriteError, match="path expected the name of a file"):
        opsdk.save(1, f"{tmp_path}/")


def test_a_missing_file_is_told_with_what_lies_there(tmp_path):
    (tmp_path / "epoch_8.pdparams").write_bytes(b"")
    with pytest.raises(FileMissingError, match="expected a file, nothing is there; the folder has epoch_8") as error:
        opsdk.load(tmp_path / "epoch_9.pdparams")
    assert isinstance(error.value, FileNotFoundError)
    assert isinstance(error.value, ValueError)  # Paddle's


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "expected a file of opsdk.save, safetensors, or Paddle's parameters, got one that begins with b''"),
        (b"\x93NUMPY", "got one that begins with"),
        (b"PK\3\4" + bytes(40), "it is a zip, as torch.save writes: load it with torch, and use from_torch_state_dict"),
        (pickle.dumps({"a": 1}, protocol=0), "got one that begins with"),
    ],
)
def test_files_of_others_are_refused(data, match, tmp_path):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(SavedFileError, match=match):
        opsdk.load(tmp_path / "x")


def test_a_file_that_cannot_be_read_says_why(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SavedFileError, match="the file cannot be read: "):
        opsdk.load(tmp_path / "file" / "x")


def test_a_text_that_encoder_never_wrote_is_damage():
    from opsdk.core.files import tensors

    for text in (
        "{",
        '{"$nothing":1}',
        '{"$tensor":"gone"}',
        '{"$same":3}',
        '{"$op":3}',
        '{"$layer":"a:B"',
        "[" * 9999,
    ):
        file = io.BytesIO()
        tensors.write(file, {}, text)
        with pytest.raises(SavedFileError, match=r"expected values as opsdk\.save writes them, "):
            opsdk.load(file)


def test_paddles_parameters_are_tensors_with_their_names():
    found = opsdk.load(io.BytesIO(PDPARAMS))
    assert list(found) == ["weight", "bias"]
    assert (found["weight"].tolist(), found["bias"].tolist()) == ([[1.5], [-2.0]], [0.25])
    assert (found["weight"].name, found["bias"].name) == ("linear_0.w_0", "linear_0.b_0")
    net = nn.Linear(2, 1)
    assert net.set_state_dict(found) == ([], [])
    assert net(opsdk.ones([1, 2])).item() == -0.25
    assert isinstance(opsdk.load(io.BytesIO(PDPARAMS), return_numpy=True)["weight"], np.ndarray)


def test_paddles_bfloat16_is_bfloat16():
    data = pickle.dumps({"w": np.array([0x3FC0, 0xC000], np.uint16)}, protocol=4)
    found = opsdk.load(io.BytesIO(data))["w"]
    assert (str(found.dtype), found.astype("float32").tolist()) == ("bfloat16", [1.5, -2.0])


def test_paddles_files_of_its_core_are_read_one_by_one_or_by_the_folder(tmp_path):
    several = opsdk.load(io.BytesIO(PDIPARAMS))
    assert [each.shape for each in several] == [[1], [2, 1]]
    single = PDIPARAMS[: len(PDIPARAMS) - 34]  # its first array
    for name in ("fc_0.b_0", "__model__"):
        (tmp_path / name).write_bytes(single)
    found = opsdk.load(tmp_path)
    assert (list(found), found["fc_0.b_0"].tolist()) == (["fc_0.b_0"], [pytest.approx(0.15)])


def test_a_file_of_safetensors_is_a_dictionary_of_tensors():
    safetensors = pytest.importorskip("safetensors.numpy")
    found = opsdk.load(io.BytesIO(safetensors.save({"w": np.ones((2, 2), np.float16)})))
    assert (type(found["w"]), found["w"].dtype, found["w"].shape) == (opsdk.Tensor, np.float16, [2, 2])


def test_generators_go_on_where_they_were():
    one = opsdk.Generator(3)
    one.draw()
    other = through_a_file({"g": one})["g"]
    assert other.draw() == one.draw()


def test_load_takes_torchs_keywords(tmp_path):
    opsdk.save({"w": opsdk.ones([2])}, tmp_path / "w.pt")
    for where in (None, "cpu", opsdk.device("cpu")):
        assert opsdk.load(tmp_path / "w.pt", map_location=where, weights_only=True)["w"].tolist() == [1.0, 1.0]
    with pytest.raises(PlaceError, match=r"load: map_location expected None or 'cpu', .*got 'cuda'"):
        opsdk.load(tmp_path / "w.pt", map_location="cuda")


@pytest.mark.parametrize("table", [["linear_0.w_0"], {"w": ["linear_0.w_0"]}])
def test_a_table_of_names_that_is_none_is_refused(table):
    data = pickle.dumps({"w": np.ones(2), "StructuredToParameterName@@": table}, 2)
    with pytest.raises(SavedFileError, match=r"load: expected 'StructuredToParameterName@@' to be a table of names"):
        opsdk.load(io.BytesIO(data))
