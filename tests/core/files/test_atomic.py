import os
import signal
import subprocess
import sys

import pytest

from opsdk.core.errors import FileWriteError
from opsdk.core.files.atomic import replacing


def test_a_file_takes_the_place_of_the_old_one_and_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "x.bin"
    for content in (b"one", b"two"):
        with replacing(path, "save") as file:
            file.write(content)
        assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["x.bin"]


def test_where_the_block_raises_the_old_file_stays_and_nothing_is_left_behind(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replacing(path, "save") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert (path.read_bytes(), len(list(tmp_path.iterdir()))) == (b"old", 1)


def test_a_process_that_is_killed_in_the_middle_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")
    code = (
        "import os, signal, sys\nfrom opsdk.core.files.atomic import replacing\n"
        "with replacing(sys.argv[1], 'save') as file:\n    file.write(b'x' * 100000); file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_a_link_stays_one(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link", "save") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("end", ["", "/"])
def test_a_folder_is_no_file(tmp_path, end):
    with (
        pytest.raises(
            FileWriteError, match=r"save: path expected the name of a file, got .* that of a folder"
        ) as error,
        replacing(f"{tmp_path}{end}", "save"),
    ):
        pass
    assert isinstance(error.value, (ValueError, OSError))


def test_a_path_that_cannot_be_written_says_why(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileWriteError, match=r"x.bin' cannot be written: "), replacing(tmp_path / "file/x.bin", "save"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_is_readable_by_those_whom_the_umask_lets(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x", "save") as file:
            file.write(b"1")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
