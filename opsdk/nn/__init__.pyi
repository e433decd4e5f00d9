"""Floor 4: layers, their parameters and initializers, and the functions that they are made of.

Written by `python -m tests.contracts.stubs`.
"""

from opsdk.nn import functional as functional
from opsdk.nn import init as init
from opsdk.nn import initializer as initializer
from opsdk.nn.layer.activation import ELU as ELU
from opsdk.nn.layer.activation import GELU as GELU
from opsdk.nn.layer.activation import Hardswish as Hardswish
from opsdk.nn.layer.activation import LeakyReLU as LeakyReLU
from opsdk.nn.layer.activation import LogSoftmax as LogSoftmax
from opsdk.nn.layer.activation import Mish as Mish
from opsdk.nn.layer.activation import ReLU as ReLU
from opsdk.nn.layer.activation import ReLU6 as ReLU6
from opsdk.nn.layer.activation import Sigmoid as Sigmoid
from opsdk.nn.layer.activation import Silu as Silu
from opsdk.nn.layer.activation import Softmax as Softmax
from opsdk.nn.layer.activation import Softplus as Softplus
from opsdk.nn.layer.activation import Tanh as Tanh
from opsdk.nn.layer.containers import LayerDict as LayerDict
from opsdk.nn.layer.containers import LayerList as LayerList
from opsdk.nn.layer.containers import ParameterDict as ParameterDict
from opsdk.nn.layer.containers import ParameterList as ParameterList
from opsdk.nn.layer.containers import Sequential as Sequential
from opsdk.nn.layer.convolution import Conv1D as Conv1D
from opsdk.nn.layer.convolution import Conv1DTranspose as Conv1DTranspose
from opsdk.nn.layer.convolution import Conv1d as Conv1d
from opsdk.nn.layer.convolution import Conv2D as Conv2D
from opsdk.nn.layer.convolution import Conv2DTranspose as Conv2DTranspose
from opsdk.nn.layer.convolution import Conv2d as Conv2d
from opsdk.nn.layer.convolution import Conv3D as Conv3D
from opsdk.nn.layer.convolution import Conv3DTranspose as Conv3DTranspose
from opsdk.nn.layer.convolution import Conv3d as Conv3d
from opsdk.nn.layer.convolution import ConvTranspose1d as ConvTranspose1d
from opsdk.nn.layer.convolution import ConvTranspose2d as ConvTranspose2d
from opsdk.nn.layer.convolution import ConvTranspose3d as ConvTranspose3d
from opsdk.nn.layer.layer import Layer as Layer
from opsdk.nn.layer.layers import CrossEntropyLoss as CrossEntropyLoss
from opsdk.nn.layer.layers import Flatten as Flatten
from opsdk.nn.layer.layers import Linear as Linear
from opsdk.nn.layer.layers import MSELoss as MSELoss
from opsdk.nn.layer.normalization import BatchNorm1D as BatchNorm1D
from opsdk.nn.layer.normalization import BatchNorm1d as BatchNorm1d
from opsdk.nn.layer.normalization import BatchNorm2D as BatchNorm2D
from opsdk.nn.layer.normalization import BatchNorm2d as BatchNorm2d
from opsdk.nn.layer.normalization import BatchNorm3D as BatchNorm3D
from opsdk.nn.layer.normalization import BatchNorm3d as BatchNorm3d
from opsdk.nn.layer.normalization import GroupNorm as GroupNorm
from opsdk.nn.layer.normalization import InstanceNorm1D as InstanceNorm1D
from opsdk.nn.layer.normalization import InstanceNorm1d as InstanceNorm1d
from opsdk.nn.layer.normalization import InstanceNorm2D as InstanceNorm2D
from opsdk.nn.layer.normalization import InstanceNorm2d as InstanceNorm2d
from opsdk.nn.layer.normalization import InstanceNorm3D as InstanceNorm3D
from opsdk.nn.layer.normalization import InstanceNorm3d as InstanceNorm3d
from opsdk.nn.layer.normalization import LayerNorm as LayerNorm
from opsdk.nn.layer.normalization import RMSNorm as RMSNorm
from opsdk.nn.layer.pooling import AdaptiveAvgPool1D as AdaptiveAvgPool1D
from opsdk.nn.layer.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from opsdk.nn.layer.pooling import AdaptiveAvgPool2D as AdaptiveAvgPool2D
from opsdk.nn.layer.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from opsdk.nn.layer.pooling import AdaptiveAvgPool3D as AdaptiveAvgPool3D
from opsdk.nn.layer.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from opsdk.nn.layer.pooling import AdaptiveMaxPool1D as AdaptiveMaxPool1D
from opsdk.nn.layer.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from opsdk.nn.layer.pooling import AdaptiveMaxPool2D as AdaptiveMaxPool2D
from opsdk.nn.layer.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from opsdk.nn.layer.pooling import AdaptiveMaxPool3D as AdaptiveMaxPool3D
from opsdk.nn.layer.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from opsdk.nn.layer.pooling import AvgPool1D as AvgPool1D
from opsdk.nn.layer.pooling import AvgPool1d as AvgPool1d
from opsdk.nn.layer.pooling import AvgPool2D as AvgPool2D
from opsdk.nn.layer.pooling import AvgPool2d as AvgPool2d
from opsdk.nn.layer.pooling import AvgPool3D as AvgPool3D
from opsdk.nn.layer.pooling import AvgPool3d as AvgPool3d
from opsdk.nn.layer.pooling import MaxPool1D as MaxPool1D
from opsdk.nn.layer.pooling import MaxPool1d as MaxPool1d
from opsdk.nn.layer.pooling import MaxPool2D as MaxPool2D
from opsdk.nn.layer.pooling import MaxPool2d as MaxPool2d
from opsdk.nn.layer.pooling import MaxPool3D as MaxPool3D
from opsdk.nn.layer.pooling import MaxPool3d as MaxPool3d
from opsdk.nn.parameter import Parameter as Parameter
from opsdk.ops.initializer import ParamAttr as ParamAttr

Module = Layer
ModuleDict = LayerDict
ModuleList = LayerList
