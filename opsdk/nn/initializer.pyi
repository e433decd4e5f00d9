"""Initializers of parameters; each is also a call that fills a parameter in place.

Written by `python -m tests.contracts.stubs`.
"""

from opsdk.ops.initializer import Assign as Assign
from opsdk.ops.initializer import Constant as Constant
from opsdk.ops.initializer import Initializer as Initializer
from opsdk.ops.initializer import KaimingNormal as KaimingNormal
from opsdk.ops.initializer import KaimingUniform as KaimingUniform
from opsdk.ops.initializer import Normal as Normal
from opsdk.ops.initializer import Uniform as Uniform
from opsdk.ops.initializer import XavierNormal as XavierNormal
from opsdk.ops.initializer import XavierUniform as XavierUniform
from opsdk.ops.initializer import calculate_gain as calculate_gain
from opsdk.ops.nets.structured import Bilinear as Bilinear
from opsdk.ops.nets.structured import Dirac as Dirac
from opsdk.ops.nets.structured import Orthogonal as Orthogonal
from opsdk.ops.nets.structured import TruncatedNormal as TruncatedNormal
from opsdk.ops.nets.structured import set_global_initializer as set_global_initializer
