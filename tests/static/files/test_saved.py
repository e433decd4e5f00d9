from pathlib import Path

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    DTypeError,
    FileMissingError,
    NotInitializedError,
    ProgramError,
    SavedFileError,
    ShapeError,
)
from opsdk.static.files.saved import state_of

FEED = {"x": np.ones((5, 4), "float32"), "label": np.zeros((5, 1), "int64")}


@pytest.fixture
def trained(main):
    """A Program that trains, and draws nothing while it does; its loss."""
    x, label = static.data("x", [None, 4], "float32"), static.data("label", [None, 1], "int64")
    loss = opsdk.nn.functional.cross_entropy(static.nn.fc(static.nn.fc(x, 6, activation="relu"), 3), label)
    opsdk.optimizer.Adam(0.1).minimize(loss)
    return loss


@pytest.fixture
def ran(exe, main, startup, trained):
    """The Program, after one step."""
    exe.run(startup)
    exe.run(main, feed=FEED, fetch_list=[trained])
    return main


def kept(program):
    return {name: value.tobytes() for name, value in state_of(program).items()}


def test_there_are_three_files_of_program_parameters_and_the_rest(ran, tmp_path):
    static.save(ran, str(tmp_path / "deep" / "m"))
    assert sorted(each.name for each in (tmp_path / "deep").iterdir()) == ["m.pdmodel", "m.pdopt", "m.pdparams"]
    parameters = opsdk.load(tmp_path / "deep" / "m.pdparams", return_numpy=True)
    assert {name: value.shape for name, value in parameters.items()} == {
        "fc_0.w_0": (4, 6),
        "fc_0.b_0": (6,),
        "fc_1.w_0": (6, 3),
        "fc_1.b_0": (3,),
    }
    assert "fc_0.w_0_moment1_0" in opsdk.load(tmp_path / "deep" / "m.pdopt")


def test_training_goes_on_from_what_was_saved_bit_for_bit(exe, ran, startup, trained, tmp_path):
    static.save(ran, str(tmp_path / "m"))
    saved = kept(ran)
    expected = exe.run(ran, feed=FEED, fetch_list=[trained, "fc_0.w_0"])
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        static.load(ran, str(tmp_path / "m"))
        assert kept(ran) == saved
        found = exe.run(ran, feed=FEED, fetch_list=[trained, "fc_0.w_0"])
    assert [a.tobytes() for a in found] == [a.tobytes() for a in expected]


def test_random_numbers_go_on_where_they_were(exe, main, startup, tmp_path):
    x = static.data("x", [None, 50], "float32")
    kept = opsdk.nn.functional.dropout(static.nn.fc(x, 50), 0.5)
    feed = {"x": np.ones((2, 50), "float32")}
    exe.run(startup)
    exe.run(main, feed)
    static.save(main, str(tmp_path / "m"))
    expected = exe.run(main, feed, [kept])
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        static.load(main, str(tmp_path / "m"))
        np.testing.assert_array_equal(exe.run(main, feed, [kept]), expected)
    assert not np.array_equal(exe.run(main, feed, [kept]), expected)


def test_what_was_saved_is_read_without_the_code_and_trained(exe, ran, trained, tmp_path):
    static.save(ran, str(tmp_path / "m"))
    expected = exe.run(ran, feed=FEED, fetch_list=[trained.name])
    with static.scope_guard(static.Scope()):
        program = static.deserialize_program(static.load_from_file(str(tmp_path / "m.pdmodel")))
        static.load(program, str(tmp_path / "m"))
        assert exe.run(program, feed=FEED, fetch_list=[trained.name])[0].tobytes() == expected[0].tobytes()


def test_the_state_of_a_program_by_kind(ran):
    names = {mode: set(state_of(ran, mode)) for mode in ("param", "opt", "all")}
    assert names["param"] == {"fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"}
    assert names["all"] == names["param"] | names["opt"]
    assert not names["param"] & names["opt"]
    with pytest.raises(ProgramError, match="state_dict: mode expected 'param', 'opt' or 'all', got 'some'"):
        state_of(ran, "some")


def test_a_program_that_was_not_started_has_no_state(main, trained, tmp_path):
    with pytest.raises(
        NotInitializedError, match="expected a value in the Scope, it has none; run the startup program"
    ):
        static.save(main, str(tmp_path / "m"))
    assert list(tmp_path.iterdir()) == []


def test_values_are_given_by_name_all_or_none(ran):
    before = kept(ran)
    bad = {"fc_0.w_0": np.zeros((4, 6), "float32"), "fc_1.b_0": np.zeros(4, "float32")}
    with pytest.raises(ShapeError, match=r"set_program_state, 'fc_1.b_0': expected shape \(3,\), got \(4,\)"):
        static.set_program_state(ran, bad)
    with pytest.raises(ProgramError, match="set_program_state: 'nope' expected in the Program; it has "):
        static.set_program_state(ran, {"fc_0.w_0": bad["fc_0.w_0"], "nope": 1.0})
    with pytest.raises(DTypeError):
        static.set_program_state(ran, {"fc_1.b_0": np.array([1j, 0, 0])})
    assert kept(ran) == before
    static.set_program_state(ran, {"fc_0.w_0": bad["fc_0.w_0"]})
    assert {name for name, value in kept(ran).items() if value != before[name]} == {"fc_0.w_0"}


def test_some_variables_alone_are_loaded(ran, tmp_path):
    static.save(ran, str(tmp_path / "m"))
    saved = kept(ran)
    static.set_program_state(ran, {"fc_0.b_0": np.ones(6, "float32"), "fc_1.b_0": np.ones(3, "float32")})
    weight = ran.global_block().vars["fc_0.b_0"]
    static.load(ran, str(tmp_path / "m"), var_list=[weight])
    assert {name for name, value in kept(ran).items() if value != saved[name]} == {"fc_1.b_0"}
    assert list(static.load_program_state(str(tmp_path / "m"), [weight])) == ["fc_0.b_0"]


def test_a_file_that_is_missing_damaged_or_of_another_program_changes_nothing(exe, ran, tmp_path):
    before = kept(ran)
    with pytest.raises(
        FileMissingError, match=r"load_program_state: expected the file '.*m.pdparams', nothing is there"
    ):
        static.load(ran, str(tmp_path / "m"))
    static.save(ran, str(tmp_path / "m"))
    whole = (tmp_path / "m.pdparams").read_bytes()
    (tmp_path / "m.pdparams").write_bytes(whole[:-3])
    with pytest.raises(SavedFileError):
        static.load(ran, str(tmp_path / "m"))
    (tmp_path / "m.pdparams").write_bytes(whole)
    Path(tmp_path / "m.pdopt").unlink()
    with pytest.raises(SavedFileError, match=r"static.load '.*m': expected a value of '.*'; the files have "):
        static.load(ran, str(tmp_path / "m"))
    assert kept(ran) == before
