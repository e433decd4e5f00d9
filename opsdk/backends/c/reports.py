"""Reports of sanitizers, read: which call of replay.c it was, on which line of the source, what happened."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from opsdk.backends.call.language import Fault
from opsdk.core.origin import shorten

_CALL = "opsdk: call "
_TENSOR = r"opsdk: (\w+) \d+ at (0x[0-9a-f]+) of (\d+) bits$"
_UNDEFINED = r"^(.+?):(\d+):\d+: runtime error: (.+)$"
_ADDRESS = r"ERROR: AddressSanitizer: ([\w-]+)"
_ACCESS = r"^(READ|WRITE) of size"
_FRAME = r"^\s+#\d+ (?:0x[0-9a-f]+ in )?\S+ (.+?):(\d+)(?::\d+)?(?: \(.*)?$"
_REGION = (
    r"is located (\d+) bytes (to the left of|to the right of|before|after|inside of) (\d+)-byte region \[(0x[0-9a-f]+),"
)
_RACE = "WARNING: ThreadSanitizer: data race"
_SHARED = r"^\s+(?:Previous )?(?:atomic )?(read|write) of size \d+ at (0x[0-9a-f]+) by"
_BLOCK = r"^\s+Location is heap block of size (\d+) at (0x[0-9a-f]+)"


@dataclass(frozen=True)
class _Tensor:
    """A tensor of a call: what it is called and how many bytes an element has."""

    name: str
    itemsize: int

    def element(self, offset: int, size: int) -> str:
        """Returns what lies at an offset from the first of so many bytes."""
        count = size // self.itemsize
        return f"index {offset // self.itemsize} of {self.name!r}, which has {count} element{'s' * (count != 1)}"


def faults_of(told: str) -> Iterator[Fault]:
    """Yields what sanitizers said on standard error; a call is counted as the program counts them."""
    call, tensors = 0, dict[int, _Tensor]()
    lines = told.splitlines()
    for at, line in enumerate(lines):
        if line.startswith(_CALL):
            call, tensors = int(line.removeprefix(_CALL)), {}
        elif tensor := re.match(_TENSOR, line):
            tensors[int(tensor[2], 16)] = _Tensor(tensor[1], int(tensor[3]) // 8)
        elif undefined := re.match(_UNDEFINED, line):
            yield Fault(call, "undefined", undefined[3], f"{shorten(undefined[1])}:{undefined[2]}")
        elif _RACE in line:
            yield _of_race(call, lines[at + 1 :], tensors)
        elif address := re.search(_ADDRESS, line):
            yield _of_address(call, address[1], lines[at + 1 :], tensors)


def _of_address(call: int, kind: str, lines: Sequence[str], tensors: dict[int, _Tensor]) -> Fault:
    """Returns a report of AddressSanitizer: an access to memory that is not, or no longer, one's own."""
    access, at, message = "reached", "", kind
    for line in lines:
        if word := re.match(_ACCESS, line):
            access = {"READ": "read", "WRITE": "wrote"}[word[1]]
        elif (frame := re.match(_FRAME, line)) and not at:
            at = f"{shorten(frame[1])}:{frame[2]}"
        elif region := re.search(_REGION, line):
            distance, size = int(region[1]), int(region[3])
            behind = {"to the right of": size, "after": size}.get(region[2], 0)
            offset = -distance if region[2] in ("to the left of", "before") else behind + distance
            tensor = tensors.get(int(region[4], 16))
            what = tensor.element(offset, size) if tensor else f"byte {offset} of memory of {size} bytes"
            message = f"it {access} {what}" + (f" ({kind})" if kind != "heap-buffer-overflow" else "")
            break
    return Fault(call, "bounds", message, at)


def _of_race(call: int, lines: Sequence[str], tensors: dict[int, _Tensor]) -> Fault:
    """Returns a report of ThreadSanitizer: two threads at one place, of which one writes."""
    did: list[str] = []
    places: list[str] = []
    address, what = 0, "memory"
    for line in lines:
        if access := re.match(_SHARED, line, re.IGNORECASE):
            did.append({"read": "reads", "write": "writes"}[access[1].lower()])
            address = address or int(access[2], 16)
        elif (frame := re.match(_FRAME, line)) and len(places) < len(did) <= 2:
            places.append(f"{shorten(frame[1])}:{frame[2]}")
        elif (block := re.match(_BLOCK, line)) and int(block[2], 16) in tensors:
            first = int(block[2], 16)
            what = tensors[first].element(address - first, int(block[1]))
        elif line.startswith("SUMMARY"):
            break
    verbs = (*did, "reaches", "reaches")
    place = f" at {places[1]}" if len(places) > 1 and places[1] != places[0] else ""
    return Fault(call, "race", f"one thread {verbs[0]} {what}, and another {verbs[1]} it{place}", *places[:1])
