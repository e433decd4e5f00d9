import subprocess
import sys

import numpy as np
import pytest

import opsdk
from opsdk import io
from opsdk.core.errors import ArityError, AttributeValueError, MissingDependencyError, WorkerError
from opsdk.io.travel import packed
from tests.io.samples import Broken, Drawn, Numbers, Stream


def values(batches):
    return [[part.tolist() for part in batch] for batch in batches]


def test_batches_are_lists_of_tensors():
    batches = list(io.DataLoader(Numbers(), batch_size=3))
    assert [type(batch) for batch in batches] == [list] * 3
    assert (batches[0][0].dtype.name, batches[0][1].dtype.name) == ("float32", "int64")
    assert values(batches)[2] == [[[18.0, 18.0, 18.0]], [6]]


def test_a_loader_is_called_too_and_has_a_length():
    loader = io.DataLoader(Numbers(), batch_size=2, drop_last=True)
    assert len(loader) == len(list(loader())) == 3


def test_workers_give_the_batches_of_one_process_in_their_order():
    here, there = (
        io.DataLoader(Numbers(), batch_size=2, shuffle=True, num_workers=n, generator=opsdk.Generator(5))
        for n in (0, 2)
    )
    first, second = (values(here) for _ in range(2))
    assert first != second
    assert [values(there), values(there)] == [first, second]


def test_what_workers_draw_follows_run_epoch_and_worker():
    loader = io.DataLoader(Drawn(), num_workers=2)
    opsdk.seed(3)
    first, second = values(loader), values(loader)
    opsdk.seed(3)
    assert values(loader) == first
    kinds = list(zip(*[[part[0] for part in batch] for batch in first + second], strict=True))
    assert kinds[3] == (0, 1) * 4
    assert all(len(set(kind)) == 8 for kind in kinds[:3])


def test_each_worker_takes_its_part_of_a_stream():
    loader = io.DataLoader(Stream(), batch_size=2, num_workers=2)
    assert [batch.tolist() for batch in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    assert [batch.tolist() for batch in io.DataLoader(Stream(), batch_size=4)] == [[0, 1, 2, 3], [4, 5, 6]]


def test_a_loop_that_is_left_ends_the_workers():
    batches = iter(io.DataLoader(Numbers(), num_workers=1))
    next(batches)
    workers = batches.gi_frame.f_locals["workers"]
    batches.close()
    assert [process.exitcode for process in workers._processes] == [0]


def test_what_a_sample_raises_is_raised_with_its_place_and_a_process_that_died_is_named():
    with pytest.raises(KeyError, match="sample one") as raised:
        list(io.DataLoader(Broken(), num_workers=1, sampler=[1, 0]))
    assert "raised in worker 0 of a DataLoader" in "".join(raised.value.__notes__)
    assert "samples.py" in "".join(raised.value.__notes__)
    with pytest.raises(
        WorkerError,
        match=r"DataLoader, worker 0: expected an exception that crosses processes, got .*Odd: sample three",
    ):
        list(io.DataLoader(Broken(), num_workers=1, sampler=[3]))
    with pytest.raises(WorkerError, match="worker 0: expected a batch, the process ended with status 3; set num_work"):
        list(io.DataLoader(Broken(), num_workers=1, sampler=[2]))


def test_without_a_batch_size_samples_come_one_by_one():
    rows, number = next(iter(io.DataLoader(Numbers(), batch_size=None)))
    assert (rows.shape, number) == ([3], 0)


def test_a_dictionary_by_name_is_a_feed():
    loader = io.DataLoader(Numbers(), batch_size=2, feed_list=["x", "label"], return_list=False)
    batch = next(iter(loader))
    assert {name: type(part) for name, part in batch.items()} == {"x": np.ndarray, "label": np.ndarray}
    with pytest.raises(AttributeValueError, match=r"a name for each of the 2 parts of a batch, got \['x'\]"):
        next(iter(io.DataLoader(Numbers(), feed_list=["x"], return_list=False)))


def test_arrays_of_a_collate_fn_become_tensors_and_other_values_stay():
    loader = io.DataLoader(Numbers(), batch_size=3, collate_fn=lambda rows: (np.stack([x for x, _ in rows]), 3))
    rows, three = next(iter(loader))
    assert (type(rows), rows.shape, three) == (opsdk.Tensor, [3, 3], 3)


PROGRAM = """
import numpy as np, opsdk
from opsdk import io, vmath

@opsdk.op
def scaled(x, *, k: float):
    return x * k

@opsdk.elementwise
def squared(x):
    return x * x

@opsdk.op(composite=True)
def less_one(x):
    return squared(x) - 1.0

class Set(io.Dataset):
    def __getitem__(self, index):
        return scaled(less_one(np.full(1, index, "float64")), k=2.0)
    def __len__(self):
        return 3

print([batch.tolist() for batch in io.DataLoader(Set(), num_workers=1)])
"""


def test_ops_and_datasets_of_a_script_reach_the_workers_and_it_is_not_run_again(tmp_path):
    pytest.importorskip("cloudpickle")
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "[[[-2.0]], [[0.0]], [[6.0]]]\n"


def test_without_cloudpickle_what_is_of_main_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    of_main = type("Set", (Numbers,), {"__module__": "__main__"})
    with pytest.raises(MissingDependencyError, match=r"to reach worker processes \(Set is of __main__\).*cloudpickle"):
        next(iter(io.DataLoader(of_main(), num_workers=1)))


def test_what_belongs_to_this_process_is_refused():
    pytest.importorskip("cloudpickle")
    with pytest.raises(AttributeValueError, match="expected a dataset and functions that worker processes can have"):
        packed(sys._getframe(), "DataLoader")


def test_a_worker_that_gives_nothing_in_time_is_named():
    with pytest.raises(WorkerError, match=r"worker 0: expected a batch within 1e-06 s, got none"):
        next(iter(io.DataLoader(Numbers(), num_workers=1, timeout=1e-6)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size expected an integer ≥ 1, got 0"),
        ({"batch_size": "4"}, "batch_size expected an integer ≥ 1, got '4'"),
        ({"num_workers": -1}, "num_workers expected an integer ≥ 0, got -1"),
        ({"batch_sampler": [[0]], "batch_size": 3}, "a batch_sampler decides what makes a batch"),
        ({"sampler": [0], "shuffle": True}, "a sampler gives the order, got shuffle=True too"),
        ({"return_list": False}, "return_list=False expected a feed_list"),
        ({"dataset": Stream(), "shuffle": True}, "an IterableDataset has an order of its own, got shuffle"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, message):
    with pytest.raises(AttributeValueError, match=message):
        io.DataLoader(**{"dataset": Numbers(), **options})


def test_a_stream_gives_a_loader_no_length():
    with pytest.raises(TypeError, match="DataLoader: Stream is a stream, which has no length"):
        len(io.DataLoader(Stream()))


def test_a_loader_takes_torchs_arguments():
    data = io.TensorDataset(np.arange(5.0))
    options = {
        "pin_memory": True,
        "persistent_workers": False,
        "prefetch_factor": None,
        "multiprocessing_context": None,
    }
    batches = [batch.tolist() for (batch,) in io.DataLoader(data, 2, shuffle=None, **options, use_shared_memory=True)]
    assert batches == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    shuffled = io.DataLoader(data, 5, True, generator=opsdk.Generator(3))
    assert sorted(next(iter(shuffled))[0].tolist()) == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ArityError, match="DataLoader: expected none of these arguments, got batchsize"):
        io.DataLoader(data, batchsize=2)


def test_the_function_that_makes_batches_makes_tensors_of_samples():
    x, y = io.default_collate([(np.ones(2), 1), (np.zeros(2), 2)])
    assert (x.tolist(), y.tolist()) == ([[1.0, 1.0], [0.0, 0.0]], [1, 2])
    assert isinstance(x, opsdk.Tensor)
