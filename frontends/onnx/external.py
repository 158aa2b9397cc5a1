"""Tensor data in files beside the model: read only from inside of the model's folder."""

import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import TensorProto

from xrelay.frontends.onnx.errors import OnnxImportError


def read_external(tensor: TensorProto, base_dir: Path | None, size: int) -> bytes:
    """
    The `size` bytes of a tensor that says its data are external.

    Raises OnnxImportError, before anything is read, when the location leaves `base_dir` (also by
    a symbolic link), is no regular file, or the stated offset and length do not fit the file
    and the tensor.
    """
    what = f"external data of tensor '{tensor.name}'"
    if base_dir is None:
        raise OnnxImportError(
            f"{what} lies in a file beside the model: import the model from its file, or pass base_dir= to import_model"
        )
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    offset = _number(entries.get("offset", "0"), "offset", what)
    length = _number(entries.get("length", str(size)), "length", what)
    if length != size:
        raise OnnxImportError(f"{what} has length {length}, its shape and type need {size} bytes")
    path = _inside(base_dir, location, what)
    try:
        with open(path, "rb", opener=_open) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OnnxImportError(f"{what}: '{location}' is not a regular file")
            if offset + size > status.st_size:
                raise OnnxImportError(
                    f"{what}: '{location}' has {status.st_size} bytes, "
                    f"offset {offset} and length {size} reach beyond its end"
                )
            file.seek(offset)
            content = file.read(size)
    except OSError as error:
        raise OnnxImportError(f"{what}: cannot read '{location}': {error.strerror}") from None
    if len(content) != size:
        raise OnnxImportError(f"{what}: '{location}' became shorter while it was read")
    return content


def _open(path: str, flags: int) -> int:
    """Opens a file that is no link; a named pipe without waiting for a writer."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _number(text: str, key: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise OnnxImportError(
            f"{what}: '{key}' is \"{text}\", expected a number that is not negative"
        )
    return int(text)


def _inside(base_dir: Path, location: str, what: str) -> Path:
    """The file that `location` names, with symbolic links resolved."""
    parts = PurePosixPath(location).parts + PureWindowsPath(location).parts
    if not location or "\0" in location:
        raise OnnxImportError(f"{what}: the location is empty or not a path")
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        raise OnnxImportError(f"{what}: '{location}' is an absolute path, which is not allowed")
    if ".." in parts:
        raise OnnxImportError(f"{what}: '{location}' contains '..', which is not allowed")
    try:
        base = base_dir.resolve(strict=True)
        path = (base / location).resolve(strict=True)
    except (OSError, RuntimeError):
        raise OnnxImportError(f"{what}: there is no file '{location}' beside the model") from None
    if not path.is_relative_to(base):
        raise OnnxImportError(f"{what}: '{location}' leads out of the folder of the model")
    return path
