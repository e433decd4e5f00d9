"""How datasets reach worker processes: by pickle, and by cloudpickle what a new process cannot import."""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

from opsdk.core.bounded import Bounded
from opsdk.core.errors import AttributeValueError
from opsdk.core.lazy import optional
from opsdk.define.definition import define_op
from opsdk.define.kernel.kernel import REFERENCE
from opsdk.define.op import Op


# Any, in this file: values of every type.
def packed(value: Any, subject: str) -> bytes:
    """Returns a pickle that a process reads which has imported nothing of this one's `__main__`.

    Raises:
        MissingDependencyError: it holds something of `__main__`, or a function inside of another, and cloudpickle is
            not installed.
        AttributeValueError: it holds something that no other process can have, such as an open file.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, protocol=5).dump(value)
        return file.getvalue()
    except Exception as error:
        what = str(error)
    cloudpickle = optional(
        "cloudpickle",
        extra="data",
        subject=f"{subject}: to reach worker processes ({what}), where it is in no module to import, it",
    )
    try:
        _by_value(cloudpickle, file := io.BytesIO()).dump(value)
    except Exception as error:
        raise AttributeValueError(
            f"{subject}: expected a dataset and functions that worker processes can have, got {error}; "
            "make what it holds in worker_init_fn, or set num_workers=0"
        ) from error
    return file.getvalue()


def _is_of_main(value: Any) -> bool:
    of = value.opdef.function if isinstance(value, Op) else value
    return isinstance(of, (type, FunctionType)) and of.__module__ == "__main__"


class _Pickler(pickle.Pickler):
    """A pickler that refuses what it would name by a place in `__main__`."""

    def reducer_override(self, obj: Any) -> Any:
        if _is_of_main(obj):
            name = obj.opdef.name if isinstance(obj, Op) else obj.__qualname__
            raise pickle.PicklingError(f"{name} is of __main__")
        return NotImplemented


def _by_value(cloudpickle: Any, file: io.BytesIO) -> Any:
    """Returns a pickler of cloudpickle's to which an op of `__main__` is what it computes, less what derives it."""

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Bounded):  # a cache, which fills again
                return type(obj), (obj.limit,)
            if isinstance(obj, Op) and _is_of_main(obj):
                own = obj.opdef
                reference = next((each.source for each in own.kernels if each.language == REFERENCE), None)
                return _defined, (own.schema, own.function, own.traits, own.infer, own.body is not None, reference)
            return super().reducer_override(obj)

    return Pickler(file, protocol=5)


def _defined(schema: Any, function: Any, traits: Any, infer: Any, composite: bool, reference: Any) -> Op:
    reference = None if composite or reference is function else reference
    return define_op(schema, function, traits, infer, composite=composite, reference=reference, replace=True)
