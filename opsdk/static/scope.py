"""Scope: the values of persistable variables, by name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.errors import ProgramError, ShapeError
from opsdk.core.place import Place


class ScopeTensor:
    """The value of one variable; `np.array(t)` copies it out, `set` copies one in."""

    def __init__(self, scope: Scope, name: str) -> None:
        self._scope = scope
        self._name = name

    def set(self, array: Any, place: Place | None = None) -> None:
        """Copies an array (any that NumPy can read) in; a value of another shape is refused.

        Args:
            array: the elements; they take the dtype of the value that is there already.
            place: accepted for programs written for Paddle; host memory is all there is.

        Raises:
            ShapeError: the variable has a value of another shape.
            DTypeError: the elements are not numbers.
        """
        value = np.array(array)
        as_dtype(value.dtype, f"scope variable {self._name!r}")
        held = self._scope.values.get(self._name)
        if held is not None and held.shape != value.shape:
            raise ShapeError(f"scope variable {self._name!r}: expected shape {held.shape}, got {value.shape}")
        self._scope.values[self._name] = value if held is None else value.astype(held.dtype)

    def shape(self) -> list[int]:
        """Returns the sizes."""
        return list(np.asarray(self).shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        value = self._scope.values.get(self._name)
        if value is None:
            raise ProgramError(f"scope variable {self._name!r}: expected a value, it has none yet")
        return value.astype(dtype) if dtype is not None else value.copy()


class ScopeVariable:
    """One variable of a Scope."""

    def __init__(self, scope: Scope, name: str) -> None:
        self.name = name
        self._scope = scope

    def get_tensor(self) -> ScopeTensor:
        """Returns the value, as something to read and set."""
        return ScopeTensor(self._scope, self.name)


class Scope:
    """Values by name. A child sees its parent's, and keeps its own apart."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.values: dict[str, np.ndarray] = {}
        self._declared: set[str] = set()
        self._parent = parent
        self._kids: list[Scope] = []

    def find_var(self, name: str) -> ScopeVariable | None:
        """Returns a variable that exists here or in a parent, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values or name in scope._declared:
                return ScopeVariable(scope, name)
            scope = scope._parent
        return None

    def lookup(self, name: str) -> np.ndarray | None:
        """Returns the array of a name, here or in a parent, or None."""
        value = self.values.get(name)
        return self._parent.lookup(name) if value is None and self._parent is not None else value

    def home(self, name: str) -> dict[str, np.ndarray]:
        """Returns the table that holds a name already, or this Scope's own."""
        if name in self.values or self._parent is None or self._parent.lookup(name) is None:
            return self.values
        return self._parent.home(name)

    def var(self, name: str) -> ScopeVariable:
        """Returns the variable of a name, made here if it is new."""
        found = self.find_var(name)
        if found is None:
            self._declared.add(name)
            found = ScopeVariable(self, name)
        return found

    def erase(self, names: list[str]) -> None:
        """Forgets variables."""
        for name in names:
            self.values.pop(name, None)
            self._declared.discard(name)

    def local_var_names(self) -> list[str]:
        """Returns the names held here."""
        return sorted({*self.values, *self._declared})

    def new_scope(self) -> Scope:
        """Returns a child."""
        kid = Scope(self)
        self._kids.append(kid)
        return kid

    def drop_kids(self) -> None:
        """Forgets the children."""
        self._kids.clear()


_GLOBAL = Scope()
_local = threading.local()


def global_scope() -> Scope:
    """Returns the Scope that Executors use unless told otherwise."""
    stack = getattr(_local, "stack", None)
    return stack[-1] if stack else _GLOBAL


@contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Makes a Scope the global one inside a `with` block.

    Raises:
        ProgramError: the argument is not a Scope.
    """
    if not isinstance(scope, Scope):
        raise ProgramError(f"scope_guard: expected a Scope, got {type(scope).__name__}")
    if not hasattr(_local, "stack"):
        _local.stack = []
    _local.stack.append(scope)
    try:
        yield
    finally:
        _local.stack.pop()
