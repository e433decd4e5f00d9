"""Pieces that a worker is asked to perform: some end well, the others each in their own way."""

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
from pathlib import Path

from gradcheck import UsageError


def add(a, b):
    return a + b


def process_id():
    return os.getpid()


def crash():
    ctypes.string_at(0)


def abort():
    os.abort()


def leave(status):
    os._exit(status)


def exit_politely():
    sys.exit("enough")


def hang():
    while True:
        pass


def hang_unwatched():
    faulthandler.cancel_dump_traceback_later()
    hang()


def fail():
    raise UsageError("planted: a text that travels")


def fail_locally():
    class LocalError(Exception):
        pass

    raise LocalError("planted: of a class that does not travel")


def give_a_function():
    return lambda: None


def touch_at_exit(path):
    atexit.register(Path(path).touch)


def print_much():
    print("much " * 200_000)
    print("the end", file=sys.stderr)
    return sys.stdin.read()


def crash_beside_a_child_of_its_own():
    if os.fork() == 0:
        signal.pause()  # it holds all that its parent held open
    os.abort()
