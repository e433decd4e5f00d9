"""Binding by name: which inputs, outputs, cotangents and attributes a user's function asks for.

One such function is an op's check: what only the values of a call can say, asked before any kernel of the op runs.
Where an infer rule raises, the check is asked too: what it says of a value comes before what the rule met in it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from types import FunctionType
from typing import Any

from opsdk.core.errors import BindingError, InputValueError, OpsdkError, ReturnError, attach_note, name_subject
from opsdk.core.origin import origin_of
from opsdk.core.suggest import alternatives
from opsdk.define.schema.schema import OpSchema


# Any, in this file: callables of any signature, and the values of a call.
def read_parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], ...]:
    """Returns the parameter names of a callable by how they are passed: by position, `*xs`, by keyword, `**options`.

    Raises:
        BindingError: the callable has no readable signature.
    """
    target = getattr(function, "py_func", function)  # a compiled Numba dispatcher keeps the Python function here
    if type(target) is FunctionType and not target.__dict__:  # no decorator stands in front: thirty times faster
        code = target.__code__
        count, end = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames
        starred = end + bool(code.co_flags & inspect.CO_VARARGS)
        return (
            names[:count],
            names[end:starred],
            names[count:end],
            names[starred : starred + bool(code.co_flags & inspect.CO_VARKEYWORDS)],
        )
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError) as error:
        raise BindingError(f"{function!r}: expected a readable signature, since arguments bind by name") from error

    def of_kinds(*kinds: object) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in parameters if parameter.kind in kinds)

    return (
        of_kinds(inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD),
        of_kinds(inspect.Parameter.VAR_POSITIONAL),
        of_kinds(inspect.Parameter.KEYWORD_ONLY),
        of_kinds(inspect.Parameter.VAR_KEYWORD),
    )


def parameters_among(function: Callable[..., Any], known: Sequence[str], role: str) -> tuple[str, ...]:
    """Returns the parameter names of a function that asks only for names that exist, in order.

    Raises:
        BindingError: a parameter names nothing; the message lists what could have been meant. Or the callable has no
            readable signature, or takes `**kwargs`, which name nothing.
    """
    by_position, variadic, by_keyword, gathering = read_parameters(function)
    if gathering:
        raise BindingError(f"{name_of(function)}: expected named parameters, got '**{gathering[0]}'")
    names = (*by_position, *variadic, *by_keyword)
    for name in names:
        if name not in known:
            raise BindingError(
                f"{role} {name_of(function)}({', '.join(names)}): nothing is called {name!r}; "
                f"there are {alternatives(name, known)}",
                details={"parameter": name, "known": tuple(known)},
            )
    return names


def name_of(function: Callable[..., Any]) -> str:
    """Returns what messages call a callable; one without a name of its own goes by its class."""
    return getattr(function, "__name__", type(function).__name__)


def reorder(function: Callable[..., Any], tensors: Sequence[str]) -> Callable[..., Any]:
    """Returns a callable that takes tensors by position in the order of `tensors` and attributes by keyword.

    The function itself is returned when its own parameters already stand so, which is the usual case.
    """
    by_position, variadic, *_ = read_parameters(function)
    count = len(tensors)
    if not variadic and by_position[:count] == tuple(tensors) and not _is_positional_only(function, count):
        return function
    call = called_by_name(function)

    def by_name(*values: Any, **attrs: Any) -> Any:
        return call({**dict(zip(tensors, values, strict=True)), **attrs})

    return by_name


def called_by_name(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Returns a callable that takes all values by name, and gives the function those that it names."""
    by_position, variadic, by_keyword, _ = read_parameters(function)

    def call(bound: Mapping[str, Any]) -> Any:
        leading = list(takewhile(bound.__contains__, by_position))  # an attribute that was not given ends them
        named = [name for name in (*by_position[len(leading) :], *by_keyword) if name in bound]
        spread = [item for name in variadic for item in bound[name]]
        return function(*[bound[name] for name in leading], *spread, **{name: bound[name] for name in named})

    return call


def _is_positional_only(function: Callable[..., Any], after: int) -> bool:
    """Whether a parameter after the first `after`, an attribute therefore, cannot be passed by keyword."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    return code is not None and code.co_posonlyargcount > after


class ValueCheck:
    """An author's function, bound by name to inputs and attributes, that says what is wrong with a call.

    Args:
        function: returns None where nothing is wrong, else the rest of the message: "index expected …, got …".
        schema: of the op that is held to it.

    Raises:
        BindingError: the function names no input or attribute.
    """

    def __init__(self, function: Callable[..., Any], schema: OpSchema) -> None:
        self.function = function
        self._inputs = schema.input_names
        self._subject = schema.subject
        self._call = called_by_name(function)
        names = parameters_among(function, (*schema.input_names, *schema.attr_names), f"{self._subject}, check")
        self.reads_attributes_only = set(names) <= set(schema.attr_names)

    def ask_early(self, attrs: Mapping[str, Any]) -> None:
        """Asks the function before there are values, as where a Program is built, if it reads attributes alone.

        Raises:
            InputValueError, ReturnError: as for a call.
        """
        if self.reads_attributes_only:
            self([None] * len(self._inputs), attrs)

    def __call__(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Asks the function.

        Raises:
            InputValueError: it says that something is wrong.
            ReturnError: it returned something else than None or a text; or what it raises itself, behind the op's name.
        """
        try:
            wrong = self._call({**dict(zip(self._inputs, inputs, strict=True)), **attrs})
        except Exception as error:
            if not isinstance(error, OpsdkError):
                attach_note(error, f"  raised in {self._subject}, check at {origin_of(self.function)}")
                name_subject(error, f"{self._subject}, check")
            raise
        if wrong is None:
            return
        at = str(origin_of(self.function))
        if not isinstance(wrong, str):
            raise ReturnError(
                f"{self._subject}, check: expected None, or a text that says what is wrong, "
                f"got {type(wrong).__name__}; return f'index expected ..., got {{...}}'",
                at=at,
            )
        raise InputValueError(f"{self._subject}: {wrong}", at=at)
