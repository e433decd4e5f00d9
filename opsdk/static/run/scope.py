"""Scope: the values of persistable variables, by name; those of layers are in their tensors."""

from __future__ import annotations

import gc
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from weakref import WeakSet, WeakValueDictionary

import numpy as np

from opsdk.backends.call.overlap import check_changeable
from opsdk.core.current import Current
from opsdk.core.errors import NameClashError, PlaceError, ProgramError, ShapeError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.place import Place
from opsdk.core.spec import shape_text


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
            DTypeError: the elements are not numbers, or the value's dtype does not hold them.
        """
        subject = f"scope variable {self._name!r}"
        value = as_numbers(array, subject)
        with self._scope.turn:
            held = self._scope.own(self._name)
            if held is not None and held.shape != value.shape:
                raise ShapeError(f"{subject}: expected shape {held.shape}, got {value.shape}")
            fit = value if held is None else fitted(value, held.dtype, subject)
            self._scope.put(self._name, np.array(fit))

    def shape(self) -> list[int]:
        """Returns the sizes."""
        return list(np.asarray(self).shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        value = self._scope.own(self._name)
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


class _Locks:
    """What a Scope and its children share: whose turn it is to write, and the moment in which all of it is written."""

    def __init__(self) -> None:
        self.renew()
        _every.add(self)

    def renew(self) -> None:
        self.turn = threading.RLock()
        self.moment = threading.Lock()


_every: WeakSet[_Locks] = WeakSet()


class Scope:
    """Values by name. A child sees its parent's, and keeps its own apart.

    Values are replaced, never changed in place, and all that a run writes is written in one moment. Several threads may
    run Programs in one Scope: those that write take turns, those that only read see it before or after such a run.

    In the Scope of the process, and its children, the value of a layer's parameter is the layer's own, which a run
    changes in place: such runs take turns, also where they only read. Any other Scope has a copy.
    """

    def __init__(self, parent: Scope | None = None) -> None:
        self._locks: _Locks = _Locks() if parent is None else parent._locks
        self.values: dict[str, np.ndarray] = {}
        self._declared: set[str] = set()
        self._parent = parent
        self._kids: list[Scope] = []
        self._tensors: WeakValueDictionary[str, Any] = (
            WeakValueDictionary()
        )  # Any: layers' tensors, of the other runtime

    def find_var(self, name: str) -> ScopeVariable | None:
        """Returns a variable that exists here or in a parent, or None."""
        if name in self.values or name in self._declared or self.own(name) is not None:
            return ScopeVariable(self, name)
        return None if self._parent is None else self._parent.find_var(name)

    def lookup(self, name: str) -> np.ndarray | None:
        """Returns the array of a name, here or in a parent, or None."""
        value = self.own(name)
        return self._parent.lookup(name) if value is None and self._parent is not None else value

    def own(self, name: str) -> np.ndarray | None:
        """Returns the array of a name that is here, in a layer or apart, or None."""
        tensor = self._tensors.get(name) if self is _PROCESS else None
        if tensor is None:
            return self.values.get(name)
        if not isinstance(tensor._array, np.ndarray):
            raise PlaceError(
                f"parameter {name!r}: expected host memory, where Programs run, got {tensor.place}; use layer.cpu()"
            )
        return tensor._array

    def put(self, name: str, value: np.ndarray) -> None:
        """Writes a value here, into the layer that has it or apart."""
        deque(map(partial.__call__, self._writing({name: value})), maxlen=0)

    def home(self, name: str) -> Scope:
        """Returns the Scope that holds a name already, or this one."""
        if self.own(name) is not None or self._parent is None or self._parent.lookup(name) is None:
            return self
        return self._parent.home(name)

    # Any: tensors of layers.
    def take_in(self, tensors: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Knows tensors of layers by their names from now on; returns copies of those that have no value here yet.

        In the Scope of the process they are the values themselves, so there are no copies.

        Raises:
            NameClashError: another layer's tensor of that name is in use here.
        """
        top = self
        while top._parent is not None:
            top = top._parent
        for name, tensor in tensors.items():
            if top._tensors.get(name, tensor) is not tensor:
                gc.collect()  # it may be one that nobody has any more
                if top._tensors.get(name, tensor) is not tensor:
                    raise NameClashError(
                        f"parameter {name!r}: expected one tensor of this name in the Scope, got another layer's; use "
                        "one layer in both Programs, rename its parameter, or run each in a Scope of its own"
                    )
            top._tensors[name] = tensor
        return {name: tensor._array.copy() for name, tensor in tensors.items() if self.lookup(name) is None}

    @property
    def turn(self) -> AbstractContextManager[bool]:
        """The turn to write, for a `with` block; a thread that has it may take it again."""
        return self._locks.turn

    def snapshot(self, names: Iterable[str]) -> dict[str, np.ndarray | None]:
        """Returns the arrays of names, or None, as they were in one moment; nobody may change them."""
        with self._locks.moment:
            return {name: self.lookup(name) for name in names}

    def commit(self, changes: Mapping[str, np.ndarray]) -> None:
        """Writes values, each where its name lives already; all of them or, if an exception comes from aside, none."""
        homes: dict[int, tuple[Scope, dict[str, np.ndarray]]] = {}
        for name, value in changes.items():
            home = self.home(name)
            homes.setdefault(id(home), (home, {}))[1][name] = value
        writes = [write for home, written in homes.values() for write in home._writing(written)]
        replaced = [self.lookup(name) for name in changes]  # let go of when all is written
        with self._locks.moment:
            deque(map(partial.__call__, writes), maxlen=0)  # one call, so that no signal gets in between
        del replaced

    def _writing(self, changes: Mapping[str, np.ndarray]) -> list[partial[None]]:
        """Returns calls, none of which raises or runs Python, that write values here.

        Raises:
            ProgramError: a layer's tensor is of another shape or dtype, or no memory of its own that can be written.
        """
        writes: list[partial[None]] = []
        apart = dict(changes)
        for name in changes if self is _PROCESS else ():
            tensor = self._tensors.get(name)
            if tensor is not None:
                array, value = tensor._array, apart.pop(name)
                if (array.shape, array.dtype) != (value.shape, value.dtype):
                    raise ProgramError(
                        f"parameter {name!r}: expected {value.dtype} {shape_text(value.shape)}, as the Program gives "
                        f"it, the layer's is {array.dtype} {array.shape}; cast a layer before it is used in a Program"
                    )
                check_changeable(array, f"parameter {name!r}")
                count = tensor._version
                writes.append(partial(list.__setitem__, count, 0, count[0] + 1))  # what a tape saved of it is not there
                writes.append(partial(np.ndarray.__setitem__, array, ..., value))
        return [*writes, partial(dict.update, self.values, apart)] if apart else writes

    def var(self, name: str) -> ScopeVariable:
        """Returns the variable of a name, made here if it is new."""
        found = self.find_var(name)
        if found is None:
            self._declared.add(name)
            found = ScopeVariable(self, name)
        return found

    def erase(self, names: list[str]) -> None:
        """Forgets variables."""
        with self.turn:
            for name in names:
                self.values.pop(name, None)
                self._tensors.pop(name, None)  # the layer keeps it
                self._declared.discard(name)

    def local_var_names(self) -> list[str]:
        """Returns the names held here."""
        return sorted({*self.values, *self._declared, *(self._tensors if self is _PROCESS else ())})

    def new_scope(self) -> Scope:
        """Returns a child."""
        kid = Scope(self)
        self._kids.append(kid)
        return kid

    def drop_kids(self) -> None:
        """Forgets the children."""
        self._kids.clear()


def _renew() -> None:
    for locks in list(_every):
        locks.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)  # a thread that had a lock is not there any more

_PROCESS = Scope()  # that of the process: what layers hold is here
_CURRENT = Current("scope_guard", _PROCESS)


def global_scope() -> Scope:
    """Returns the Scope that Executors use unless told otherwise."""
    return _CURRENT.get()


def scope_guard(scope: Scope) -> AbstractContextManager[None]:
    """Makes a Scope the global one inside a `with` block.

    Raises:
        ProgramError: the argument is not a Scope.
    """
    if not isinstance(scope, Scope):
        raise ProgramError(f"scope_guard: expected a Scope, got {type(scope).__name__}")
    return _CURRENT.held(scope)
