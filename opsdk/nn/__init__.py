"""Floor 4: layers, their parameters and initializers, and the functions that they are made of."""

# ruff: noqa: F401 - what is imported here under its own name is public
from opsdk.nn import functional, init, initializer
from opsdk.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from opsdk.nn.layer import activation as _activation
from opsdk.nn.layer import attention as _attention
from opsdk.nn.layer import cells as _cells
from opsdk.nn.layer import convolution as _convolution
from opsdk.nn.layer import dropout as _dropout
from opsdk.nn.layer import losses as _losses
from opsdk.nn.layer import normalization as _normalization
from opsdk.nn.layer import pooling as _pooling
from opsdk.nn.layer import recurrent as _recurrent
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
from opsdk.nn.stateless import functional_call
from opsdk.ops.initializer import ParamAttr

_FAMILIES = (_attention, _cells, _dropout, _recurrent)
globals().update({each.__name__: each for family in _FAMILIES for each in family.LAYERS})
_TABLES = (_activation, _convolution, _losses, _normalization, _pooling)  # modules of layers made from tables
globals().update({name: getattr(table, name) for table in _TABLES for name in table.__all__})

__all__ = [
    *sorted(name for name in globals() if name[0].isupper()),
    "functional",
    "functional_call",
    "init",
    "initializer",
]
