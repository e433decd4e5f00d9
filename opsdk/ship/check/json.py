"""The report of `opsdk check` as JSON, and back: what was written can be rendered anew, on another machine too."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from opsdk.core.errors import TargetError
from opsdk.ship.check.result import Checked, Run
from opsdk.verify.report import VerifyReport, to_dict

SCHEMA = 1
_WORDS = ("nan", "inf", "-inf")


def render(run: Run, text: str) -> str:
    """Returns the document.

    Args:
        run: what was found.
        text: the report as it was printed, for who shows it as it is.
    """
    document = {
        "schema": SCHEMA,
        "opsdk": run.version,
        "machine": run.machine,
        "environment": run.environment,
        "facts": run.facts,
        "seed": run.seed,
        "seconds": run.seconds,
        "targets": run.targets,
        "reports": [
            {**to_dict(one.report), "languages": one.languages, "origin": one.origin, "target": one.target}
            for one in run.checked
        ],
        "rendered": text,
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def read(path: str) -> Run:
    """Returns the run that a file tells of.

    Raises:
        TargetError: there is no such file, or it is no report that `opsdk check --json` wrote.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{_refused(path)}, got: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # no JSON, or no text
        raise TargetError(f"{_refused(path)}, got no JSON: {error}") from error
    number = document.get("schema") if isinstance(document, dict) else None
    if number != SCHEMA:
        got = "no report" if number is None else f"schema {number!r}"
        raise TargetError(f"{_refused(path)}, schema {SCHEMA}, got {got}; write it again with this version")
    try:
        return _run_of(document)
    except (KeyError, TypeError, ValueError) as error:
        raise changed(path, error) from error


def changed(path: str, error: Exception) -> TargetError:
    """Returns the error about a report that nobody wrote so."""
    what = f"nothing under {error}" if isinstance(error, KeyError) else str(error)
    return TargetError(f"{_refused(path)}, got one that was changed: {what}; write it again")


def _refused(path: str) -> str:
    return f"{path}: expected a report of opsdk check --json"


def _run_of(document: Mapping[str, Any]) -> Run:
    checked = tuple(
        Checked(
            _revived(VerifyReport, report),
            _revived(tuple[str, ...], report["languages"]),
            _revived(str, report["origin"]),
            _revived(str, report["target"]),
        )
        for report in document["reports"]
    )
    for one in checked:
        if bool(one.findings) != (one.verdict == "fail"):
            raise ValueError(f"{one.report.op} with verdict {one.verdict!r} and {len(one.findings)} findings")
    names = {"opsdk": "version", "machine": "machine", "environment": "environment", "facts": "facts"}
    texts = {field: _revived(str, document[key]) for key, field in names.items()}
    return Run(
        checked,
        _revived(tuple[str, ...], document["targets"]),
        _revived(int, document["seed"]),
        _revived(float, document["seconds"]),
        **texts,
    )


# Any: a type as it is annotated, and a value of JSON.
def _revived(hint: Any, value: Any) -> Any:
    """Returns a value of JSON as one of a type; numbers that JSON does not have were written as texts."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _revived(next(a for a in arguments if a is not types.NoneType), value)
    if origin is tuple and isinstance(value, list):
        kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else arguments
        return tuple(_revived(kind, item) for kind, item in zip(kinds, value, strict=True))
    if origin is typing.Literal and value in arguments:
        return value
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        return hint(**{field.name: _revived(hints[field.name], value[field.name]) for field in fields(hint)})
    if hint is float and not isinstance(value, bool) and (isinstance(value, (int, float)) or value in _WORDS):
        return float(value)
    if hint in (str, int, bool) and type(value) is hint:
        return value
    raise ValueError(f"expected {getattr(hint, '__name__', hint)}, got {value!r:.40}")
