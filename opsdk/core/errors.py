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


def name_subject(error: BaseException, subject: str) -> None:
    """Puts a subject before the message of an exception, whose type stays.

    One that makes its text of something else than one argument stays as it is.
    """
    text = f"raised {type(error).__name__}" if error.args in ((), ("",)) else error.args[0]
    if type(error).__str__ is BaseException.__str__ and len(error.args) < 2 and isinstance(text, str):
        error.args = (f"{subject}: {text}",)


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

    def __init_subclass__(cls, *, code: str = "") -> None:
        cls.default_code = code or cls.default_code  # of a class without a code of its own, that of its base

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


class SchemaError(OpsdkError, ValueError, code="OP101"):
    """A schema, or a signature read as one, is not of the schema language."""


class BindingError(OpsdkError, TypeError, code="OP102"):
    """A backward, kernel or infer function names something that the op does not have."""


class DefinitionError(OpsdkError, ValueError, code="OP103"):
    """An op's declarations contradict one another."""


class NameClashError(OpsdkError, ValueError, code="OP110"):
    """A name is taken by another definition."""


class UnknownOpError(OpsdkError, LookupError, code="OP111"):
    """No op of that name is registered."""


class ArityError(OpsdkError, TypeError, code="OP201"):
    """A call or a return has the wrong number of values."""


class DTypeError(OpsdkError, TypeError, code="OP202"):
    """An array has a dtype that was not declared or is not supported."""


class ShapeError(OpsdkError, ValueError, code="OP203"):
    """An array has a shape that was not declared or does not fit."""


class AxisError(ShapeError, IndexError, code="OP238"):
    """An axis lies outside of a value, or is named twice."""


class AttributeValueError(OpsdkError, ValueError, TypeError, code="OP204"):
    """An op's attribute has a wrong type or value."""


class ReturnError(OpsdkError, TypeError, code="OP205"):
    """A callable returned something that is not an array, or nothing."""


class MutationError(OpsdkError, ValueError, code="OP206"):
    """A callable changed an input that its schema does not declare as mutated."""


class AliasError(OpsdkError, ValueError, code="OP207"):
    """A callable returned an input's own buffer without declaring the alias."""


class InputValueError(OpsdkError, ValueError, code="OP208"):
    """An input holds a value that the op does not take, such as an index outside of its array."""


class GradientMissingError(OpsdkError, RuntimeError, code="OP210"):
    """A gradient was asked for and the op has no backward."""


class DerivativeOrderError(OpsdkError, RuntimeError, code="OP211"):
    """A derivative of an opaque backward was asked for."""


class VersionError(OpsdkError, RuntimeError, code="OP212"):
    """A value that a backward needs was changed in place after it was saved."""


class GraphError(OpsdkError, RuntimeError, code="OP213"):
    """The dynamic graph cannot do what was asked: no graph, or already freed."""


class InPlaceError(OpsdkError, ValueError, code="OP214"):
    """A tensor that the graph still needs, or memory that several share, may not be changed in place."""


class HookError(OpsdkError, TypeError, ValueError, code="OP215"):
    """A hook is not callable or returned something that cannot replace a gradient."""


class MixedRuntimeError(OpsdkError, TypeError, code="OP216"):
    """One call mixes values of two runtimes."""


class NotRecordedError(OpsdkError, TypeError, code="OP217"):
    """A NumPy function without an op was called on a value that a graph follows."""


class LayerNameError(NameClashError, AttributeValueError, KeyError, code="OP237"):
    """A layer cannot register something under a name: it is no name, or it is taken."""


class PyLayerError(OpsdkError, ValueError, TypeError, code="OP218"):
    """A PyLayer took, or returned, something else than its forward and backward may."""


class AnomalyError(OpsdkError, RuntimeError, ArithmeticError, code="OP219"):
    """A backward gave nan, in anomaly mode."""


class KernelNotFoundError(OpsdkError, LookupError, TypeError, code="OP220"):
    """No kernel serves the place and dtype of a call."""


class PlaceError(OpsdkError, RuntimeError, code="OP221"):
    """A place has no device here, or the values of one call live at different places."""


class LaunchError(OpsdkError, ValueError, code="OP222"):
    """A CUDA kernel asks for a launch that no device takes."""


class KernelStatusError(OpsdkError, RuntimeError, code="OP223"):
    """A C function returned a status other than 0."""


class ForkError(OpsdkError, RuntimeError, code="OP224"):
    """A kernel cannot run in a process that was forked."""


class SizeError(OpsdkError, ValueError, code="OP225"):
    """What decides the open sizes of a kernel gave none, or the kernel filled others."""


class UnusedInputError(GraphError, ValueError, code="OP226"):
    """A gradient was asked for with respect to a tensor that the outputs were not computed from."""


class ProgramError(OpsdkError, ValueError, code="OP230"):
    """A Program, Block, Operator or Variable was asked to hold something inconsistent."""


class VariableNotFoundError(OpsdkError, LookupError, ValueError, code="OP231"):
    """A Block, Program or Scope has no variable of that name."""


class FeedError(OpsdkError, ValueError, KeyError, code="OP232"):
    """A feed is missing, unknown, or of the wrong dtype or shape."""


class FetchError(OpsdkError, LookupError, ValueError, code="OP233"):
    """A fetch names nothing in the Program."""


class NotInitializedError(OpsdkError, RuntimeError, code="OP234"):
    """A persistable variable is read before the startup program gave it a value."""


class StateDictError(OpsdkError, RuntimeError, KeyError, code="OP235"):
    """A state dictionary does not have the keys that are expected of it."""


class ScheduleError(OpsdkError, RuntimeError, ValueError, code="OP236"):
    """A learning rate that a schedule gives was set by hand, or a schedule was taken beyond its end."""


class WorkerError(OpsdkError, RuntimeError, code="OP240"):
    """A worker process of a DataLoader ended, or gave no batch in time."""


class GradcheckError(OpsdkError, AssertionError, code="OP301"):
    """A proof of an op failed."""


class TraceError(OpsdkError, TypeError, code="OP120"):
    """A function cannot be read as a scalar expression."""


class CompileError(OpsdkError, RuntimeError, code="OP401"):
    """A kernel did not compile."""


class MissingDependencyError(OpsdkError, ImportError, code="OP501"):
    """An optional package is needed and not installed."""


class TargetError(OpsdkError, LookupError, code="OP510"):
    """A command's TARGET, or another argument of it, names nothing that is there."""


class SavedFileError(OpsdkError, ValueError, code="OP520"):
    """A file that was to be loaded is damaged, cut off, of a newer version, or holds what is not loaded."""


class FileMissingError(OpsdkError, FileNotFoundError, ValueError, code="OP521"):
    """There is no file where one was to be loaded from."""


class FileWriteError(OpsdkError, OSError, ValueError, code="OP522"):
    """A file cannot be written."""
