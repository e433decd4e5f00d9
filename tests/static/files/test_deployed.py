from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import FileMissingError, ProgramError, SavedFileError

ROWS = np.float32([[1, 2, -3, 4], [0, 0.5, 0, -1]])


@pytest.fixture
def net(exe, main, startup):
    """A net with dropout and a loss, ready: x, label, what it says, and the loss."""
    x, label = static.data("x", [None, 4], "float32"), static.data("label", [None, 1], "int64")
    made = static.nn.fc(opsdk.nn.functional.dropout(x, 0.5), 3)
    loss = opsdk.nn.functional.cross_entropy(made, label)
    opsdk.optimizer.SGD(0.1).minimize(loss)
    exe.run(startup)
    return x, label, made, loss


def by_hand():
    scope = static.global_scope()
    weight, bias = (np.asarray(scope.lookup(name)) for name in ("fc_0.w_0", "fc_0.b_0"))
    return ROWS @ weight + bias


def test_what_is_saved_for_servers_is_the_forward_as_it_is_tested(exe, net, tmp_path):
    x, _, made, _ = net
    expected = by_hand()
    static.save_inference_model(str(tmp_path / "m"), [x], [made], exe)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.pdiparams", "m.pdiparams.info", "m.pdmodel"]
    with static.scope_guard(static.Scope()):
        program, feeds, fetches = static.load_inference_model(str(tmp_path / "m"), exe)
        assert (feeds, [v.name for v in fetches]) == (["x"], [made.name])
        assert [operator.type for operator in program.global_block().ops if "grad" in operator.type] == []
        for _ in range(2):
            (found,) = exe.run(program, feed={"x": ROWS}, fetch_list=fetches)
            assert np.allclose(found, expected, atol=1e-6)


def test_loading_overwrites_nothing_of_the_scope(exe, net, tmp_path):
    x, _, made, _ = net
    expected = by_hand()
    static.save_inference_model(str(tmp_path / "m"), x, made)
    static.set_program_state(static.default_main_program(), {"fc_0.w_0": np.zeros((4, 3), "float32")})
    program, _, fetches = static.load_inference_model(str(tmp_path / "m"))
    (found,) = exe.run(program, feed={"x": ROWS}, fetch_list=fetches)
    assert np.allclose(found, expected, atol=1e-6)
    assert not np.asarray(static.global_scope().lookup("fc_0.w_0")).any()
    assert "fc_0.w_0@1" in program.global_block().vars


def test_a_pruned_program_leaves_the_original_alone(main, net, state):
    x, _, made, _ = net
    before = state(main)
    pruned = static.normalize_program(main, [x], [made])
    assert state(main) == before
    assert set(pruned.global_block().vars) < set(main.global_block().vars)
    assert "label" not in pruned.global_block().vars


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda x, label, made, loss: ([], [made]),
            "feed_vars expected every variable that the fetches need, 'x' is mi",
        ),
        (lambda x, label, made, loss: (x, loss), "feed_vars expected every variable that the fetches need, 'label' is"),
        (lambda x, label, made, loss: (made, made), "feed_vars expected variables of static.data, got 'fc_0.tmp_1'"),
        (lambda x, label, made, loss: ("x", made), "feed_vars expected variables of the Program, got str"),
        (lambda x, label, made, loss: (x, 3), "fetch_vars expected variables of the Program, got int"),
    ],
)
def test_what_cannot_be_pruned_says_why(main, net, tmp_path, ask, words):
    feeds, fetches = ask(*net)
    with pytest.raises(ProgramError) as caught:
        static.save_inference_model(str(tmp_path / "m"), feeds, fetches)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_training_alone_gives_is_not_fetched_in_a_test(main, net):
    gradient = main.global_block().vars["fc_0.w_0@GRAD"]
    with pytest.raises(
        ProgramError, match=r"fetch_vars expected what a test computes, got 'fc_0.w_0@GRAD', which train"
    ):
        static.normalize_program(main, [net[0], net[1]], [gradient])


def test_a_program_and_its_values_as_bytes(exe, main, net):
    x, _, made, _ = net
    expected = by_hand()
    program, arrays = static.serialize_program(x, made), static.serialize_persistables(x, made)
    assert program.decode().startswith('{\n "opsdk.program": 1')
    with static.scope_guard(static.Scope()):
        back = static.deserialize_program(program)
        static.deserialize_persistables(back, arrays)
        (found,) = exe.run(back, feed={"x": ROWS}, fetch_list=[made.name])
    assert np.allclose(found, expected, atol=1e-6)
    whole = static.deserialize_program(static.serialize_program(program=main))
    assert str(whole) == str(main)
    assert len(static.serialize_persistables(program=main)) > len(arrays)  # the rate, too


@pytest.mark.parametrize("data", [b"\xff", b"", b"{}", 3, "[]"])
def test_bytes_that_are_no_program_are_refused(data):
    with pytest.raises(SavedFileError, match="deserialize_program: expected"):
        static.deserialize_program(data)


def test_a_model_of_two_programs_is_not_one(exe, net, tmp_path):
    text = static.serialize_program(net[0], net[2]).decode()
    two = text.replace('"programs": {', '"programs": {"other": {},')
    with pytest.raises(SavedFileError, match="deserialize_program: expected one Program, got other, main"):
        static.deserialize_program(two)


@pytest.mark.parametrize("cut", [0, 5, -1])
def test_bytes_that_are_no_values_are_refused(main, net, cut):
    data = static.serialize_persistables(program=main)
    with pytest.raises(SavedFileError):
        static.deserialize_persistables(main, data[:cut])


def test_bytes_go_to_a_file_and_back(tmp_path):
    static.save_to_file(str(tmp_path / "a" / "b"), b"\0\1")
    assert static.load_from_file(str(tmp_path / "a" / "b")) == b"\0\1"
    with pytest.raises(FileMissingError, match=r"load_from_file: expected the file '.*', nothing is there"):
        static.load_from_file(str(tmp_path / "c"))


def test_a_program_for_servers_does_not_need_the_loss_or_its_py_func(exe, main, startup, tmp_path, block):
    x = static.data("x", [None, 4], "float32")
    y = static.nn.fc(x, 2)
    static.py_func(np.sin, y, block.create_var("made", [None, 2], "float32"))
    exe.run(startup)
    static.save_inference_model(str(tmp_path / "m"), x, y)
    with pytest.raises(ProgramError, match="operator 'py_func' of 'sin' expected a registered op"):
        static.save_inference_model(str(tmp_path / "n"), x, block.vars["made"])
    assert not list(Path(tmp_path).glob("n*"))
