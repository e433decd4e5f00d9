"""Floor 5: names of Paddle 1.x, in their meaning there, for programs that say `import paddle.fluid as fluid`.

Nothing is done here that is not done elsewhere: each name is one of opsdk's, with the arguments that it had.
"""

from opsdk.core.place import CPUPlace, CUDAPlace
from opsdk.fluid import dygraph, io, layers, optimizer
from opsdk.fluid.dygraph import ProgramTranslator, declarative, enable_imperative
from opsdk.ops import initializer
from opsdk.ops.initializer import ParamAttr
from opsdk.static import (
    Executor,
    Program,
    Scope,
    Variable,
    append_backward,
    data,
    default_main_program,
    default_startup_program,
    global_scope,
    gradients,
    load,
    program_guard,
    save,
    scope_guard,
)

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "Executor",
    "ParamAttr",
    "Program",
    "ProgramTranslator",
    "Scope",
    "Variable",
    "append_backward",
    "data",
    "declarative",
    "default_main_program",
    "default_startup_program",
    "dygraph",
    "enable_imperative",
    "global_scope",
    "gradients",
    "initializer",
    "io",
    "layers",
    "load",
    "optimizer",
    "program_guard",
    "save",
    "scope_guard",
]
