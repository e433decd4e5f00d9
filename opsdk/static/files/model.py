"""The three files of a model: `.pdmodel` with its Programs, `.pdiparams` with the values, `.pdiparams.info` of both."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.errors import FileMissingError, FileWriteError, SavedFileError
from opsdk.core.files import tensors
from opsdk.core.files.atomic import replacing
from opsdk.core.spec import TensorSpec
from opsdk.static.files.reading import Document
from opsdk.static.files.values import NotWrittenError, read_tree, spec
from opsdk.static.files.written import described, packages_of, text_of
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable

MODEL, PARAMS, INFO = ".pdmodel", ".pdiparams", ".pdiparams.info"
_SUFFIXES = (INFO, PARAMS, MODEL, ".pdparams", ".pdopt")
_VERSION = 1
_KEY, _CHECK = "opsdk.info", "check"
_DEEPEST = 100  # layers in one another


def prefix_of(path: str | os.PathLike[str], subject: str) -> str:
    """Returns what the names of files begin with; a path to one of them is taken, too.

    Raises:
        FileWriteError: it is the name of a folder, or empty.
    """
    text = os.fspath(path)
    if not text or text.endswith(("/", os.sep)):
        raise FileWriteError(f"{subject}: path expected what names of files begin with, got {text!r}, that of a folder")
    return next((text.removesuffix(suffix) for suffix in _SUFFIXES if text.endswith(suffix)), text)


FORWARD = "forward"  # the name of the function that a model is run by
KINDS = ("parameter", "buffer", "transient")


# Any, in this file: what JSON has.
class Kept(NamedTuple):
    """A tensor of a layer's state, in a file.

    Attributes:
        variable: its name in the Programs.
        kind: `parameter`, `buffer`, or `transient`: a buffer that `state_dict` does not have.
        trainable: whether a gradient flows to it.
    """

    variable: str
    kind: str
    trainable: bool


class Function:
    """One Program of a model, with what goes in and what comes out of it.

    Args:
        program: the Program.
        inputs: names of data variables, in their order.
        outputs: a structure of names, as `values.tree` gives it.

    Attributes:
        names: those in `outputs`, in their order.

    Raises:
        NotWrittenError: one is something else.
    """

    def __init__(self, program: Program, inputs: Any, outputs: Any) -> None:
        self.program = program
        self.names: list[str] = []
        read_tree(outputs, self.names.append)
        known = program.global_block().vars
        is_fed = isinstance(inputs, list) and all(isinstance(name, str) for name in inputs)
        if not is_fed or not all(name in known and known[name].is_data for name in inputs):
            raise NotWrittenError("inputs expected names of data variables")
        if len({*inputs}) < len(inputs) or any(name not in known for name in self.names):
            raise NotWrittenError("inputs and outputs expected names of variables, of inputs once each")
        self.inputs: list[str] = inputs
        self.outputs = outputs

    def __deepcopy__(self, memo: object) -> Function:
        return self  # nothing changes it


def write_model(
    path: str | os.PathLike[str],
    functions: Mapping[str, Function],
    arrays: Mapping[str, np.ndarray],
    state: Mapping[str, Kept],
    subject: str,
    evaluated_only: str = "",
) -> None:
    """Writes the three files; older ones stay where it fails.

    Args:
        path: what their names begin with; folders on the way are made.
        functions: by name.
        arrays: by name of a variable its value.
        state: the tensors of a layer by their dotted names; nothing where there is no layer.
        subject: who writes, for messages.
        evaluated_only: why there is no function for training, where there was to be one.

    Raises:
        ProgramError: a Program holds what no other process finds.
        FileWriteError: a file cannot be written.
    """
    packages: dict[str, str] = {}
    written: dict[str, Any] = {}
    for name, function in functions.items():
        written[name] = {
            "inputs": function.inputs,
            "outputs": function.outputs,
            **described(function.program, subject),
        }
        packages |= packages_of(function.program)
    model = text_of(written, packages).encode()
    params = packed(arrays)
    info = {
        _KEY: _VERSION,
        "sha256": {suffix: hashlib.sha256(data).hexdigest() for suffix, data in ((MODEL, model), (PARAMS, params))},
        "evaluated_only": evaluated_only,
        "state": {path: kept._asdict() for path, kept in state.items()},
        "variables": {name: spec(TensorSpec(array.shape, array.dtype)) for name, array in arrays.items()},
    }
    prefix = prefix_of(path, subject)
    with ExitStack() as stack:  # all are on the disk before the first takes its name
        files = [stack.enter_context(replacing(prefix + suffix, subject)) for suffix in (MODEL, PARAMS, INFO)]
        for file, data in zip(files, (model, params, sealed(info)), strict=True):
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


def sealed(info: Mapping[str, Any]) -> bytes:
    """Returns the bytes of an `.info`, with a checksum of what is in it."""
    return json.dumps({**info, _CHECK: _check(info)}, indent=1).encode() + b"\n"


def _check(info: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in info.items() if key != _CHECK}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Returns the bytes of a file of arrays, which `opsdk.load` reads as a table of tensors."""
    file = io.BytesIO()
    tensors.write(file, arrays, json.dumps({name: {"$tensor": name, "name": name} for name in arrays}))
    return file.getvalue()


class Model:
    """A model that was read from its files, compared with its checksums: nothing of it was run.

    Args:
        path: what the names of its files begin with.
        subject: who reads, for messages.

    Raises:
        FileMissingError: one of the files is not there.
        SavedFileError: one is damaged, cut off, of a newer version, or not the one that was written with the others.
    """

    def __init__(self, path: str | os.PathLike[str], subject: str) -> None:
        prefix = prefix_of(path, subject)
        self.subject = f"{subject} {prefix!r}"
        data = {suffix: self._read(prefix + suffix) for suffix in (MODEL, PARAMS, INFO)}
        info = self._info(data[INFO])
        for suffix, said in info["sha256"].items():
            if said != hashlib.sha256(data[suffix]).hexdigest():
                raise SavedFileError(
                    f"{self.subject}: expected the {suffix} that was written with {INFO}, got another by its checksum; "
                    "damaged, or of another save: save the model again"
                )
        self.arrays = tensors.read(io.BytesIO(data[PARAMS]), f"{self.subject}, {PARAMS}").arrays
        self.state: dict[str, Kept] = info["state"]
        self.evaluated_only: str = info["evaluated_only"]
        for kept in self.state.values():
            if kept.variable not in self.arrays:
                raise SavedFileError(f"{self.subject}: {PARAMS} expected a value of {kept.variable[:60]!r}; damaged?")
        self._document = Document(_decoded(data[MODEL], self.subject), self.subject)

    def _read(self, path: str) -> bytes:
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            beside = Path(path).parent
            there = sorted(each.name for each in beside.iterdir())[:8] if beside.is_dir() else []
            raise FileMissingError(
                f"{self.subject}: expected the files {MODEL}, {PARAMS} and {INFO}, {Path(path).name!r} is not there; "
                f"the folder has {', '.join(there) or 'nothing'}"
            ) from None
        except OSError as error:
            raise SavedFileError(f"{self.subject}: {path!r} cannot be read: {error.strerror or error}") from error

    def _info(self, data: bytes) -> dict[str, Any]:
        try:
            info = json.loads(data)
            version, held, check = info[_KEY], info[_CHECK], _check(info)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._unread(error) from None
        if version != _VERSION:
            raise SavedFileError(
                f"{self.subject}: expected version {_VERSION} of {INFO}, got {str(version)[:20]}; a newer opsdk wrote "
                "it: update opsdk"
            )
        if held != check:
            raise SavedFileError(
                f"{self.subject}: expected the {INFO} that was written, got another by its checksum; damaged, or "
                "edited: save the model again"
            )
        try:
            sums, state = info["sha256"], {path: Kept(**entry) for path, entry in info["state"].items()}
            fits = set(sums) == {MODEL, PARAMS} and all(
                kept.kind in KINDS and isinstance(kept.trainable, bool) and isinstance(kept.variable, str)
                for kept in state.values()
            )
            fits = fits and all(path.count(".") < _DEEPEST for path in state)
        except (KeyError, TypeError, AttributeError) as error:
            raise self._unread(error) from None
        if not fits:
            raise SavedFileError(f"{self.subject}: expected checksums and a state in {INFO}, got other ones; damaged?")
        return {"sha256": sums, "state": state, "evaluated_only": str(info.get("evaluated_only", ""))[:1000]}

    def _unread(self, error: Exception) -> SavedFileError:
        return SavedFileError(f"{self.subject}: expected {INFO} in JSON, {error}; damaged?")

    @property
    def names(self) -> list[str]:
        """The names of its functions."""
        return list(self._document.programs)

    def function(self, name: str) -> Function:
        """Makes a function.

        Raises:
            SavedFileError: the model has none of that name, or a line of it is damaged, or a value of another dtype or
                shape than its variable.
            UnknownOpError: nobody here provides an op.
        """
        if name not in self._document.programs:
            raise SavedFileError(f"{self.subject}: expected function {name!r}, the model has {', '.join(self.names)}")
        program = self._document.program(name)
        written = self._document.programs[name]
        for variable in program.list_vars():
            if variable.persistable:
                self._check_value(variable)
        try:
            return Function(program, written.get("inputs"), written.get("outputs"))
        except (NotWrittenError, RecursionError) as error:
            raise SavedFileError(f"{self.subject}, {name!r}: {error}; damaged?") from None

    def _check_value(self, variable: Variable) -> None:
        array = self.arrays.get(variable.name)
        if array is None or array.dtype != variable.dtype or not variable.spec.admits(array.shape):
            got = "none" if array is None else f"{array.dtype} {array.shape}"
            raise SavedFileError(
                f"{self.subject}: {PARAMS} expected a value of {variable.name!r}, {variable.spec}, got {got}; damaged?"
            )


def _decoded(data: bytes, subject: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SavedFileError(f"{subject}: expected a text in UTF-8, {error.reason}; damaged?") from None
