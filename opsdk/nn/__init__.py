"""Floor 4: layers, their parameters and initializers, and the functions that they are made of."""

from opsdk.nn import functional, init, initializer
from opsdk.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from opsdk.nn.layer import activation as _activation
from opsdk.nn.layer import dropout as _dropout
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
from opsdk.ops.initializer import ParamAttr

globals().update({name: getattr(_activation, name) for name in _activation.__all__})
globals().update({each.__name__: each for each in _dropout.LAYERS})

__all__ = [
    *_activation.__all__,
    *[each.__name__ for each in _dropout.LAYERS],
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
    "init",
    "initializer",
]
