"""True or False, as arguments: what merely counts as one of them, such as a text, is refused."""

from __future__ import annotations

import numpy as np

from opsdk.core.errors import AttributeValueError


def as_bool(value: object, subject: str) -> bool:
    """Returns a truth value.

    Args:
        value: a bool, Python's or NumPy's.
        subject: what it is given for, for the message.

    Raises:
        AttributeValueError: it is neither.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise AttributeValueError(f"{subject} expected True or False, got {value!r}")
    return bool(value)
