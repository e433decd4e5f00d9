"""Who may write to a cache folder: what lies in it is executed, so nobody else may put anything there.

The rule is that of programs that read keys: every folder on the way belongs to the user or to root, and others may not
write to it, unless its sticky bit keeps them from replacing what is not theirs. Links on the way are theirs too.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opsdk.core.lazy import slow

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_LINKS = 40  # that the system follows on one path


@dataclass(frozen=True)
class Danger:
    """Why a folder or file is not used, and what its user can do about it."""

    reason: str
    remedy: str


def danger(folder: Path, above: int = 1) -> Danger | None:
    """Returns why a folder cannot be trusted; None where it can, or where nothing is there yet to be trusted.

    Args:
        folder: the folder, absolute; parts that are missing are made by who asks, for its user alone.
        above: how many of the folders that it lies in are the cache's own: to these no group may write at all.
    """
    if os.name != "posix":
        return None
    own = set()
    for parent in (folder, *folder.parents[:above]):
        with suppress(OSError):
            own.add((parent.stat().st_dev, parent.stat().st_ino))
    at, pending, links = "/", list(reversed(folder.parts[1:])), 0
    while True:
        try:
            state = os.lstat(at)
        except OSError:
            return None  # missing, or nobody gets there
        if found := _of_owner(at, state):
            return found
        if stat.S_ISLNK(state.st_mode):
            links += 1
            if links > _LINKS:
                return None  # nobody gets there
            target = os.readlink(at)  # noqa: PTH115 - as text: pathlib would take `..` away before links are followed
            pending += reversed([part for part in target.split("/") if part not in ("", ".")])
            at = "/" if target.startswith("/") else at.rpartition("/")[0] or "/"
            continue
        if found := _of_mode(at, state, is_last=not pending, is_own=(state.st_dev, state.st_ino) in own):
            return found
        if not pending:
            return None
        part = pending.pop()
        at = f"{at.rstrip('/')}/{part}" if part != ".." else at.rpartition("/")[0] or "/"


def danger_of_file(path: Path) -> Danger | None:
    """Returns why a file in a trusted folder cannot be; None where it can.

    Raises:
        OSError: there is no such file.
    """
    if os.name != "posix":
        return None
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        return Danger(f"{path} is no plain file", f"remove {path}")
    return _of_owner(str(path), state) or _of_mode(str(path), state, is_last=True, is_own=True)


def danger_beside(path: Path, source: Path) -> Danger | None:
    """Returns why a file, or the folder that it is in, is less safe than the Python file that it belongs to.

    Who may write to that file, or its folder, runs code here anyway; nobody else may by way of what lies beside it.
    """
    if os.name != "posix":
        return None
    known, home = source.stat(), source.parent.stat()
    for each in (path.parent, path):
        state = each.lstat()
        if state.st_uid not in (known.st_uid, home.st_uid):
            found = _of_owner(str(each), state)
            if found is not None:
                return found
        may = (known.st_mode | home.st_mode) & _OTHERS
        if not stat.S_ISLNK(state.st_mode) and state.st_mode & _OTHERS & ~may:
            found = _of_mode(str(each), state, is_last=True, is_own=False)
            if found is not None:
                return found
    return None


def make_private(folder: Path) -> None:
    """Makes a folder, and those on the way that are missing, for its user alone."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        with suppress(FileExistsError):  # somebody else was faster, or it is no folder, as the next one says
            each.mkdir(mode=0o700)


def _of_owner(path: str, state: os.stat_result) -> Danger | None:
    if state.st_uid in (0, os.geteuid()):
        return None
    what = "is a link of" if stat.S_ISLNK(state.st_mode) else "belongs to"
    return Danger(f"{path} {what} {_user(state.st_uid)}", f"take over what you trust: chown -R $USER {path}")


def _of_mode(path: str, state: os.stat_result, *, is_last: bool, is_own: bool) -> Danger | None:
    others = state.st_mode & _OTHERS
    if not others or (state.st_mode & stat.S_ISVTX and not is_last):
        return None
    if others == stat.S_IWGRP and not is_own and _is_private_group(state):
        return None
    mode = stat.S_IMODE(state.st_mode)
    return Danger(f"others may write to {path} (mode {mode:04o})", f"chmod go-w {path}")


def _is_private_group(state: os.stat_result) -> bool:
    """Whether a folder's group is that of its owner alone, as many systems give every user one."""
    try:
        owner, group = slow("pwd").getpwuid(state.st_uid).pw_name, slow("grp").getgrgid(state.st_gid)
    except (KeyError, ImportError):
        return False
    return bool(group.gr_name == owner and set(group.gr_mem) <= {owner})


def _user(number: int) -> str:
    try:
        return f"user {slow('pwd').getpwuid(number).pw_name!r}"
    except (KeyError, ImportError):
        return f"user {number}"
