"""Tensor data in files beside the model: read only from inside of the model's folder."""

from pathlib import Path

from onnx import TensorProto

from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.runtime.reading import LocationError, open_beside, size_of

MAX_DIGITS = 19
"""No file is so large that its size has more digits than this."""


def read_external(tensor: TensorProto, base_dir: Path | None, size: int) -> bytes:
    """
    The `size` bytes of a tensor that says its data are external.

    Raises OnnxImportError, before anything is read, when the location does not lead to a regular
    file inside of `base_dir` (see `open_beside`), or the stated offset and length do not fit the
    file and the tensor.
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
    try:
        with open_beside(base_dir, location) as file:
            if offset + size > size_of(file):
                raise OnnxImportError(
                    f"{what}: '{location}' has {size_of(file)} bytes, "
                    f"offset {offset} and length {size} reach beyond its end"
                )
            file.seek(offset)
            content = file.read(size)
    except LocationError as error:
        raise OnnxImportError(f"{what}: {error}") from None
    except OSError as error:
        raise OnnxImportError(f"{what}: cannot read '{location}': {error.strerror}") from None
    if len(content) != size:
        raise OnnxImportError(f"{what}: '{location}' became shorter while it was read")
    return content


def _number(text: str, key: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise OnnxImportError(
            f"{what}: '{key}' is \"{text}\", expected a number that is not negative"
        )
    if len(text) > MAX_DIGITS:
        raise OnnxImportError(
            f"{what}: '{key}' is a number of {len(text)} digits, which is larger than any file"
        )
    return int(text)
