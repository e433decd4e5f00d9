"""Numba kernels that watch themselves: compiled with their indices checked; parallel loops step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Fault, NotWatchedError
from opsdk.backends.numba.cpu import launch_of
from opsdk.backends.numba.races import races
from opsdk.backends.numba.text import place_of, run_text
from opsdk.core.errors import OpsdkError
from opsdk.core.nested import each
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


# Any, in this file: one entry per input, an array, a list of arrays or None; attribute values.
def watched(
    opdef: OpDef,
    kernel: Kernel,
    calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
    *,
    compiles: bool = True,
) -> Iterator[Fault]:
    """Yields the first index that is beyond an array, its line by the Python text; or else the first race.

    Raises:
        NotWatchedError: the kernel does not compile so.
    """
    beyond = _beyond(opdef, kernel, calls) if compiles else None
    if beyond is not None:
        yield beyond
    elif is_parallel(kernel):
        yield from races(opdef, kernel, calls)


def _beyond(opdef: OpDef, kernel: Kernel, calls: Sequence[tuple[Sequence[Any], dict[str, Any]]]) -> Fault | None:
    """Returns the first index that is beyond an array, as a build that checks indices raises it."""
    launch = launch_of(opdef, kernel, is_checked=True)
    for number, (inputs, attrs) in enumerate(calls):
        try:
            launch(*each(inputs, np.copy), **attrs)
        except IndexError as error:
            return _told(opdef, kernel, number, error, inputs, attrs)
        except OpsdkError:  # it refuses the call, which is told where it runs
            continue
        except Exception as error:
            raise NotWatchedError(
                f"it does not run with its indices checked, {type(error).__name__}: {error}"
            ) from error
    return None


def is_parallel(kernel: Kernel) -> bool:
    """Whether the loops of a kernel are shared by threads, by its option or by that of a dispatcher of its author's."""
    return bool(kernel.options.get("parallel") or getattr(kernel.source, "targetoptions", {}).get("parallel"))


def _told(
    opdef: OpDef, kernel: Kernel, number: int, error: IndexError, inputs: Sequence[Any], attrs: dict[str, Any]
) -> Fault:
    """Returns a fault in the words of the Python text, where that raises too."""
    try:
        run_text(opdef, kernel, each(inputs, np.copy), attrs, 0, most=math.inf)
    except IndexError as said:
        return Fault(number, "bounds", str(said), place_of(said))
    except Exception:
        pass
    return Fault(number, "bounds", str(error))
