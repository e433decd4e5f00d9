import pytest

from opsdk.core.errors import TargetError
from opsdk.ship.places import check_places, put


def test_places_that_can_be_written_are_let_through(here):
    check_places({"--json": "r.json", "--html": "-", "--junit": None})
    (here / "r.json").touch()
    check_places({"--json": "r.json"})


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("folder", "Is a directory"),
        ("none/r.json", "No such file or directory"),
        ("file/r.json", "Not a directory"),
    ],
)
def test_others_are_refused_before_the_work(here, path, reason):
    (here / "folder").mkdir()
    (here / "file").touch()
    with pytest.raises(TargetError, match=f"{path}: expected a file that can be written, got: {reason}"):
        check_places({"--json": path})


def test_a_file_that_cannot_be_written_after_all_is_told(here):
    (here / "folder").mkdir()
    with pytest.raises(TargetError, match="folder: expected a file that can be written, got: Is a directory"):
        put("folder", "text")


def test_a_report_is_written_and_said_to_be(here, capsys):
    put("r.txt", "text\n")
    assert (here / "r.txt").read_text() == "text\n"
    assert capsys.readouterr().err == "wrote r.txt\n"
    put("-", "text\n")
    assert capsys.readouterr().out == "text\n"
