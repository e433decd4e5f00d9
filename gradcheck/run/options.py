"""Values of options as typed, judged before anything runs; argparse, and so pytest, puts the option's name before."""

from __future__ import annotations

import argparse
import threading

from gradcheck.errors import UsageError
from gradcheck.model.budget import Budget
from gradcheck.run.workers import jobs_of


def read_seed(text: str) -> int:
    """Reads an integer >= 0.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected an integer >= 0, got {text!r}; pass any such number")
    return int(text)


def read_budget(text: str) -> float | int:
    """Reads "2000" as forward calls and "2s" as seconds.

    Raises:
        argparse.ArgumentTypeError: it is neither, or too little.
    """
    try:
        budget = float(text[:-1]) if text.endswith("s") else int(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected calls as 2000 or seconds as 2s, got {text!r}") from error
    try:
        Budget.read(budget)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("budget: ")) from error
    return budget


def write_budget(budget: float | int) -> str:
    """Writes a budget as it is typed."""
    return f"{budget!r}s" if isinstance(budget, float) else str(budget)


def read_jobs(text: str) -> int:
    """Reads a number of jobs, or auto.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    try:
        return jobs_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_seconds(text: str) -> float:
    """Reads seconds > 0 that a thread can wait.

    Raises:
        argparse.ArgumentTypeError: it is no such number.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"expected seconds > 0, got {text!r}")
    return seconds
