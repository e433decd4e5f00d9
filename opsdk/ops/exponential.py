"""exp and log, on which other ops' gradients are built."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.define.decorators import op

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.


@op("opsdk::exp(Tensor x) -> Tensor out")
def exp(x: np.ndarray) -> np.ndarray:
    """e to the power x; overflow gives inf, without a warning."""
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(x)


@exp.backward(composite=True)
def exp_grad(out: Any, dout: Any) -> Any:
    """dout · exp(x)."""
    return dout * out


@op("opsdk::log(Tensor x) -> Tensor out", domain={"x": (0.0, None)})
def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm; -inf at 0 and nan below, without a warning."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


@log.backward(composite=True)
def log_grad(x: Any, dout: Any) -> Any:
    """dout / x."""
    return dout / x
