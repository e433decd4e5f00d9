"""Document 004, item by item: what is saved, and loaded again. Programs on disk are in test_deployment.py."""

import shutil
import subprocess
import sys
from io import BytesIO, StringIO

import numpy as np
import pytest

import opsdk
from opsdk import amp, io, nn
from opsdk.core.errors import SavedFileError
from tests.documents import training_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A whole training, with a checkpoint after every epoch; the printed lines are in `log`."""
    folder = tmp_path_factory.mktemp("run") / "checkpoints"
    opsdk.seed(1)
    whole = training_run.made()
    lines = StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", lines)
        training_run.train(*whole, range(training_run.EPOCH_NUM), folder)
    (folder.parent / "log").write_text(lines.getvalue())
    return folder


def test_e01_a_checkpoint_is_parameters_alone(run):
    assert list(opsdk.load(run / "epoch_0.pdparams")) == ["seen", "_linear.weight", "_linear.bias"]


def test_e03_save_and_load_go_with_the_state_dicts_of_layers_and_optimizers(tmp_path):
    layer, adam, *_ = training_run.made()
    opsdk.save(layer.state_dict(), tmp_path / "layer.pdparams")
    opsdk.save(adam.state_dict(), tmp_path / "adam.pdopt")
    other, second, *_ = training_run.made()
    assert other.set_state_dict(opsdk.load(tmp_path / "layer.pdparams")) == ([], [])
    second.set_state_dict(opsdk.load(tmp_path / "adam.pdopt"))
    assert np.array_equal(other._linear.weight.numpy(), layer._linear.weight.numpy())


def test_e04_keys_are_parameter_names_and_values_on_disk_are_arrays(run):
    safetensors = pytest.importorskip("safetensors.numpy")
    on_disk = safetensors.load_file(run / "epoch_9.pdparams")
    loaded = opsdk.load(run / "epoch_9.pdparams", return_numpy=True)
    assert {name: array.shape for name, array in on_disk.items()} == {
        "seen": (1,),
        "_linear.weight": (12, 4),
        "_linear.bias": (4,),
    }
    assert all(np.array_equal(on_disk[name], array) for name, array in loaded.items())


def test_e05_the_suffixes_are_a_convention(tmp_path):
    for name in ("a.pdparams", "a.pdopt", "a.pt", "a"):
        opsdk.save({"w": opsdk.ones([1])}, tmp_path / name)
        assert opsdk.load(tmp_path / name)["w"].item() == 1.0


def test_e06_ten_epochs_leave_exactly_the_twenty_files(run):
    expected = sorted(f"epoch_{epoch}.{suffix}" for epoch in range(10) for suffix in ("pdopt", "pdparams"))
    assert sorted(each.name for each in run.iterdir() if each.is_file()) == expected
    lines = (run.parent / "log").read_text().splitlines()
    assert (len(lines), lines[0][:22]) == (40, "Epoch 0 batch 0: loss ")
    assert float(lines[-1].split()[-1]) < float(lines[0].split()[-1])


def bits(path):
    """What a checkpoint holds, by name; names of tensors, which differ from model to model, left out."""
    held = opsdk.load(path, return_numpy=True)
    return {name: value.tobytes() if isinstance(value, np.ndarray) else repr(value) for name, value in held.items()}


def resumed_equals_uninterrupted(run):
    for suffix in ("pdparams", "pdopt"):
        assert bits(run / f"resumed/epoch_9.{suffix}") == bits(run / f"epoch_9.{suffix}")
    shutil.rmtree(run / "resumed")


def test_e07_training_goes_on_from_epoch_8_in_a_new_process_bit_for_bit(run):
    subprocess.run([sys.executable, training_run.__file__, run, "8"], check=True, stdout=subprocess.DEVNULL)
    resumed_equals_uninterrupted(run)


def test_e07_training_goes_on_from_epoch_3_into_a_second_model_of_this_process(run, capsys):
    training_run.resume(run, 3)
    resumed_equals_uninterrupted(run)


class Noisy(io.Dataset):
    """Rows with noise that the worker draws."""

    def __getitem__(self, index):
        return np.random.standard_normal(4).astype("float32") + index, index % 2

    def __len__(self):
        return 6


def with_workers():
    """A net with dropout, and all that goes with its training: workers, a schedule, mixed precision."""
    net, draws = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 2)), opsdk.Generator(5)
    rate = opsdk.optimizer.lr.ExponentialDecay(0.05, gamma=0.9)
    adam = opsdk.optimizer.Adam(rate, parameters=net.parameters())
    scaler = amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=3)
    loader = io.DataLoader(Noisy(), batch_size=2, shuffle=True, num_workers=2, generator=draws)
    return loader, {"net": net, "adam": adam, "draws": draws, "scaler": scaler}


def epoch_of(loader, parts):
    net, adam, scaler = (parts[name] for name in ("net", "adam", "scaler"))
    for image, label in loader:
        with amp.auto_cast():
            loss = nn.functional.cross_entropy(net(image), label)
        scaler.scale(loss).backward()
        scaler.step(adam)
        scaler.update()
        adam.clear_grad()
    adam.schedule.step()


def test_e07_training_goes_on_bit_for_bit_with_workers_dropout_mixed_precision_and_a_schedule(tmp_path):
    opsdk.seed(4)
    (loader, parts), (second, others) = with_workers(), with_workers()
    epoch_of(loader, parts)
    state = {name: part.state_dict() for name, part in parts.items()}
    opsdk.save({**state, "random": opsdk.get_rng_state()}, tmp_path / "point")
    epoch_of(loader, parts)
    saved = opsdk.load(tmp_path / "point")
    for name, part in others.items():
        getattr(part, "set_state_dict", getattr(part, "load_state_dict", None))(saved[name])
    opsdk.set_rng_state(saved["random"])
    epoch_of(second, others)
    first, again = ([param.numpy() for param in each["net"].parameters()] for each in (parts, others))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_e07_an_untouched_model_is_another_one(run):
    layer, *_ = training_run.made()
    assert not np.array_equal(layer._linear.weight.numpy(), opsdk.load(run / "epoch_8.pdparams")["_linear.weight"])


def test_f08_bare_tensors_lists_and_dictionaries_are_saved(tmp_path):
    x, y = opsdk.arange(3), opsdk.ones([2, 2])
    for value in (x, [x, y], {"x": x, "more": {"y": y}}):
        opsdk.save(value, tmp_path / "value")
        found = opsdk.load(tmp_path / "value")
        assert str(found) == str(value)


def test_f08_an_interrupted_training_leaves_whole_files_only(run):
    folder = run / "resumed"
    code = (
        "import sys, os, signal, threading\nfrom tests.documents import training_run\n"
        "from opsdk.core.files import tensors\nwrite, count = tensors.write, iter(range(99))\n"
        "def dying(file, arrays, text):\n"
        "    if next(count) == 3:\n        file.write(b'half'); os.kill(os.getpid(), signal.SIGKILL)\n"
        "    write(file, arrays, text)\n"
        "tensors.write = dying\ntraining_run.resume(sys.argv[1], 0)"
    )
    assert subprocess.run([sys.executable, "-c", code, run], check=False, stdout=subprocess.DEVNULL).returncode == -9
    whole = sorted(each.name for each in folder.iterdir() if each.suffix.startswith(".pd"))
    assert whole == ["epoch_1.pdopt", "epoch_1.pdparams", "epoch_2.pdparams"]
    for name in whole:
        assert opsdk.load(folder / name)
    shutil.rmtree(folder)


# opsdk.save({"w": opsdk.ones([1]), "n": (1, 2.5)}, path) as the first version of the format has it
FIRST = (
    b'\xd8\x00\x00\x00\x00\x00\x00\x00{"__metadata__":{"opsdk.crc32":"4b0ee3b2","opsdk.format":"1",'
    b'"opsdk.text":"{\\"w\\":{\\"$tensor\\":\\"w\\"},\\"n\\":{\\"$tuple\\":[1,2.5]}}",'
    b'"opsdk.complex128":"[]"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}       \x00\x00\x80?'
)


def test_f11_files_of_the_first_version_of_the_format_stay_readable():
    found = opsdk.load(BytesIO(FIRST))
    assert (found["w"].tolist(), found["n"]) == ([1.0], (1, 2.5))


def test_f11_a_file_of_a_newer_version_says_so():
    with pytest.raises(SavedFileError):
        opsdk.load(BytesIO(FIRST.replace(b'"opsdk.format":"1"', b'"opsdk.format":"2"')))


def test_e13_parameters_of_paddle_1x_are_read(tmp_path):
    """One file a parameter, as `fluid.io.save_params` writes them; bytes as of Paddle's `SerializeToStream`."""
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    head = bytes(16) + (6).to_bytes(4, "little") + b"\x08\x05\x10\x02\x10\x03"
    (tmp_path / "fc_0.w_0").write_bytes(head + rows.tobytes())
    net = nn.Linear(2, 3, bias_attr=False)
    net.weight.name = "fc_0.w_0"
    assert net.set_state_dict(opsdk.load(tmp_path), use_structured_name=False) == ([], [])
    assert net.weight.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_e15_a_model_of_the_high_level_is_saved_and_loaded(tmp_path):
    models = []
    for _ in range(2):
        net = nn.Linear(3, 2)
        models.append(opsdk.Model(net))
        models[-1].prepare(opsdk.optimizer.Adam(parameters=net.parameters()), nn.CrossEntropyLoss())
    data = [[np.eye(3, dtype="float32"), np.array([0, 1, 1])]]
    models[0].fit(data, epochs=2, verbose=0)
    models[0].save(tmp_path / "model")
    models[1].load(tmp_path / "model")
    for model in models:
        model.fit(data, verbose=0)
    first, second = ([param.numpy() for param in model.parameters()] for model in models)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
