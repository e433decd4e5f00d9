"""The first call of a function that torch.compile keeps compiled in its cache."""

from stages import Stages

stages = Stages()
import numpy as np  # noqa: E402

stages.end("import numpy")
import torch  # noqa: E402

stages.end("import the framework")
swish = torch.compile(lambda x: x * torch.sigmoid(x))
x = torch.linspace(-3, 3, 1000)
stages.end("definition")
y = swish(x)
stages.end("first call")
swish(x)
stages.end("second call")
assert np.allclose(y.numpy(), x.numpy() / (1 + np.exp(-x.numpy())), rtol=1e-5)
stages.print()
