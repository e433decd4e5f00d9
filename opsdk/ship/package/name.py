"""Names of new packages: which are good, what is wrong with one that is not, and the nearest good one."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import re
import sys
import unicodedata

from opsdk.core.errors import OpsdkError

_GOOD = re.compile(r"[a-z](?:[a-z0-9_]*[a-z0-9])?")
_ALLOWED = "lower-case letters a to z, digits and _"
_FOLDERS = {"benchmarks", "build", "dist", "src", "tests"}  # of the package itself


class ScaffoldError(OpsdkError, ValueError):
    """A package cannot be made as it was asked for."""

    default_code = "OP512"


def check_name(name: str) -> None:
    """Refuses what cannot be imported, published, or told from what is there already.

    Args:
        name: of the package to be, as it will be imported.

    Raises:
        ScaffoldError: the name has a wrong character, is a word of Python, or is taken; the message has a good one.
    """
    if not _GOOD.fullmatch(name):
        raise ScaffoldError(f"package {name!r}: expected {_ALLOWED}, {_fault(name)}; take {nearest(name)}")
    taken = _taken(name)
    if taken:
        raise ScaffoldError(f"package {name!r}: expected a name that is free, got {taken}; take {nearest(name)}")


def nearest(name: str) -> str:
    """Returns a good name that is like `name`: `MyOps` and `my-ops` give `my_ops`, `numpy` gives `numpy_ops`."""
    spelt = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", spelt).lower()
    words = re.sub(r"[^a-z0-9]+", "_", snake).strip("_")
    digits, rest = re.fullmatch(r"([0-9_]*)(.*)", words, re.DOTALL).groups()  # type: ignore[union-attr]  # fits all
    good = (rest + digits).strip("_") if rest else f"ops_{digits}".strip("_") if digits else "my_ops"
    while _taken(good):
        good += "_ops"
    return good


def _fault(name: str) -> str:
    """Returns what is the first thing wrong with how a name is written."""
    if not name:
        return "got nothing"
    for place, character in enumerate(name, start=1):
        if not re.fullmatch("[a-z0-9_]", character):
            return f"got {character!r}, character {place}"
    return f"got {name[0]!r} as the first" if not name[0].isalpha() else "got '_' as the last"


def _taken(name: str) -> str:
    """Returns what has this name; nothing where it is free."""
    if keyword.iskeyword(name):
        return "a keyword of Python"
    if name in sys.stdlib_module_names:
        return "a module of Python's standard library"
    if name in _FOLDERS:
        return f"the folder {name}/ that every package has"
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module that is half there, as __main__ is
        spec = None
    if spec is not None and spec.origin:  # a folder without a module has none, and is no package
        return f"an installed module, {spec.origin}"
    try:
        return f"an installed package, {name.replace('_', '-')} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return ""
