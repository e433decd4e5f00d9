"""Floor 4: layers, their parameters and initializers, and the functions that they are made of.

Written by `python -m tests.contracts.stubs`.
"""

from opsdk.nn import functional as functional
from opsdk.nn import init as init
from opsdk.nn import initializer as initializer
from opsdk.nn.clip import ClipGradByGlobalNorm as ClipGradByGlobalNorm
from opsdk.nn.clip import ClipGradByNorm as ClipGradByNorm
from opsdk.nn.clip import ClipGradByValue as ClipGradByValue
from opsdk.nn.layer.activation import CELU as CELU
from opsdk.nn.layer.activation import ELU as ELU
from opsdk.nn.layer.activation import GELU as GELU
from opsdk.nn.layer.activation import Hardshrink as Hardshrink
from opsdk.nn.layer.activation import Hardsigmoid as Hardsigmoid
from opsdk.nn.layer.activation import Hardswish as Hardswish
from opsdk.nn.layer.activation import Hardtanh as Hardtanh
from opsdk.nn.layer.activation import LeakyReLU as LeakyReLU
from opsdk.nn.layer.activation import LogSigmoid as LogSigmoid
from opsdk.nn.layer.activation import LogSoftmax as LogSoftmax
from opsdk.nn.layer.activation import Mish as Mish
from opsdk.nn.layer.activation import ReLU as ReLU
from opsdk.nn.layer.activation import ReLU6 as ReLU6
from opsdk.nn.layer.activation import SELU as SELU
from opsdk.nn.layer.activation import Sigmoid as Sigmoid
from opsdk.nn.layer.activation import Silu as Silu
from opsdk.nn.layer.activation import Softmax as Softmax
from opsdk.nn.layer.activation import Softplus as Softplus
from opsdk.nn.layer.activation import Softshrink as Softshrink
from opsdk.nn.layer.activation import Softsign as Softsign
from opsdk.nn.layer.activation import Tanh as Tanh
from opsdk.nn.layer.activation import Tanhshrink as Tanhshrink
from opsdk.nn.layer.activation import ThresholdedReLU as ThresholdedReLU
from opsdk.nn.layer.containers import LayerDict as LayerDict
from opsdk.nn.layer.containers import LayerList as LayerList
from opsdk.nn.layer.containers import ParameterDict as ParameterDict
from opsdk.nn.layer.containers import ParameterList as ParameterList
from opsdk.nn.layer.containers import Sequential as Sequential
from opsdk.nn.layer.dropout import AlphaDropout as AlphaDropout
from opsdk.nn.layer.dropout import DropBlock as DropBlock
from opsdk.nn.layer.dropout import Dropout as Dropout
from opsdk.nn.layer.dropout import Dropout1d as Dropout1d
from opsdk.nn.layer.dropout import Dropout2D as Dropout2D
from opsdk.nn.layer.dropout import Dropout2d as Dropout2d
from opsdk.nn.layer.dropout import Dropout3D as Dropout3D
from opsdk.nn.layer.dropout import Dropout3d as Dropout3d
from opsdk.nn.layer.layer import Layer as Layer
from opsdk.nn.layer.layers import CrossEntropyLoss as CrossEntropyLoss
from opsdk.nn.layer.layers import Embedding as Embedding
from opsdk.nn.layer.layers import Flatten as Flatten
from opsdk.nn.layer.layers import Linear as Linear
from opsdk.nn.layer.layers import MSELoss as MSELoss
from opsdk.nn.layer.plug_in import PlugIn as PlugIn
from opsdk.nn.parameter import Parameter as Parameter
from opsdk.ops.initializer import ParamAttr as ParamAttr

Module = Layer
ModuleDict = LayerDict
ModuleList = LayerList
