"""`opsdk.save` and `opsdk.load`: values on disk, written whole or not at all, and read without running anything."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import bfloat16
from opsdk.core.errors import FileMissingError, PlaceError, SavedFileError
from opsdk.core.files import dense, pickled, tensors
from opsdk.core.files.atomic import replacing
from opsdk.nn.layer.state import NAME_TABLE
from opsdk.saving.models import Classes
from opsdk.saving.tree import Decoder, Encoder

# Any, in this file: values of every type.


def save(obj: Any, path: str | os.PathLike[str] | IO[bytes]) -> None:
    """Saves a value: a state dictionary of a layer or optimizer, tensors, nested containers of them, a whole model.

    The file is one of safetensors: a state dictionary's arrays are there by their names, for any reader of that format.
    It takes the place of an older one when it is on the disk whole; where saving fails, or the process dies, the older
    one stays. Folders on the way are made.

    Args:
        obj: tensors and arrays of any dtype, numbers, texts, bytes, None, lists, tuples, sets and dictionaries of them;
            layers, whose hooks stay behind; ops and functions of `nn.functional`; dataclasses. A tensor that stands in
            several places is saved once, and is one tensor again after loading. A view is saved without the memory
            around it.
        path: any suffix; `.pdparams` and `.pdopt` are usual. Or a binary file that can seek.

    Raises:
        AttributeValueError: something in it cannot be saved; the message says where.
        FileWriteError: the path is that of a folder, or cannot be written.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> save({"epoch": 3, "lr": [0.1, 0.01]}, file)
        >>> load(file)
        {'epoch': 3, 'lr': [0.1, 0.01]}
    """
    encoder = Encoder("save")
    text = encoder.text(obj)
    if not isinstance(path, (str, os.PathLike)):
        return tensors.write(path, encoder.arrays, text)
    with replacing(path, "save") as file:
        tensors.write(file, encoder.arrays, text)


def load(
    path: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    *,
    classes: Iterable[type] = (),
    return_numpy: bool = False,
    weights_only: bool = True,
) -> Any:
    """Loads what `save` saved; also safetensors files of others, and Paddle's `.pdparams`, `.pdopt` and 1.x parameters.

    Nothing that a file holds is run: classes are made only if they are named here, and of Paddle's pickles arrays,
    numbers, texts and containers are read, nothing else. A file is looked at whole before anything is made of it.

    Args:
        path: a file; a binary file that can seek; or a folder with one file for each parameter, as Paddle 1.x has them.
        map_location: "cpu" or a place of host memory, as in PyTorch: where tensors come to in any case.
        classes: the layers, and dataclasses, that a whole model is made of, apart from opsdk's own layers. Their
            `__init__` is not called: a loaded model has the attributes that the saved one had.
        return_numpy: gives arrays for tensors.
        weights_only: without meaning: no file runs code; `classes` says which may be made of it.

    Returns:
        The value. A tensor of an own file has its dtype, name and `stop_gradient`, and comes to host memory, from
        wherever it was. Of Paddle's files arrays that have names are tensors.

    Raises:
        PlaceError: `map_location` is another place.
        FileMissingError: there is no such file.
        SavedFileError: the file is damaged, cut off, of a newer version, of an unknown format, or names a class that
            was not given, or code.
        UnknownOpError: a model holds an op that is not registered; import the module that defines it.
    """
    where = "cpu" if map_location is None else map_location
    if getattr(where, "kind", where) != "cpu":
        raise PlaceError(
            f"load: map_location expected None or 'cpu', where all tensors come to, got {map_location!r}; move what "
            "was loaded with .to(place), or load it into a layer there by set_state_dict"
        )
    if not isinstance(path, (str, os.PathLike)):
        return _read(path, Classes(classes, "load"), return_numpy, "load")
    subject = f"load {os.fspath(path)!r}"
    known = Classes(classes, subject)
    if Path(path).is_dir():
        files = sorted(each for each in Path(path).iterdir() if each.is_file() and not each.name.startswith("__"))
        return {each.name: _open(each, known, return_numpy, f"load {str(each)!r}") for each in files}
    return _open(path, known, return_numpy, subject)


def _open(path: str | os.PathLike[str], classes: Classes, return_numpy: bool, subject: str) -> Any:
    try:
        with Path(path).open("rb") as file:
            return _read(file, classes, return_numpy, subject)
    except FileNotFoundError:
        beside = Path(path).parent
        there = sorted(each.name for each in beside.iterdir())[:8] if beside.is_dir() else []
        raise FileMissingError(
            f"{subject}: expected a file, nothing is there; the folder has {', '.join(there) or 'nothing'}"
        ) from None
    except OSError as error:
        raise SavedFileError(f"{subject}: the file cannot be read: {error.strerror or error}") from error


def _read(file: IO[bytes], classes: Classes, return_numpy: bool, subject: str) -> Any:
    def tensor(array: np.ndarray, name: str | None) -> Any:
        if array.dtype == np.uint16:  # Paddle's way to write bfloat16; it has no tensors of uint16
            array = array.view(bfloat16())
        made = Tensor(array)
        made._name = name
        return array if return_numpy else made

    file.seek(0)
    head = file.read(16)
    if tensors.is_tensors(head):
        arrays, text = tensors.read(file, subject)
        if text is not None:
            return Decoder(arrays, classes, return_numpy, subject).value(text)
        return arrays if return_numpy else {name: Tensor(array) for name, array in arrays.items()}
    if pickled.is_pickle(head):
        return _of_paddle(pickled.read(file, subject, tensor), tensor, subject)
    if dense.is_dense(head):
        several = [tensor(array, None) for array in dense.read(file, subject)]
        return several[0] if len(several) == 1 else several
    zipped = "; it is a zip, as torch.save writes: load it with torch, and use from_torch_state_dict"
    raise SavedFileError(
        f"{subject}: expected a file of opsdk.save, safetensors, or Paddle's parameters, got one that begins with "
        f"{head[:8]!r}{zipped if head[:2] == b'PK' else ''}"
    )


def _of_paddle(content: Any, tensor: Any, subject: str) -> Any:
    """Returns a pickle's content as Paddle's `load` gives it: without the table of names, which the tensors get."""
    if not isinstance(content, dict):
        return content
    names = content.pop(NAME_TABLE, {})
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise SavedFileError(f"{subject}: expected {NAME_TABLE!r} to be a table of names, got another value; damaged?")
    return {
        key: tensor(value, names.get(key)) if isinstance(value, np.ndarray) else value for key, value in content.items()
    }
