"""Tracing: a scalar Python function, called once with symbols, read as expressions."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dis import opname
from typing import Any, TypeVar

from opsdk.core.errors import AttributeValueError, DefinitionError, OpsdkError, TraceError
from opsdk.core.origin import shorten
from opsdk.define.identity.digest import is_ours
from opsdk.define.identity.referents import unread
from opsdk.define.identity.sameness import Reads, changed
from opsdk.expr.node import BOOL, Node, literal, topological
from opsdk.expr.simplify import simplify
from opsdk.expr.symbol import Written, as_node


@dataclass(frozen=True)
class Expression:
    """A scalar function as data.

    Args:
        inputs: names of its inputs, in order.
        attrs: names of its attributes.
        outputs: one node per result; None for a result that nobody wants.
        written: of what a user wrote, the results as they are written, which whole numbers are computed by; numbers in
            `outputs` are those of the dtype that floats are computed in.
    """

    inputs: tuple[str, ...]
    attrs: tuple[str, ...]
    outputs: tuple[Node | None, ...]
    written: tuple[Node, ...] = ()

    @property
    def wanted(self) -> tuple[Node, ...]:
        """The results that are wanted."""
        return tuple(node for node in self.outputs if node is not None)

    @property
    def text(self) -> str:
        """What is computed, a line for each node: the same for two expressions only if they are the same."""
        order = topological([*self.wanted, *self.written])
        place = {node: number for number, node in enumerate(order)}
        lines = [f"{node.op} {[place[arg] for arg in node.args]} {node.payload!r}" for node in order]
        results = [None if node is None else place[node] for node in (*self.outputs, *self.written)]
        return "\n".join([*lines, str(results)])


# Any: a user's function of any signature, and whatever it returns.
def trace(
    function: Callable[..., Any], inputs: Sequence[str], attrs: Sequence[str], subject: str, outputs: int = 1
) -> Expression:
    """Returns what a scalar function computes.

    Args:
        function: takes one scalar per input by position and attributes by keyword.
        inputs: their names.
        attrs: the names of the attributes.
        subject: who asks, for messages.
        outputs: how many results it must return.

    Raises:
        TraceError: the function tests, converts or indexes a symbol, or returns something that is no expression.
        AttributeValueError: it reads more of a list among the attributes than there is.
    """
    symbols = [Written(Node("input", (), name)) for name in inputs]
    named = {name: Written(Node("attr", (), name)) for name in attrs}
    try:
        returned = function(*symbols, **named)
    except TraceError as error:
        raise located(error, function, subject) from None
    except (IndexError, ValueError) as error:
        _check_lists(error, function, subject)
        raise
    values = returned if isinstance(returned, tuple) else (returned,)
    if len(values) != outputs:
        raise TraceError(f"{subject}: expected {outputs} expression{'s' if outputs > 1 else ''}, got {len(values)}")
    nodes = [as_node(value, subject, literal) for value in values]
    for node in nodes:
        if node.kind == BOOL:
            raise TraceError(
                f"{subject}: expected a number, got the condition {node!r}; write vmath.where(it, 1.0, 0.0)"
            )
    return Expression(tuple(inputs), tuple(attrs), tuple(simplify(nodes)), tuple(nodes))


# Any: a user's function of any signature.
def check_read(function: Callable[..., Any], options: Mapping[str, str], subject: str) -> None:
    """Checks that a function reads the attributes that users mean for opsdk: what it leaves as it is, nobody reads.

    Other attributes it may leave to a kernel or to a backward.

    Args:
        function: one that no decorator stands in front of; of others nothing is known.
        options: by name of an attribute that means something elsewhere what to write there.
        subject: the op, for the message.

    Raises:
        DefinitionError: it leaves one of them as it is.
    """
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return
    for name in unread(code):
        if name in options:
            raise DefinitionError(
                f"{subject}: attribute {name!r} expected to be read by the function, it is not, so that no value of it "
                f"would change anything; {options[name]}"
            )


# Any: a user's function of any signature.
def as_defined(function: Callable[..., Any], subject: str) -> Callable[..., Any]:
    """Returns a function that is the one given for as long as all that it reads from outside is what it is now.

    An op is read again for attributes that it was not called with before, and is still what it was defined as.

    Raises:
        DefinitionError: when it is called, something is another value by then.
    """
    known = None if is_ours(function) else Reads(function)

    def read(*symbols: Any, **attrs: Any) -> Any:
        others = [] if known is None else changed(function, known)
        if others:
            raise DefinitionError(
                f"{subject}: expected {others[0]!r} to be what it was when the op was defined, it was changed since; "
                "define the op again before it is called with attributes that are new to it"
            )
        made = function(*symbols, **attrs)
        if known is not None and changed(function, known):  # by itself: it remembers something
            known.renew(function)
        return made

    return functools.wraps(function)(read)


S = TypeVar("S")


def as_first(make: Callable[[S], Expression], subject: str) -> Callable[[S], Expression]:
    """Returns a function that makes expressions, for as long as it makes of what came first what it made then.

    Whatever Python code reads, and whatever reading it has overlooked: what changes the expression is seen in it.

    Raises:
        DefinitionError: when it is called, the first expression has become another.
    """
    first: list[tuple[S, str]] = []

    def made(kind: S) -> Expression:
        expression = make(kind)
        if not first:
            first.append((kind, expression.text))
        was, text = first[0]
        if (expression if kind == was else make(was)).text != text:
            raise DefinitionError(
                f"{subject}: expected its function to compute what it computed when it was first read, it computes "
                "something else since; define the op again before it is called with attributes that are new to it"
            )
        return expression

    return made


# Any: a user's function of any signature.
def _check_lists(error: Exception, function: Callable[..., Any], subject: str) -> None:
    """Checks that what a function raised is not about a list among its attributes of another length than it reads.

    Raises:
        AttributeValueError: it is, in the user's own line.
    """
    given = getattr(function, "keywords", {})  # what fixed attributes are bound as
    lists = ", ".join(f"{name}={list(value)!r}" for name, value in given.items() if isinstance(value, tuple))
    if lists and (isinstance(error, IndexError) or _unpacks(error)):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise AttributeValueError(
            f"{subject}: attributes expected lists as long as the function reads them, got {lists} ({error}); pass "
            "lists of that length, or say what is expected with @op.check",
            at=f"{shorten(frame.filename)}:{frame.lineno} | {frame.line}",
        ) from error


def _unpacks(error: Exception) -> bool:
    """Whether Python raised an exception where a line unpacks a value, as in `top, left = pads`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]].startswith("UNPACK_")


def located(error: OpsdkError, function: Callable[..., Any], subject: str) -> TraceError:
    """Returns the error with the user's own line in front of it."""
    inner = getattr(function, "func", function)  # what fixed attributes are bound to
    file = getattr(getattr(getattr(inner, "__wrapped__", inner), "__code__", None), "co_filename", None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if not frames:
        return TraceError(f"{subject}: {error}")
    frame = frames[-1]
    text = str(error).partition(": ")[2]
    return TraceError(
        f"{subject}, line {frame.lineno}: {text}",
        at=f"{shorten(frame.filename)}:{frame.lineno} | {frame.line}",
        help="attributes are symbols too; control flow belongs into a kernel: @op.kernel('cpu', language='numba')",
    )
