import os
import subprocess
import sys
from pathlib import Path

import pytest

from opsdk.core.errors import TargetError
from opsdk.ship.cli.places import check_places, put

REPOSITORY = Path(__file__).parents[3]


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


def test_a_report_that_ends_in_the_middle_is_not_left_behind(here):
    (here / "r.json").write_text("before")
    with pytest.raises(UnicodeEncodeError):
        put("r.json", "half" * 5000 + "\ud800")
    with pytest.raises(UnicodeEncodeError):
        put("new.json", "half" * 5000 + "\ud800")
    assert {path.name: path.read_text() for path in here.iterdir()} == {"r.json": "before"}


def test_a_report_for_which_there_is_no_room_leaves_what_was_there(here):
    resource = pytest.importorskip("resource")
    code = "import signal, resource as r; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    code += "r.setrlimit(r.RLIMIT_FSIZE, (4096, 4096))\n"
    code += "from opsdk.ship.cli.places import put\nput('r.json', 'x' * 9000)"
    assert resource.RLIMIT_FSIZE
    (here / "r.json").write_text("before")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "r.json: expected a file that can be written, got: File too large" in done.stderr
    assert {path.name: path.read_text() for path in here.iterdir()} == {"r.json": "before"}


def test_a_link_stays_one_a_mode_is_kept_and_a_pipe_is_written_to(here):
    (here / "held").write_text("before")
    (here / "held").chmod(0o640)
    (here / "link").symlink_to("held")
    put("link", "after")
    assert (here / "link").is_symlink()
    assert ((here / "held").read_text(), (here / "held").stat().st_mode & 0o777) == ("after", 0o640)
    put("/dev/null", "text")
    assert Path("/dev/null").is_char_device()
