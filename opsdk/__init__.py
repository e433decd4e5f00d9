"""opsdk: write an operator once, in Python; it is compiled, differentiated, proven and run everywhere.

This module is the public surface: every name here is part of the contract, and the rest of the package is reached
through it. Importing it loads NumPy and nothing else that is heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opsdk import autograd
from opsdk.autograd.creation import (
    arange,
    assign,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    normal,
    ones,
    ones_like,
    rand,
    randint,
    randn,
    randperm,
    to_tensor,
    uniform,
    zeros,
    zeros_like,
)
from opsdk.autograd.derivatives import grad
from opsdk.autograd.drawing import (
    bernoulli,
    log_normal,
    multinomial,
    poisson,
    rand_like,
    randint_like,
    randn_like,
    standard_normal,
)
from opsdk.autograd.making import (
    as_tensor,
    asarray,
    clone,
    device,
    from_numpy,
    is_complex,
    is_floating_point,
    is_integer,
    is_tensor,
    logspace,
    manual_seed,
    set_printoptions,
    tensor,
    tril_indices,
    triu_indices,
)
from opsdk.autograd.tape import TAPE as _TAPE  # noqa: F401 - registers the runtimes of tensors
from opsdk.autograd.tensor import Tensor
from opsdk.backends import languages as _languages  # noqa: F401 - registers those that come with opsdk
from opsdk.backends.call import arrays as _arrays  # noqa: F401 - registers itself
from opsdk.backends.memory import usage as memory
from opsdk.core import errors
from opsdk.core.dtype import (
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    uint8,
)
from opsdk.core.flags import get_flags, set_flags
from opsdk.core.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from opsdk.core.place import CPUPlace, CUDAPlace
from opsdk.core.random import Generator, get_rng_state, initial_seed, seed, set_rng_state
from opsdk.core.spec import TensorSpec
from opsdk.core.spellings import missing as _missing
from opsdk.define import infer
from opsdk.define.decorators import op, register_op, scoped_registry, unregister
from opsdk.define.determinism import Repeats
from opsdk.define.kernel import launch
from opsdk.define.op import REGISTRY, Op, find_op
from opsdk.define.sample import Sample
from opsdk.define.schema.attr_type import Range
from opsdk.define.vjp import vjp
from opsdk.expr.decorators import elementwise, rowwise
from opsdk.expr.primitives.own import primitive
from opsdk.ops import functions as _functions
from opsdk.ops import loss as _loss  # noqa: F401 - registers its ops
from opsdk.ops.composites import linalg
from opsdk.ops.functions import *  # noqa: F403 - the functions of arrays and tensors
from opsdk.ops.updates import plain as _update  # noqa: F401 - registers its ops

if TYPE_CHECKING:
    import gradcheck
    from gradcheck import domain
    from opsdk import amp, callbacks, cuda, fluid, inference, io, jit, metric, nn, optim, optimizer, static, vision
    from opsdk.backends.c.emit import c_source
    from opsdk.backends.inspect.explain import explain
    from opsdk.backends.inspect.native_entry import native
    from opsdk.expr import vmath
    from opsdk.io.reader import batch
    from opsdk.model.model import Model
    from opsdk.model.summary import summary
    from opsdk.saving.checkpoint import load, save
    from opsdk.verify import verify

__version__ = "0.1.0"
__all__ = [
    "op",
    "register_op",
    "elementwise",
    "rowwise",
    "primitive",
    "c_source",
    "Op",
    "find_op",
    "explain",
    "REGISTRY",
    "unregister",
    "scoped_registry",
    "Sample",
    "Range",
    "Repeats",
    "infer",
    "launch",
    "TensorSpec",
    "Tensor",
    "to_tensor",
    "grad",
    "vjp",
    "no_grad",
    "inference_mode",
    "enable_grad",
    "set_grad_enabled",
    "is_grad_enabled",
    "arange",
    "assign",
    "empty",
    "empty_like",
    "eye",
    "linspace",
    "normal",
    "randint",
    "randperm",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "uniform",
    "zeros",
    "zeros_like",
    "as_tensor",
    "asarray",
    "clone",
    "device",
    "from_numpy",
    "is_complex",
    "is_floating_point",
    "is_integer",
    "is_tensor",
    "logspace",
    "manual_seed",
    "set_printoptions",
    "tensor",
    "tril_indices",
    "triu_indices",
    "bernoulli",
    "log_normal",
    "multinomial",
    "poisson",
    "rand_like",
    "randint_like",
    "randn_like",
    "standard_normal",
    "seed",
    "initial_seed",
    "get_rng_state",
    "set_rng_state",
    "Generator",
    "domain",
    "bool_",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "promote_types",
    "CPUPlace",
    "CUDAPlace",
    "get_flags",
    "set_flags",
    "memory",
    "load",
    "save",
    "native",
    "vmath",
    "autograd",
    "linalg",
    "static",
    "jit",
    "inference",
    "fluid",
    "nn",
    "optim",
    "optimizer",
    "metric",
    "io",
    "batch",
    "Model",
    "callbacks",
    "amp",
    "summary",
    "vision",
    "cuda",
    "verify",
    "gradcheck",
    "errors",
    *vars(_functions)["__all__"],
]

_FUNCTIONS = {
    "Model": "model.model",
    "batch": "io.reader",
    "c_source": "backends.c.emit",
    "explain": "backends.inspect.explain",
    "load": "saving.checkpoint",
    "native": "backends.inspect.native_entry",
    "save": "saving.checkpoint",
    "summary": "model.summary",
}
_MODULES = {
    *(
        "amp",
        "callbacks",
        "cuda",
        "fluid",
        "inference",
        "io",
        "jit",
        "metric",
        "nn",
        "optim",
        "optimizer",
        "static",
        "vision",
    ),
}
_DTYPES = {  # PyTorch's words, of which three are Python's as well
    "bfloat16": "bfloat16",
    "bool": "bool",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}


# Any: a module or a function, loaded when it is first asked for.
def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"opsdk.{name}")
    if name in _DTYPES:
        return promote_types(_DTYPES[name], _DTYPES[name])
    if name == "vmath":
        value: Any = importlib.import_module("opsdk.expr.vmath")
    elif name in _FUNCTIONS:
        value = getattr(importlib.import_module(f"opsdk.{_FUNCTIONS[name]}"), name)
    elif name == "verify":
        value = importlib.import_module("opsdk.verify").verify
    elif name in ("gradcheck", "domain"):
        value = importlib.import_module("gradcheck" if name == "gradcheck" else "gradcheck.domain")
    else:
        raise _missing("opsdk", name, "" if name.startswith("_") else _home(name))
    globals()[name] = value
    return value


def _home(name: str) -> str:
    """Returns where else a name stands that PyTorch or Paddle has here; empty where it stands nowhere."""
    for home in ("linalg", "nn.functional", "nn", "autograd"):
        value: Any = linalg if home == "linalg" else importlib.import_module(f"opsdk.{home}")
        if name in value.__all__:
            return f"opsdk.{home}.{name}"
    return f"x.{name}, a method" if name in dir(Tensor) and hasattr(Tensor, name) else ""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
