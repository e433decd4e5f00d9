"""Registration for a while: names taken out of the registry, and a block after which everything is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opsdk.core.errors import NameClashError, UnknownOpError
from opsdk.define.op import REGISTRY, Op
from opsdk.define.opdef import BUILTIN


def unregister(op: Op | str) -> None:
    """Takes the name of an op, and those of its gradients, out of the registry.

    Whoever holds the op calls and differentiates it as before, and graphs and Programs keep it; it cannot be found or
    pickled by its name any more, which is free for another definition.

    Args:
        op: the op, or its name, `namespace::name` or a bare name that is unique.

    Raises:
        UnknownOpError: no op has that name, or it belongs to another definition by now.
        NameClashError: it is a built-in op.

    Example:
        >>> import opsdk
        >>> double = opsdk.op(lambda x: 2 * x, name="double", namespace="doc")
        >>> opsdk.unregister(double)
        >>> "doc::double" in opsdk.REGISTRY
        False
    """
    with REGISTRY.lock:
        held = REGISTRY.find(op) if isinstance(op, str) else op
        if held.opdef.is_builtin:
            raise NameClashError(
                f"{held.opdef.subject}: expected an op to unregister that is not built in, got one of {BUILTIN!r}; "
                "built-in ops stay, since others are made of them"
            )
        if REGISTRY.get(held.opdef.name) is not held:
            raise UnknownOpError(
                f"{held.opdef.subject}: expected its name to be registered for it, the op defined at "
                f"{held.opdef.origin}, got another op or none; unregister that one by its name"
            )
        REGISTRY.remove(held.opdef.name)


@contextmanager
def scoped_registry() -> Iterator[None]:
    """Registers for a while: what a `with` block registers, redefines or gives to an op is forgotten after it.

    Handles that were made inside go on working, and are found by name no more; ops that were there before have the
    definition and the kernels that they had. It holds for all threads of the process. A module that defines ops and is
    imported for the first time inside the block does not define them again after it: import it before.

    Example:
        >>> import opsdk
        >>> with opsdk.scoped_registry():
        ...     triple = opsdk.op(lambda x: 3 * x, name="triple", namespace="doc")
        ...     "doc::triple" in opsdk.REGISTRY
        True
        >>> "doc::triple" in opsdk.REGISTRY
        False
    """
    with REGISTRY.scoped():
        yield
