"""Floor 3, static: Programs that are built once and run many times, with Paddle's words and meanings."""

from opsdk.ops.initializer import ParamAttr
from opsdk.static import nn
from opsdk.static.build.backward import append_backward, gradients
from opsdk.static.build.building import disable_static, enable_static, in_dynamic_mode, program_guard
from opsdk.static.build.frontend import Recorder as _Recorder  # noqa: F401 - the import makes Variables known to ops
from opsdk.static.build.input import InputSpec, data
from opsdk.static.build.py_func import py_func
from opsdk.static.build.vjp import pulled as _pulled  # noqa: F401 - the import makes products with Jacobians known
from opsdk.static.files.deployed import (
    deserialize_persistables,
    deserialize_program,
    load_from_file,
    load_inference_model,
    normalize_program,
    save_inference_model,
    save_to_file,
    serialize_persistables,
    serialize_program,
)
from opsdk.static.files.saved import load, load_program_state, save, set_program_state
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
    "deserialize_persistables",
    "deserialize_program",
    "disable_static",
    "enable_static",
    "global_scope",
    "gradients",
    "in_dynamic_mode",
    "load",
    "load_from_file",
    "load_inference_model",
    "load_program_state",
    "nn",
    "normalize_program",
    "program_guard",
    "py_func",
    "save",
    "save_inference_model",
    "save_to_file",
    "scope_guard",
    "serialize_persistables",
    "serialize_program",
    "set_program_state",
]
