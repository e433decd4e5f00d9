"""The page of differences, docs/peers.md: what the sweep recorded, each with its reason from `tests.peers.reasons`.

`python -m tests.peers.page > docs/peers.md` writes it.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from tests.peers.reasons import REASONS, UNCOMPARED, Reason

HERE = Path(__file__).parent
COMMAND = "python -m tests.peers.page > docs/peers.md"
PEERS = {"torch": "PyTorch", "paddle": "Paddle"}
# Headings, and the aspects of the sweep that stand below each.
SECTIONS = {
    "Other results": ("value", "shape", "structure", "kind", "dtype"),
    "Other gradients": ("gradient",),
    "Refused here": ("refused", "keyword", "default"),
    "Other errors": ("error",),
}
_INTRODUCTION = """# Beside PyTorch and Paddle

Every name that opsdk shares with PyTorch or Paddle, of the functions, the methods of tensors, `nn.functional`, the
layers of `nn` and `linalg`, is called in both libraries with the same values: numbers of all signs, ties, infinities
and nan, whole numbers, bools, complex numbers, empty values and single ones; with and without an axis, by position and
by the other library's keywords. Values, shapes, dtypes and gradients are compared, the defaults of keywords, and which
of Python's exceptions a misuse raises. What differs in these calls stands below, each with its reason. The rule behind
most of it: a name that both libraries have means Paddle's, and what only PyTorch spells has PyTorch's meaning, so
`x.max(1)` gives values, and `x.max(dim=1)` values and positions.

`python -m tests.peers.sweep torch`, or `paddle`, calls everything anew, where that library is installed, and
`{command}` writes this page; a test holds it to what was recorded."""


class Difference(NamedTuple):
    """One way in which a name differs.

    Attributes:
        peer: "torch" or "paddle".
        name: the surface, a dot and the name.
        aspect: of the sweep.
        text: what was seen.
    """

    peer: str
    name: str
    aspect: str
    text: str


def recorded(peer: str) -> dict[str, Any]:
    """Returns what the sweep wrote of one peer."""
    found: dict[str, Any] = json.loads((HERE / f"{peer}.json").read_text(encoding="utf-8"))
    return found


def differences() -> list[Difference]:
    """Returns all differences that were recorded."""
    return [
        Difference(peer, name, aspect, text)
        for peer in PEERS
        for name, each in recorded(peer)["found"].items()
        for aspect, texts in each.get("differs", {}).items()
        for text in texts
    ]


def is_of(reason: Reason, difference: Difference) -> bool:
    """Returns whether a reason is one of a difference."""
    own = difference.name.partition(".")[2]
    return (
        difference.aspect in reason.aspects.split()
        and reason.peer in ("", difference.peer)
        and any(fnmatchcase(difference.name if "." in each else own, each) for each in reason.names.split())
        and reason.text in difference.text
    )


def unexplained() -> list[Difference]:
    """Returns the differences that no reason is of."""
    return [each for each in differences() if not any(is_of(reason, each) for reason in REASONS)]


def _counts() -> str:
    rows = ["| | shared names | compared | calls | without any difference |", "|---|---|---|---|---|"]
    for peer, shown in PEERS.items():
        record = recorded(peer)
        each = record["found"].values()
        compared = [one for one in each if one["calls"]]
        same = sum("differs" not in one for one in compared)
        calls = sum(one["calls"] for one in compared)
        rows.append(f"| {shown} {record['version']} | {len(each)} | {len(compared)} | {calls} | {same} |")
    return "\n".join(rows)


def _names(found: list[Difference]) -> str:
    """Returns the names of a row, each once for all surfaces."""
    names: dict[str, None] = {}
    for each in found:
        surface, _, name = each.name.partition(".")
        names[f"linalg.{name}" if surface == "linalg" else name] = None
    return ", ".join(f"`{name}`" for name in sorted(names))


def page() -> str:
    """Returns the page as Markdown."""
    parts = [_INTRODUCTION.format(command=COMMAND), _counts()]
    left = differences()
    for heading, aspects in SECTIONS.items():
        rows = ["| of | names | what differs, and why |", "|---|---|---|"]
        for reason in REASONS:
            if reason.aspects.split()[0] not in aspects:
                continue
            found = [each for each in left if is_of(reason, each)]
            left = [each for each in left if each not in found]
            peers = ", ".join(shown for peer, shown in PEERS.items() if any(each.peer == peer for each in found))
            rows.append(f"| {peers} | {_names(found)} | {reason.why} |")
        parts += [f"## {heading}", "\n".join(rows)]
    rows = ["| names | why |", "|---|---|"]
    missing = [(peer, name) for peer in PEERS for name, each in recorded(peer)["found"].items() if not each["calls"]]
    for names, why in UNCOMPARED.items():
        of = sorted({name.partition(".")[2] for _, name in missing if name.partition(".")[2] in names.split()})
        rows.append(f"| {', '.join(f'`{name}`' for name in of)} | {why} |")
    return "\n\n".join([*parts, "## Not compared", "\n".join(rows)]) + "\n"


if __name__ == "__main__":
    print(page(), end="")
