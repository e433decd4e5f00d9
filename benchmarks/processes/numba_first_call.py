"""The first call of a loop that Numba keeps compiled in its cache."""

from stages import Stages

stages = Stages()
import numpy as np  # noqa: E402

stages.end("import numpy")
import numba  # noqa: E402

stages.end("import the framework")


@numba.njit(cache=True, error_model="numpy")
def swish(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = x[i] / (np.float32(1) + np.exp(-x[i]))
    return y


x = np.linspace(-3, 3, 1000, dtype=np.float32)
stages.end("definition")
y = swish(x)
stages.end("first call")
swish(x)
stages.end("second call")
assert np.allclose(y, x / (1 + np.exp(-x)), rtol=1e-5)
stages.print()
