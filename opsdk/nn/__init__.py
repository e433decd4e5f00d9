"""Floor 4: layers, their parameters and initializers, and the functions that they are made of."""

from opsdk.nn import functional, init, initializer
from opsdk.nn.layer.activation import (
    ELU,
    GELU,
    Hardswish,
    LeakyReLU,
    LogSoftmax,
    Mish,
    ReLU,
    ReLU6,
    Sigmoid,
    Silu,
    Softmax,
    Softplus,
    Tanh,
)
from opsdk.nn.layer.dict import LayerDict, ModuleDict, ParameterDict
from opsdk.nn.layer.flatten import Flatten
from opsdk.nn.layer.layer import Layer, Module
from opsdk.nn.layer.linear import Linear
from opsdk.nn.layer.list import LayerList, ModuleList, ParameterList
from opsdk.nn.layer.loss import CrossEntropyLoss, MSELoss
from opsdk.nn.layer.sequential import Sequential
from opsdk.nn.parameter import Parameter
from opsdk.ops.initializer import ParamAttr

__all__ = [
    "CrossEntropyLoss",
    "ELU",
    "Flatten",
    "GELU",
    "Hardswish",
    "Layer",
    "LayerDict",
    "LayerList",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParamAttr",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "ReLU",
    "ReLU6",
    "Sequential",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softplus",
    "Tanh",
    "functional",
    "init",
    "initializer",
]
