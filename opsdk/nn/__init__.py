"""Floor 4: layers, their parameters and initializers, and the functions that they are made of."""

from opsdk.nn import functional, init, initializer
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
from opsdk.nn.layer.layers import CrossEntropyLoss, Embedding, Flatten, Linear, MSELoss
from opsdk.nn.layer.plug_in import PlugIn
from opsdk.nn.parameter import Parameter
from opsdk.nn.stateless import functional_call
from opsdk.ops.initializer import ParamAttr

_TABLES = (
    _activation,
    _convolution,
    _normalization,
    _of_functions,
    _pooling,
)  # modules of layers that are made from tables
globals().update({name: getattr(table, name) for table in _TABLES for name in table.__all__})
_FAMILIES = (_attention, _cells, _dropout, _recurrent)
_layers = {each.__name__: each for family in _FAMILIES for each in family.LAYERS}
globals().update(_layers)

__all__ = [
    *_activation.__all__,
    *_convolution.__all__,
    *_normalization.__all__,
    *_of_functions.__all__,
    *_pooling.__all__,
    *_layers,
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "CrossEntropyLoss",
    "Embedding",
    "Flatten",
    "Layer",
    "LayerDict",
    "LayerList",
    "Linear",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParamAttr",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "PlugIn",
    "Sequential",
    "functional",
    "functional_call",
    "init",
    "initializer",
]
