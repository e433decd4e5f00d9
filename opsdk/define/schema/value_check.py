"""ValueCheck: what only the values of a call can say, asked before any row of the op runs.

Where an infer rule raises, the check is asked too: what it says of a value comes before what the rule met in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.core.errors import InputValueError, ReturnError
from opsdk.core.origin import origin_of
from opsdk.define.schema.binding import called_by_name, check_names, parameters_of
from opsdk.define.schema.schema import OpSchema


class ValueCheck:
    """An author's function, bound by name to inputs and attributes, that says what is wrong with a call.

    Args:
        function: returns None where nothing is wrong, else the rest of the message: "index expected …, got …".
        schema: of the op that is held to it.

    Raises:
        BindingError: the function names no input or attribute.
    """

    # Any: a function of any signature; its parameter names are checked here.
    def __init__(self, function: Callable[..., Any], schema: OpSchema) -> None:
        self.function = function
        self._inputs = schema.input_names
        self._subject = f"op {schema.qualified_name!r}"
        self._call = called_by_name(function)
        known = (*schema.input_names, *schema.attr_names)
        names = parameters_of(function)
        check_names(function, names, known, f"{self._subject}, check")
        self.reads_attributes_only = set(names) <= set(schema.attr_names)

    # Any: attribute values.
    def ask_early(self, attrs: Mapping[str, Any]) -> None:
        """Asks the function before there are values, as where a Program is built, if it reads attributes alone.

        Raises:
            InputValueError, ReturnError: as for a call.
        """
        if self.reads_attributes_only:
            self([None] * len(self._inputs), attrs)

    # Any: one entry per input, an array, a list of arrays or None; attribute values.
    def __call__(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        """Asks the function.

        Raises:
            InputValueError: it says that something is wrong.
            ReturnError: it returned something else than None or a text.
        """
        wrong = self._call({**dict(zip(self._inputs, inputs, strict=True)), **attrs})
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
