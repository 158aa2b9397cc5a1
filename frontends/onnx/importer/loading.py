"""From a file to a checked ModelProto."""

from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto

from xrelay.frontends.onnx.errors import OnnxImportError
from xrelay.frontends.onnx.messages import names
from xrelay.runtime.arguments import path_argument
from xrelay.runtime.reading import read_source


def load_model(path: str | Path) -> ModelProto:
    """
    The model in the binary ONNX file at `path`. External data stays where it is.

    Raises OnnxImportError when the file cannot be read, is not an ONNX model, is cut off, or
    holds an empty graph.
    """
    path = path_argument("the path of the model", path, OnnxImportError)
    try:
        content = read_source(path)
    except FileNotFoundError:
        raise OnnxImportError(f"cannot read model '{path}': there is no such file") from None
    except IsADirectoryError:
        raise OnnxImportError(f"cannot read model '{path}': it is a directory") from None
    except OSError as error:
        raise OnnxImportError(f"cannot read model '{path}': {error.strerror}") from None
    if not content:
        raise OnnxImportError(f"cannot read model '{path}': the file is empty")
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise OnnxImportError(
            f"cannot read model '{path}': it is not an ONNX file, or it is cut off"
        ) from None
    check_model(model, f"model '{path}'")
    return model


def check_model(model: ModelProto, what: str) -> None:
    """Raises OnnxImportError unless the parts of a model that everything needs are there."""
    if model.ir_version < 1 or not model.HasField("graph"):
        raise OnnxImportError(f"cannot read {what}: it is not an ONNX model, or it is cut off")
    if model.ir_version >= 3 and not model.opset_import:
        raise OnnxImportError(
            f"cannot read {what}: it names no operator set; it may be cut off after the graph"
        )
    if not model.graph.output:
        raise OnnxImportError(f"cannot read {what}: its graph is empty, it has no outputs")
    if model.graph.sparse_initializer:
        name = model.graph.sparse_initializer[0].values.name
        raise OnnxImportError(f"cannot read {what}: its initializer '{name}' is a sparse tensor")
    for text in names(model):
        if not isinstance(text, str):
            raise OnnxImportError(f"cannot read {what}: its name {text!r} is not UTF-8 text")
