"""Error classes, each also the builtin that a caller would expect.

The first line of every message is complete in itself: *subject: expected, got, where; remedy*. Facts that help but
that a log can lose follow as notes, under fixed labels in a fixed order.
"""

from __future__ import annotations

from typing import Any

NOTE_LABELS = ("at", "defined", "because", "help", "code")


def attach_note(error: BaseException, note: str) -> None:
    """Appends `note` to an exception's notes; on Python 3.10 the list is kept though tracebacks do not print it."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]


def noted(error: BaseException, label: str) -> str:
    """Returns what an exception's notes say under one of the fixed labels; nothing where they do not."""
    start = f"  {label:<8} "
    return next((note.removeprefix(start) for note in getattr(error, "__notes__", ()) if note.startswith(start)), "")


class OpsdkError(Exception):
    """Base of all errors that opsdk raises about its own rules.

    Args:
        message: the sentence that stands alone.
        code: the stable code of the kind of error (`OP1xx` define, `OP2xx` dispatch and run, `OP3xx` check,
            `OP4xx` build, `OP5xx` packages and files).
        details: values for machines (any: they are reported, never computed with).
        facts: text for the labels `at`, `defined`, `because`, `help`; each becomes one note.
    """

    default_code = "OP000"

    # Any: `details` carries whatever values the message speaks of.
    def __init__(
        self, message: str, *, code: str | None = None, details: dict[str, Any] | None = None, **facts: str
    ) -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.details = details or {}
        facts["code"] = self.code
        for label in NOTE_LABELS:
            if facts.get(label):
                attach_note(self, f"  {label:<8} {facts[label]}")

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # KeyError would print the repr


class SchemaError(OpsdkError, ValueError):
    """A schema, or a signature read as one, is not of the schema language."""

    default_code = "OP101"


class BindingError(OpsdkError, TypeError):
    """A backward, kernel or infer function names something that the op does not have."""

    default_code = "OP102"


class DefinitionError(OpsdkError, ValueError):
    """An op's declarations contradict one another."""

    default_code = "OP103"


class NameClashError(OpsdkError, ValueError):
    """A name is taken by another definition."""

    default_code = "OP110"


class UnknownOpError(OpsdkError, LookupError):
    """No op of that name is registered."""

    default_code = "OP111"


class ArityError(OpsdkError, TypeError):
    """A call or a return has the wrong number of values."""

    default_code = "OP201"


class DTypeError(OpsdkError, TypeError):
    """An array has a dtype that was not declared or is not supported."""

    default_code = "OP202"


class ShapeError(OpsdkError, ValueError):
    """An array has a shape that was not declared or does not fit."""

    default_code = "OP203"


class AttributeValueError(OpsdkError, ValueError, TypeError):
    """An op's attribute has a wrong type or value."""

    default_code = "OP204"


class ReturnError(OpsdkError, TypeError):
    """A callable returned something that is not an array, or nothing."""

    default_code = "OP205"


class MutationError(OpsdkError, ValueError):
    """A callable changed an input that its schema does not declare as mutated."""

    default_code = "OP206"


class AliasError(OpsdkError, ValueError):
    """A callable returned an input's own buffer without declaring the alias."""

    default_code = "OP207"


class InputValueError(OpsdkError, ValueError):
    """An input holds a value that the op does not take, such as an index outside of its array."""

    default_code = "OP208"


class GradientMissingError(OpsdkError, RuntimeError):
    """A gradient was asked for and the op has no backward."""

    default_code = "OP210"


class DerivativeOrderError(OpsdkError, RuntimeError):
    """A derivative of an opaque backward was asked for."""

    default_code = "OP211"


class VersionError(OpsdkError, RuntimeError):
    """A value that a backward needs was changed in place after it was saved."""

    default_code = "OP212"


class GraphError(OpsdkError, RuntimeError):
    """The dynamic graph cannot do what was asked: no graph, or already freed."""

    default_code = "OP213"


class InPlaceError(OpsdkError, ValueError):
    """A tensor that the graph still needs, or memory that several share, may not be changed in place."""

    default_code = "OP214"


class HookError(OpsdkError, TypeError, ValueError):
    """A hook is not callable or returned something that cannot replace a gradient."""

    default_code = "OP215"


class MixedRuntimeError(OpsdkError, TypeError):
    """One call mixes values of two runtimes."""

    default_code = "OP216"


class NotRecordedError(OpsdkError, TypeError):
    """A NumPy function without an op was called on a value that a graph follows."""

    default_code = "OP217"


class KernelNotFoundError(OpsdkError, LookupError, TypeError):
    """No kernel row serves the place and dtype of a call."""

    default_code = "OP220"


class PlaceError(OpsdkError, RuntimeError):
    """A place has no device here, or the values of one call live at different places."""

    default_code = "OP221"


class LaunchError(OpsdkError, ValueError):
    """A CUDA row asks for a launch that no device takes."""

    default_code = "OP222"


class KernelStatusError(OpsdkError, RuntimeError):
    """A C function returned a status other than 0."""

    default_code = "OP223"


class ForkError(OpsdkError, RuntimeError):
    """A kernel cannot run in a process that was forked."""

    default_code = "OP224"


class ProgramError(OpsdkError, ValueError):
    """A Program, Block, Operator or Variable was asked to hold something inconsistent."""

    default_code = "OP230"


class VariableNotFoundError(OpsdkError, LookupError, ValueError):
    """A Block, Program or Scope has no variable of that name."""

    default_code = "OP231"


class FeedError(OpsdkError, ValueError, KeyError):
    """A feed is missing, unknown, or of the wrong dtype or shape."""

    default_code = "OP232"


class FetchError(OpsdkError, LookupError, ValueError):
    """A fetch names nothing in the Program."""

    default_code = "OP233"


class NotInitializedError(OpsdkError, RuntimeError):
    """A persistable variable is read before the startup program gave it a value."""

    default_code = "OP234"


class StateDictError(OpsdkError, RuntimeError, KeyError):
    """A state dictionary does not have the keys that are expected of it."""

    default_code = "OP235"


class GradcheckError(OpsdkError, AssertionError):
    """A proof of an op failed."""

    default_code = "OP301"


class TraceError(OpsdkError, TypeError):
    """A function cannot be read as a scalar expression."""

    default_code = "OP120"


class CompileError(OpsdkError, RuntimeError):
    """A kernel row did not compile."""

    default_code = "OP401"


class MissingDependencyError(OpsdkError, ImportError):
    """An optional package is needed and not installed."""

    default_code = "OP501"


class TargetError(OpsdkError, LookupError):
    """A command's TARGET, or another argument of it, names nothing that is there."""

    default_code = "OP510"
