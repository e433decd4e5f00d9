"""Lists of arrays as Numba takes them: of one dtype, one number of dimensions and one layout.

To a compiler arrays of two layouts are two types, and so are a read-only array and one that can be written to. A list
holds values of one type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import promote_types
from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.origin import Origin
from opsdk.define.opdef import OpDef

# Any, in this file: one entry per input, an array, a list of arrays or None.
Values = Sequence[Any]


class Lists:
    """What the lists of an op become for a kernel in Numba, and what they get back from it.

    Args:
        opdef: an op with an input that is a list.
        origin: where the kernel is.
    """

    def __init__(self, opdef: OpDef, origin: Origin) -> None:
        self._opdef = opdef
        self._origin = str(origin)
        kinds = [decl.kind for decl in opdef.schema.inputs]
        self._positions = [i for i, kind in enumerate(kinds) if kind == "list"]
        self._changed = [i for i in self._positions if i in opdef.schema.mutated_inputs]

    def taken(self, values: Values) -> tuple[Any, ...]:
        """Returns the inputs with every list of one type: arrays that lie otherwise are copied, once.

        Floating dtypes of one kind become the widest of them. An empty list, which has no type, is an array that holds
        no arrays.

        Raises:
            DTypeError: a list has dtypes of other kinds, or of several, or one that is changed in place has several.
            ShapeError: a list has tensors of several numbers of dimensions.
        """
        made = list(values)
        for i in self._positions:
            made[i] = self._of_one_type(i, values[i]) if values[i] else self._nothing(values)
        return tuple(made)

    def give_back(self, values: Values, taken: Values) -> None:
        """Copies what a kernel changed in copies to the arrays that they are of."""
        for i in self._changed:
            for array, copy in zip(values[i], taken[i], strict=True):
                if copy is not array:
                    array[...] = copy

    def _of_one_type(self, position: int, arrays: list[Any]) -> list[Any]:
        kinds = {_type(array) for array in arrays}
        if len(kinds) < 2:
            return arrays
        dtype = self._dtype(position, arrays)
        if len({array.ndim for array in arrays}) > 1:
            raise ShapeError(
                f"{self._opdef.subject}, numba kernel: expected the tensors of list {self._name(position)!r} to have "
                f"one number of dimensions, got {self._shown(position, arrays, 'shape')}; reshape them",
                at=self._origin,
            )
        plain = (dtype, arrays[0].ndim, *_PLAIN)
        return [array if _type(array) == plain else np.array(array, dtype, order="C") for array in arrays]

    def _dtype(self, position: int, arrays: list[Any]) -> np.dtype[Any]:
        dtypes = {array.dtype for array in arrays}
        if len(dtypes) == 1:
            return dtypes.pop()
        if position not in self._changed and {dtype.kind for dtype in dtypes} in ({"f"}, {"c"}):
            return promote_types(*dtypes)
        raise DTypeError(
            f"{self._opdef.subject}, numba kernel: expected the tensors of list {self._name(position)!r} to have one "
            "dtype"
            f"{', since it is changed in place' if position in self._changed else ''}, got "
            f"{self._shown(position, arrays, 'dtype')}; cast them",
            at=self._origin,
        )

    def _nothing(self, values: Values) -> np.ndarray:
        deciding = self._opdef.schema.deciding(values)
        dtype, ndim = (np.float64, 1) if deciding is None else (deciding.dtype, deciding.ndim)
        return np.empty((0,) * (1 + ndim), dtype)

    def _name(self, position: int) -> str:
        return self._opdef.schema.input_names[position]

    def _shown(self, position: int, arrays: list[Any], what: str) -> str:
        """Returns the first tensor of each kind, by name."""
        first: dict[Any, int] = {}
        for i, array in enumerate(arrays):
            first.setdefault(array.ndim if what == "shape" else array.dtype, i)
        return ", ".join(f"{self._name(position)}[{i}] {getattr(arrays[i], what)}" for i in first.values())


_PLAIN = (True, False, True, True)


def _type(array: Any) -> tuple[Any, ...]:
    """Returns what Numba's type of an array follows from."""
    flags = array.flags
    is_c = flags.c_contiguous
    return array.dtype, array.ndim, is_c, not is_c and flags.f_contiguous, flags.aligned, flags.writeable
