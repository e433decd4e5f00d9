"""Floor 3, static: Programs that are built once and run many times, with Paddle's words and meanings."""

from opsdk.ops.initializer import ParamAttr
from opsdk.static import nn
from opsdk.static.build.backward import append_backward, gradients
from opsdk.static.build.building import disable_static, enable_static, in_dynamic_mode, program_guard
from opsdk.static.build.frontend import Recorder as _Recorder  # noqa: F401 - the import makes Variables known to ops
from opsdk.static.build.input import InputSpec, data
from opsdk.static.build.py_func import py_func
from opsdk.static.build.vjp import pulled as _pulled  # noqa: F401 - the import makes products with Jacobians known
from opsdk.static.ir.block import Block
from opsdk.static.ir.operator import Operator
from opsdk.static.ir.parameter import create_global_var, create_parameter
from opsdk.static.ir.program import Program, default_main_program, default_startup_program
from opsdk.static.ir.variable import Parameter, Variable
from opsdk.static.nn import accuracy
from opsdk.static.run.executor import Executor
from opsdk.static.run.scope import Scope, global_scope, scope_guard

__all__ = [
    "Block",
    "Executor",
    "InputSpec",
    "Operator",
    "ParamAttr",
    "Parameter",
    "Program",
    "Scope",
    "Variable",
    "accuracy",
    "append_backward",
    "create_global_var",
    "create_parameter",
    "data",
    "default_main_program",
    "default_startup_program",
    "disable_static",
    "enable_static",
    "global_scope",
    "gradients",
    "in_dynamic_mode",
    "nn",
    "program_guard",
    "py_func",
    "scope_guard",
]
