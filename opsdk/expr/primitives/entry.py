"""Primitive: one operation of expressions, with all that reference, kernels, gradients and users are told of it.

`table` beside this file fills the table, `special` adds what is an expression of others, and `own` what users define;
whoever needs it filled imports it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from opsdk.core.origin import Origin
from opsdk.core.written import entry
from opsdk.expr.node import BOOL, FLOAT

if TYPE_CHECKING:
    from opsdk.expr.primitives.body import Body
    from opsdk.expr.symbol import Symbol

# Takes an array module (NumPy, CuPy, jax.numpy, …) and operands that it understands; Any: that module's arrays.
Meaning = Callable[..., Any]
Rule = Callable[..., tuple["Symbol | float | None", ...]]  # (result, *operands) → one partial per operand

# What complex numbers are to an operation: it has one derivative in every direction; it chooses, and is holomorphic on
# either side, since complex numbers are equal or not, but neither is the greater; it has a value alone; or none, since
# NumPy has no such function of complex numbers, or the expression's own series is one for real numbers.
HOLOMORPHIC, CHOOSING, VALUED, REAL_ONLY = "holomorphic", "choosing", "valued", "real only"

WHOLE = "biu"  # kinds of dtypes of whole numbers
_KINDS = {"f": FLOAT, "b": BOOL}


@dataclass(frozen=True)
class Primitive:
    """One operation.

    Args:
        name: what nodes and kernels call it.
        operands: the names of its operands.
        takes, gives: kinds of operands and result.
        meaning: the value on arrays, computed with a module given first.
        rule: the partial derivatives, as expressions of the result and the operands; None of a condition.
        doc: what users are told of its function in vmath; empty for operators, which need none.
        function: the name of that function.
        ufunc: NumPy's name.
        python: what it is on Python's numbers, where that is not NumPy's function.
        infix: the operator that Python and C write between the operands; empty where there is none.
        c: its text in C: a template of the operands by place, and of `f`, the ending of functions of floats.
        c_source: functions that the text calls, and <math.h> has not; a template of `f` and of `real`, the type.
        body: what it is as an expression of other primitives, which the text in each language is printed from.
        cuda: the name in libdevice of the function for double; empty for what is written there.
        cost: rough nanoseconds per element of vectorised float32 code; only their order matters.
        ulp: the largest error of vmath anywhere in the domain that is promised for float32 and for float64, in units
            in the last place, of which the nearest float has 0.5. Others, such as `floor` and `fmod`, are exact. What
            was measured stands in `docs/vmath.md`.
        least: of the operands, as float64, what the unit is that of where the result is smaller: where terms cancel, as
            near the zeros of an oscillating function, an error is small beside them and not beside the result.
        complex: what complex numbers are to it.
        origin: where its entry stands.
        loaded_by: of a user's own primitive, the module that was being loaded when it was defined.
        public: the function of a user's own primitive.
        domain: by name of an operand the bounds that a user's promise is about.
        namespace: of a user's own primitive.
        right: the function that says in NumPy what a user's is, where that is not the body.
    """

    name: str
    operands: tuple[str, ...]
    takes: tuple[str, ...]
    gives: str
    meaning: Meaning
    rule: Rule | None = None
    doc: str = ""
    function: str = ""
    ufunc: str = ""
    python: Callable[..., Any] | None = None
    infix: str = ""
    c: str = ""
    c_source: str = ""
    body: Body | None = None
    cuda: str = ""
    cost: int = 1
    ulp: tuple[float, float] | None = None
    least: Callable[..., Any] | None = None
    complex: str = VALUED
    origin: Origin | None = None
    loaded_by: Origin | None = None
    public: Callable[..., Any] | None = None
    domain: Mapping[str, tuple[float | None, float | None]] | None = None
    namespace: str = ""
    right: Callable[..., Any] | None = None

    @property
    def full_name(self) -> str:
        """`namespace::name` of a user's own primitive."""
        return f"{self.namespace}::{self.function}"

    @property
    def arity(self) -> int:
        """The number of operands."""
        return len(self.operands)

    @property
    def is_foreign(self) -> bool:
        """Whether it is a user's with a body in C, which other languages call or have not."""
        return self.public is not None and self.body is None


PRIMITIVES: dict[str, Primitive] = {}
WATCHERS: list[Callable[[Primitive], None]] = []  # told of each one that is added


def enter(made: Primitive) -> None:
    """Puts a primitive into the table, and tells whoever keeps something for each of them."""
    PRIMITIVES[made.name] = made
    for told in WATCHERS:
        told(made)


@dataclass(frozen=True)
class Named:
    """The meaning that is an array module's own function.

    Args:
        name: of the function, the same in every module.
    """

    name: str

    # Any: an array module, its arrays and numbers.
    def __call__(self, xp: Any, *values: Any) -> Any:
        """Returns what the function of a module gives."""
        return getattr(xp, self.name)(*values)


# Any: an array module, its arrays and numbers.
def meant_by(meaning: Meaning, xp: Any) -> Callable[..., Any]:
    """Returns a meaning as a function of arrays of one module: the module's own where it has that."""
    return getattr(xp, meaning.name) if isinstance(meaning, Named) else partial(meaning, xp)


# Any: the fields that `Primitive` has.
def primitive(
    name: str,
    doc: str = "",
    operands: str = "x",
    *,
    takes: str = "",
    gives: str = "f",
    meaning: Meaning | None = None,
    floats: str = "",
    library: str = "",
    **fields: Any,
) -> None:
    """Adds a primitive; what nothing is said of has its name everywhere: in NumPy, <math.h> and libdevice.

    Args:
        name: what nodes and kernels call it.
        doc: what users are told.
        operands: the names of its operands, written one after another.
        takes: the kinds of its operands, a letter each, `f` or `b`; numbers unless given.
        gives: the kind of the result.
        meaning: the value on arrays; NumPy's function unless given.
        floats: operands of dtypes of these kinds are made float64 first, where NumPy would take the shortest float.
        library: the name in <math.h>, and unless another is given in libdevice, of what has no text of its own in C.
        fields: the rest.
    """
    names = tuple(operands.split())
    ufunc = fields.setdefault("ufunc", name)
    given = meaning or Named(ufunc)
    if fields.get("body") is not None:
        given = fields["body"]
        fields["c"] = f"opsdk_{name}{{f}}({', '.join(f'{{{place}}}' for place in range(len(names)))})"
    elif not fields.keys() & {"c", "infix"}:
        fields.setdefault("cuda", library or name)
        fields["c"] = f"{library or name}{{f}}({', '.join(f'{{{place}}}' for place in range(len(names)))})"
    enter(
        Primitive(
            name,
            names,
            tuple(_KINDS[kind] for kind in takes or "f" * len(names)),
            _KINDS[gives],
            as_floats(given, floats) if floats else given,
            doc=doc,
            origin=entry(),
            **{"function": name, **fields},
        )
    )


def as_floats(meaning: Meaning, kinds: str) -> Meaning:
    """Returns a meaning that makes operands of dtypes of some kinds float64 first."""
    return lambda xp, *values: meaning(xp, *[_floating(value, kinds) for value in values])


# Any: an array of any module, or a number.
def _floating(value: Any, kinds: str) -> Any:
    dtype = getattr(value, "dtype", None)
    return value.astype("float64") if getattr(dtype, "kind", "f") in kinds else value


# Any: partials of what a family's functions send; operands as the rule is given them.
def flat(y: Any, *operands: Any) -> tuple[None, ...]:
    """The rule of what is constant but for jumps: no operand receives anything."""
    return (None,) * len(operands)
