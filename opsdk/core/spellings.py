"""What PyTorch, NumPy and Paddle call things: a table of keywords, and one of names that stand elsewhere here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, MutableMapping
from types import FunctionType
from typing import Any

# A keyword that a function does not have, and what it may be called there.
KEYWORDS = {
    "A": ("x",),
    "B": ("y",),
    "N": ("n",),
    "a_max": ("max",),
    "a_min": ("min",),
    "anchor": ("input",),
    "axis": ("dim",),
    "b": ("y",),
    "batch1": ("x",),
    "batch2": ("y",),
    "boundaries": ("sorted_sequence",),
    "diagonal": ("offset",),
    "dilation": ("dilations",),
    "dim": ("axis", "axes"),
    "dim0": ("axis0",),
    "dim1": ("axis1",),
    "dim2": ("axis2",),
    "dimension": ("axis",),
    "dims": ("axis", "axes", "perm", "repeat_times"),
    "elements": ("x",),
    "end": ("stop", "y"),
    "end_dim": ("stop_axis",),
    "eps": ("epsilon",),
    "exponent": ("y",),
    "indices": ("index", "num_or_indices"),
    "indices_or_sections": ("num_or_indices",),
    "input": ("x",),
    "input1": ("x1",),
    "input2": ("x2", "other"),
    "keepdims": ("keepdim",),
    "kernel_size": ("kernel_sizes",),
    "lambd": ("threshold",),
    "logits": ("x",),
    "m": ("num_columns",),
    "mat1": ("x",),
    "mat2": ("y",),
    "max_val": ("max",),
    "maxnorm": ("max_norm",),
    "min_val": ("min",),
    "n": ("num_rows",),
    "other": ("y", "value"),
    "output_size": ("output_sizes",),
    "pad": ("padding",),
    "padding": ("paddings",),
    "repeats": ("repeat_times",),
    "return_indices": ("return_mask",),
    "sections": ("num_or_indices",),
    "self": ("x", "input"),
    "size": ("shape", "out_shape"),
    "sizes": ("shape",),
    "source": ("values", "value"),
    "split_size": ("num_or_sections",),
    "split_size_or_sections": ("num_or_sections",),
    "src": ("values", "updates", "value", "y"),
    "start_dim": ("start_axis",),
    "steps": ("num",),
    "storage_offset": ("offset",),
    "stride": ("strides",),
    "target": ("label", "labels"),
    "target_lengths": ("label_lengths",),
    "targets": ("labels",),
    "tau": ("temperature",),
    "tensor": ("y",),
    "tensors": ("x", "inputs"),
    "test_elements": ("test_x",),
    "unflattened_size": ("shape",),
    "value": ("values",),
    "values": ("value", "y"),
    "var": ("variance",),
    "vec2": ("y",),
    "x": ("input",),
    "x1": ("x",),
    "x2": ("y",),
}


def own_word(name: str, known: Collection[str]) -> str:
    """Returns what a function calls an argument, of the names that it has; the name itself where it has none."""
    return name if name in known else next((each for each in KEYWORDS.get(name, ()) if each in known), name)


# Any: the values of a call.
def renamed(options: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    """Returns keyword arguments under the names that a function has for them; those without one as they are.

    `name`, which Paddle has everywhere, is taken where it means nothing.
    """
    made = dict(options)
    if "name" in made and "name" not in known and isinstance(made["name"], (str, type(None))):
        del made["name"]
    for name in [name for name in made if name not in known]:
        here = next((each for each in KEYWORDS.get(name, ()) if each in known and each not in made), None)
        if here is not None:
            made[here] = made.pop(name)
    return made


def spelled(function: Callable[..., Any], torchs: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Returns a function that takes the keywords of this table too.

    Args:
        function: of named parameters.
        torchs: takes the call where `dim` or `dim0` is among the keywords, or a number stands for it after the value:
            what only PyTorch spells so has PyTorch's result.
    """
    known = frozenset(inspect.signature(function).parameters)
    by_place = torchs is not None and getattr(torchs, "by_place", False)
    asked = None if torchs is None else frozenset(inspect.signature(torchs).parameters)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if torchs is not None and asked is not None:
            is_torchs = "dim" in options or "dim0" in options or (by_place and len(args) > 2 and type(args[1]) is int)
            if is_torchs:
                return torchs(*args, **renamed(options, asked))
        if options and not known.issuperset(options):
            options = renamed(options, known)
        return function(*args, **options)

    return call


def spell(names: MutableMapping[str, Any]) -> None:
    """Makes every public function of a module, by whose names it is called, take the keywords of this table too."""
    for name, value in list(names.items()):
        if isinstance(value, FunctionType) and value.__module__ == names["__name__"] and not name.startswith("_"):
            names[name] = spelled(value)


_VALUES = "x.max(1) gives the values alone, as in Paddle; x.max(dim=1), as sort, topk and the like, both by name"
_SPARSE = "tensors are dense here"
_NUMPY = "the functions of numpy.{0} on x.numpy(), or an op of your own around them"
# By what is asked, and by the name that is missing there.
ELSEWHERE: dict[str, dict[str, str]] = {
    "opsdk": {
        "utils": "opsdk.io for torch.utils.data, opsdk.autograd.recompute for torch.utils.checkpoint",
        "vmap": "opsdk.autograd.functional.vmap",
        "func": "opsdk.autograd.functional, with vmap, jvp, vjp, jacobian and hessian; opsdk.nn.functional_call",
        "compile": "opsdk.static.Program, which is run whole; an op of opsdk.elementwise is compiled by itself",
        "Size": "tuple(x.shape); a shape is a list",
        "dtype": "numpy.dtype, of which opsdk.float32 and the others are",
        "autocast": "opsdk.amp.auto_cast",
        "GradScaler": "opsdk.amp.GradScaler",
        "set_default_dtype": "dtype= where a tensor or a layer is made; float32 unless given",
        "get_default_dtype": "float32, which is what tensors and layers are made of unless dtype= says otherwise",
        "set_default_device": "device= where a tensor is made",
        "set_num_threads": "opsdk.set_flags({'threads': 2})",
        "fft": _NUMPY.format("fft"),
        "special": "the functions of opsdk itself, such as opsdk.erf, opsdk.digamma and opsdk.xlogy",
        "random": "opsdk.seed, opsdk.get_rng_state, opsdk.set_rng_state and opsdk.Generator",
        "sparse": _SPARSE,
        "distributed": "one process; opsdk.io.DataLoader has worker processes for data",
        "distributions": "opsdk.normal, bernoulli, multinomial and the other functions that draw",
        "hub": "opsdk.vision.models",
        "nan": "float('nan')",
        "inf": "float('inf')",
        "pi": "math.pi",
        "e": "math.e",
        "finfo": "numpy.finfo",
        "iinfo": "numpy.iinfo",
        "Module": "opsdk.nn.Module",
        "Storage": "x.numpy(), or opsdk.from_numpy, which shares the memory",
        "export": "opsdk.save of a layer or its state_dict",
        "profiler": "python -m opsdk bench, or Python's cProfile",
        "uint16": "the name of the dtype, 'uint16'",
        "uint32": "the name of the dtype, 'uint32'",
        "uint64": "the name of the dtype, 'uint64'",
        **{
            f"{kind}Tensor": f"opsdk.tensor(values, dtype='{dtype}'), or of sizes opsdk.empty(2, 3, dtype='{dtype}')"
            for kind, dtype in {
                **{"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"},
                **{"Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool"},
            }.items()
        },
    },
    "opsdk.linalg": {
        "LinAlgError": "opsdk.errors.InputValueError, which is a ValueError",
        "vector_norm": "opsdk.linalg.norm(x, p, axis)",
        "matrix_norm": "opsdk.linalg.norm(x, 'fro', [-2, -1])",
        "lu": "scipy.linalg.lu_factor of x.numpy(), or opsdk.linalg.solve",
        "lu_factor": "scipy.linalg.lu_factor of x.numpy(), or opsdk.linalg.solve",
        "inv_ex": "opsdk.linalg.inv",
        "cholesky_ex": "opsdk.linalg.cholesky",
        "eig": _NUMPY.format("linalg"),
        "eigvals": _NUMPY.format("linalg"),
        "matrix_exp": "an op of your own around scipy.linalg.expm",
    },
    "opsdk.nn": {
        "DataParallel": "the layer itself; there is one device",
        "parallel": "the layer itself; there is one device",
        "SyncBatchNorm": "BatchNorm2d; there is one device",
        "modules": "opsdk.nn itself",
        "Buffer": "register_buffer(name, tensor)",
        "RNNBase": "RNNCellBase, LSTM, GRU or SimpleRNN",
        "NLLLoss2d": "NLLLoss",
        **dict.fromkeys(
            (f"Lazy{kind}" for kind in ("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d")),
            "the layer without Lazy, with the size of its input",
        ),
    },
    "opsdk.nn.utils": {
        "rnn": "sequence_length= of a call of LSTM, GRU or SimpleRNN, which takes padded sequences",
        "parametrizations": "opsdk.nn.utils.weight_norm and spectral_norm",
        "parametrize": "opsdk.nn.utils.weight_norm and spectral_norm, or a property of the layer",
        "stateless": "opsdk.nn.functional_call",
        "clip_grad_norm": "clip_grad_norm_",
    },
    "opsdk.autograd": {
        "gradcheck": "opsdk.verify of an op, opsdk.gradcheck.check of any function",
        "gradgradcheck": "opsdk.verify, which looks at second derivatives too",
        "forward_ad": "opsdk.autograd.functional.jvp",
        "Variable": "opsdk.tensor(values, requires_grad=True)",
        "graph": "opsdk.autograd.saved_tensors_hooks",
        "profiler": "python -m opsdk bench, or Python's cProfile",
        "inference_mode": "opsdk.inference_mode",
    },
    "opsdk.amp": {"autocast": "auto_cast"},
    "opsdk.cuda": {
        "amp": "opsdk.amp",
        "empty_cache": "opsdk.memory.release",
        "memory_allocated": "opsdk.memory.stats",
        "current_device": "x.place of a tensor",
        "set_device": "device= or x.cuda(number)",
    },
    "opsdk.io": {
        "DistributedSampler": "RandomSampler; there is one process",
        "default_convert": "default_collate",
        "StackDataset": "TensorDataset or ComposeDataset",
    },
    "opsdk.Tensor": {
        "values": _VALUES,
        "indices": _VALUES,
        "to_sparse": _SPARSE,
        "data_ptr": "x.numpy(), or NumPy's x.__array__()",
        "storage": "x.numpy(), or opsdk.from_numpy, which shares the memory",
        "pin_memory": "the tensor itself; a copy to a device waits for what it copies",
        "share_memory_": "opsdk.io.DataLoader, whose worker processes hand batches on without it",
        "squeeze_": "x.squeeze(), which shares the memory",
        "unsqueeze_": "x.unsqueeze(axis), which shares the memory",
        "transpose_": "x.transpose(0, 1), which shares the memory",
        "t_": "x.t(), which shares the memory",
        "resize_": "x.reshape(shape)",
    },
}


def missing(owner: str, name: str, found: str = "") -> AttributeError:
    """Returns the error of a name that a module or class does not have, with what to write instead where that is known.

    Args:
        owner: what was asked, as in the table.
        name: what is missing.
        found: where else it is, for names without an entry.
    """
    remedy = ELSEWHERE.get(owner, {}).get(name, found)
    what = "type object" if owner == "opsdk.Tensor" else "module"
    return AttributeError(f"{what} {owner!r} has no attribute {name!r}{remedy and f'; here it is {remedy}'}", name=name)


# Any: what a module would have under a name.
def point(names: dict[str, Any], owner: str) -> None:
    """Makes a module say where what it does not have is found; type checkers see nothing of it.

    Args:
        names: of the module.
        owner: what the module is called in the table.
    """

    def __getattr__(name: str) -> Any:
        raise missing(owner, name)

    names["__getattr__"] = __getattr__


class Absent:
    """What a class does not have, with the text that says what to write instead."""

    def __init__(self, owner: str, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, held: object, kind: type) -> Any:
        raise missing(self._owner, self._name)
