"""Floor 4: layers, their parameters and initializers, and the functions that they are made of."""

# ruff: noqa: F401 - what is imported here under its own name is public
import sys

from opsdk.core.spellings import point
from opsdk.nn import functional, init, initializer
from opsdk.nn import over_parameters as utils
from opsdk.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from opsdk.nn.layer import activation as _activation
from opsdk.nn.layer import attention as _attention
from opsdk.nn.layer import cells as _cells
from opsdk.nn.layer import convolution as _convolution
from opsdk.nn.layer import dropout as _dropout
from opsdk.nn.layer import normalization as _normalization
from opsdk.nn.layer import of_functions as _of_functions
from opsdk.nn.layer import pooling as _pooling
from opsdk.nn.layer import recurrent as _recurrent
from opsdk.nn.layer import weighted as _weighted
from opsdk.nn.layer.containers import (
    LayerDict,
    LayerList,
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from opsdk.nn.layer.layer import Layer, Module
from opsdk.nn.layer.layers import Embedding, Flatten, Linear
from opsdk.nn.layer.plug_in import PlugIn
from opsdk.nn.parameter import Parameter
from opsdk.nn.placed import place
from opsdk.nn.stateless import functional_call
from opsdk.ops.initializer import ParamAttr

_FAMILIES = (_attention, _cells, _dropout, _recurrent, _weighted)
globals().update({each.__name__: each for family in _FAMILIES for each in family.LAYERS})
_TABLES = (_activation, _convolution, _normalization, _of_functions, _pooling)  # modules of layers made from tables
globals().update({name: getattr(table, name) for table in _TABLES for name in table.__all__})

_WITH_PARAMETERS = (_attention, _cells, _convolution, _normalization, _recurrent, _weighted)
_WITHOUT = ("RNN", "BiRNN", "RNNCellBase", "TransformerEncoder")  # what these hold is given to them
_homes = {each.__name__ for each in _WITH_PARAMETERS}
_made = [
    each for each in globals().values() if getattr(each, "__module__", "") in _homes and each.__name__ not in _WITHOUT
]
place([Linear, Embedding, *_made])

sys.modules[f"{__name__}.utils"] = utils  # the name under which both libraries have it

point(globals(), "opsdk.nn")

__all__ = [
    *sorted(name for name in globals() if name[0].isupper()),
    "functional",
    "functional_call",
    "init",
    "initializer",
]
