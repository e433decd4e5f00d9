"""The first call of a function that `jax.jit` keeps compiled in its cache."""

from stages import Stages

stages = Stages()
import numpy as np  # noqa: E402

stages.end("import numpy")
import jax  # noqa: E402

stages.end("import the framework")
swish = jax.jit(lambda x: x * jax.nn.sigmoid(x))
x = np.linspace(-3, 3, 1000, dtype=np.float32)
stages.end("definition")
y = swish(x).block_until_ready()
stages.end("first call")
swish(x).block_until_ready()
stages.end("second call")
assert np.allclose(y, x / (1 + np.exp(-x)), rtol=1e-5)
stages.print()
