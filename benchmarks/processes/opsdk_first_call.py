"""The first call of an elementwise op of opsdk."""

from stages import Stages

stages = Stages()
import numpy as np  # noqa: E402

stages.end("import numpy")
import opsdk  # noqa: E402
from opsdk import vmath  # noqa: E402

stages.end("import the framework")


@opsdk.elementwise(namespace="bench")
def swish(x):
    return x * vmath.sigmoid(x)


x = np.linspace(-3, 3, 1000, dtype=np.float32)
stages.end("definition")
y = swish(x)
stages.end("first call")
swish(x)
stages.end("second call")
assert np.allclose(y, x / (1 + np.exp(-x)), rtol=1e-5)
stages.print()
