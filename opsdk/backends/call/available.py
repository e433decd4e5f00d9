"""Availability: whether a row that opsdk derived can be compiled here, so that the reference serves where it cannot.

A row that an author wrote is never passed over in silence: what it needs is missing with an error that says so.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from opsdk.backends.call.language import language_of
from opsdk.define.kernel.kernel import Kernel


def is_usable(kernel: Kernel) -> bool:
    """Whether a row may be chosen here."""
    return not missing_packages(kernel)


def missing_packages(kernel: Kernel) -> tuple[str, ...]:
    """Returns the packages that a derived row needs and that are not installed; none for what an author wrote."""
    language = language_of(kernel)
    return tuple(name for name in language.packages if not is_installed(name)) if language.is_derived else ()


@cache
def is_installed(package: str) -> bool:
    """Whether a package can be found; whether its import then succeeds is not tried."""
    try:
        return find_spec(package) is not None
    except ValueError:  # something stands in its place in sys.modules
        return False
