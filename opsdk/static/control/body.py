"""Body: a closed Program, which reads nothing but its inputs, as the value of an attribute.

What a function that becomes one reads from around it is captured: it is an input like the others. So no pass looks
through a body, and whoever holds one may run it, differentiate it, or write it down, without what is around it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opsdk.core.current import Current
from opsdk.core.errors import DTypeError, InPlaceError, PlaceError, ProgramError, ShapeError
from opsdk.core.nested import each, flat
from opsdk.core.spec import TensorSpec
from opsdk.define.frontend import MAKER, dispatch
from opsdk.define.interceptors import Interceptor
from opsdk.define.opdef import OpDef
from opsdk.ops.shape import assign
from opsdk.static.build.backward import gradients
from opsdk.static.build.building import MAKING, is_state, stand_in
from opsdk.static.build.recording import may_agree
from opsdk.static.ir.operator import is_tested, tested
from opsdk.static.ir.program import Program, default_main_program, defaults_held
from opsdk.static.ir.variable import Variable
from opsdk.static.run.steps import Compiled

# Any, in this file: arrays; tensors of layers and Variables; attribute values.


class Body:
    """A closed Program.

    Args:
        program: reads its data alone, and keeps nothing.
        inputs: names of its data, in order.
        outputs: names of what it gives, in order; none of them an input.

    Attributes:
        given: specs of the inputs.
        specs: those of the outputs.
    """

    def __init__(self, program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        known = program.global_block().vars
        self.program, self.inputs, self.outputs = program, tuple(inputs), tuple(outputs)
        self.given: list[TensorSpec] = [known[name].spec for name in inputs]
        self.specs: list[TensorSpec] = [known[name].spec for name in outputs]
        self._compiled: Compiled | None = None
        self._gradients: dict[Any, Body] = {}
        self._lock = threading.Lock()

    def __call__(self, values: Sequence[np.ndarray], draw: int = 0) -> list[np.ndarray]:
        """Runs the Program on arrays.

        Args:
            values: one for each input.
            draw: decides what is drawn inside, as the number of a run does.

        Raises:
            DTypeError, ShapeError: it takes others.
            PlaceError: they are on a device.
        """
        if not all(isinstance(value, np.ndarray) for value in values):
            raise PlaceError(
                "control flow: expected values in host memory, where Programs run, got some of a device; branch in "
                "Python, or move them: x.cpu()"
            )
        self.check([TensorSpec(value.shape, value.dtype) for value in values])
        if self._compiled is None:
            self._compiled = Compiled(self.program, self.program.global_block().ops)
        compiled = self._compiled
        found = compiled.run({}, dict(zip(self.inputs, values, strict=True)), draw)
        return [found[compiled.slots[name]] for name in self.outputs]

    def check(self, specs: Sequence[TensorSpec]) -> None:
        """Holds specs to what the inputs are.

        Raises:
            DTypeError, ShapeError: they are others.
        """
        for label, got, wanted in zip(self.inputs, specs, self.given, strict=True):
            if got.dtype != wanted.dtype or not may_agree(got.shape, wanted.shape):
                kind = DTypeError if got.dtype != wanted.dtype else ShapeError
                raise kind(f"control flow: {label!r} expected {wanted}, as the body was built for it, got {got}")

    @property
    def draws(self) -> bool:
        """Whether something in it draws random numbers."""
        return any(one.seeds and not is_tested(one.attrs) for one in self.program.global_block().ops)

    def gradient(self, asked: Sequence[int], given: Sequence[int]) -> Body:
        """Returns the body that computes gradients of inputs, from the inputs and cotangents of outputs.

        Args:
            asked: positions of the inputs whose gradients it gives, in order; zeros of what no output depends on.
            given: positions of the outputs that have a cotangent, in the order in which these follow the inputs.
        """
        key = (tuple(asked), tuple(given))
        with self._lock:
            if key not in self._gradients:
                self._gradients[key] = self._differentiated(*key)
            return self._gradients[key]

    def _differentiated(self, asked: tuple[int, ...], given: tuple[int, ...]) -> Body:
        program = self.program.clone()
        block = program.global_block()
        sources = [block.vars[self.inputs[i]] for i in asked]
        targets = [block.vars[self.outputs[i]] for i in given]
        with building(program):
            seeds = [
                block.create_var(block.free_name(f"{t.name}@GRAD"), t.spec.shape, t.dtype, is_data=True)
                for t in targets
            ]
            pairs = [(t, s) for t, s in zip(targets, seeds, strict=True) if not t.stop_gradient]
            found: list[Any] = [None] * len(sources)
            if pairs:
                found = list(gradients([t for t, _ in pairs], sources, [s for _, s in pairs]))
            made = [source * 0 if grad is None else grad for grad, source in zip(found, sources, strict=True)]
            made = [assign(one) for one in made]
        return Body(program, [*self.inputs, *[seed.name for seed in seeds]], [one.name for one in made])

    def tested(self) -> Body:
        """Returns the body where nothing is trained."""
        program = self.program.clone()
        block = program.global_block()
        block.ops = tested(block.ops)
        program.touch()
        return Body(program, self.inputs, self.outputs)

    def __repr__(self) -> str:
        return f"<body: {len(self.inputs)} inputs, {len(self.program.global_block().ops)} operators>"


def as_array(value: Any) -> np.ndarray:
    """Returns a number as an array, one of Python's in the dtype that a tensor of it has."""
    return np.asarray(value, np.float32 if isinstance(value, float) and not isinstance(value, np.generic) else None)


class _Capturing(Interceptor):
    """Has calls append to a body, whose inputs stand for what they read from around it."""

    __slots__ = ("captured", "outer", "program")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.outer: _Capturing | None = _CURRENT.get()
        self.captured: dict[int, tuple[Any, Variable]] = {}  # by id, what is read from around, and what stands for it

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Hands a call on, with inputs of the body in the place of what is around it."""
        block = self.program.global_block()
        with block.all_or_nothing():
            made = dispatch(opdef, [each(entry, self.own) for entry in inputs], attrs)
            for position in opdef.schema.mutated_inputs:
                for one in flat(inputs[position]):
                    if self.own(one).is_data:
                        raise InPlaceError(
                            f"{opdef.subject}: expected to change what its branch or loop made, got "
                            f"{getattr(one, 'name', 'a value')!r}, which is from around it; return the new value"
                        )
            return made

    def own(self, value: Any) -> Any:
        """Returns what stands in the body for a value."""
        if is_state(value):
            value = self._state(value)
        if not isinstance(value, Variable) or value.block.program in (self.program, default_main_program()):
            return value  # its own, or that of a body inside of it, which is being built
        if self.outer is not None:
            value = self.outer.own(value)
        if id(value) not in self.captured:
            self.captured[id(value)] = value, self.declare(value)
        return self.captured[id(value)][1]

    def _state(self, tensor: Any) -> Variable:
        """Returns the Variable that stands for a tensor of a layer in the outermost Program."""
        if self.outer is not None:
            return self.outer._state(tensor)
        with defaults_held(*_AROUND.get()):
            return stand_in(tensor)

    def declare(self, value: Variable) -> Variable:
        """Returns a new input like a Variable."""
        block = self.program.global_block()
        name = block.free_name(value.name)
        return block.create_var(name, value.spec.shape, value.dtype, stop_gradient=value.stop_gradient, is_data=True)


_CURRENT: Current[_Capturing | None] = Current("control flow", None)
_AROUND: Current[Any] = Current("control flow, Programs around", None)


@contextmanager
def building(program: Program) -> Iterator[None]:
    """Has calls append to a Program, which is no default one otherwise."""
    with defaults_held(program, Program()), MAKER.held(MAKING):
        yield


class Opened:
    """A body that is being built of a function.

    Args:
        inputs: Variables like those that the function is given.
    """

    def __init__(self, inputs: Sequence[Variable] = ()) -> None:
        self.program = Program()
        self._capturing = _Capturing(self.program)
        self.inputs = [self._capturing.declare(value) for value in inputs]

    def run(self, function: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
        """Runs a function whose calls become the body's."""
        around = _AROUND.get() or (default_main_program(), None)
        with _AROUND.held(around), _CURRENT.held(self._capturing), building(self.program), self._capturing:
            return function(*args)

    def output(self, value: Any) -> Variable:
        """Returns what stands for something that the function returned: a Variable that the body makes.

        Raises:
            ProgramError: it is neither a Variable nor a number.
        """
        with building(self.program):
            own = self._capturing.own(value)
            if isinstance(own, (bool, int, float, np.generic, np.ndarray)):
                own = self.program.global_block().create_constant(as_array(own))
            if not isinstance(own, Variable):
                raise ProgramError(
                    f"control flow: expected Variables, numbers and containers of them, a function returned "
                    f"{type(value).__name__}"
                )
            made: Variable = assign(own)
            return made

    @property
    def captured(self) -> list[Variable]:
        """What it reads from around, in order."""
        return [value for value, _ in self._capturing.captured.values()]

    def close(self, captured: Sequence[Variable], outputs: Sequence[Variable]) -> Body:
        """Returns the body.

        Args:
            captured: what is handed in behind the inputs, by whoever holds several bodies: all that this one reads is
                among it.
            outputs: of `output`.
        """
        names = [value.name for value in self.inputs]
        with building(self.program):
            names += [self._capturing.own(value).name for value in captured]
        return Body(self.program, names, [value.name for value in outputs])
