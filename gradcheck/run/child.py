"""The child's side of `gradcheck.run.workers`: a process that takes pieces of work until its standard input ends.

What a piece prints goes to the file that the parent gave as standard error; standard output carries the replies.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pickle
import sys
import threading
import time
import traceback
from queue import SimpleQueue
from typing import Any, BinaryIO

READY = b"\0gradcheck worker\n"
_FAREWELL = 2.0  # seconds that a piece may go on after the parent has gone


def main(stack_path: str) -> None:
    """Performs pieces, one request a line, and writes one reply for each: eight bytes of length, then the pickle.

    Args:
        stack_path: the file that gets the Python stack when the process crashes or a piece takes too long.
    """
    requests, replies = _claim_streams()
    with open(stack_path, "ab", buffering=0) as stack:  # noqa: PTH123 - appended to by faulthandler, emptied by the parent
        faulthandler.enable(stack, all_threads=False)
        incoming: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=_hand_over, args=(requests, incoming), daemon=True).start()
        replies.write(READY)
        replies.flush()
        while (line := incoming.get()) is not None:
            request = json.loads(line)
            if request["timeout"] is not None:
                faulthandler.dump_traceback_later(request["timeout"], exit=True, file=stack)
            reply = perform(request["call"], request["arguments"])
            faulthandler.cancel_dump_traceback_later()
            _flush()
            data = pickle.dumps(reply)
            replies.write(len(data).to_bytes(8, "little") + data)
            replies.flush()


def perform(call: str, arguments: list[Any]) -> tuple[object, ...]:
    """Calls a function by name.

    Args:
        call: "module:function".
        arguments: its positional arguments.

    Returns:
        ("done", the pickled result), or ("raised", the pickled exception or None, its class and text, the traceback).
    """
    try:
        module, _, name = call.partition(":")
        return "done", pickle.dumps(getattr(importlib.import_module(module), name)(*arguments))
    except BaseException as error:  # SystemExit too: it ends the piece, not the worker
        text = f"{type(error).__name__}: {error}"
        return "raised", _pickled(error), text, traceback.format_exc()


def _claim_streams() -> tuple[BinaryIO, BinaryIO]:
    """Moves the two pipes to descriptors that nobody knows, so that a piece may read and print as it likes."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(line_buffering=True)  # what was printed before a crash is worth having
    return requests, replies


def _hand_over(requests: BinaryIO, incoming: SimpleQueue[bytes | None]) -> None:
    """Reads requests in a thread, to see at any time that the parent has gone; a piece that hangs then ends too."""
    for line in requests:
        incoming.put(line)
    incoming.put(None)
    time.sleep(_FAREWELL)
    os._exit(1)


def _pickled(error: BaseException) -> bytes | None:
    if not isinstance(error, Exception):
        return None  # raised again in the parent, a SystemExit would end that
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return None
    return data


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # the piece closed or replaced it
            continue
