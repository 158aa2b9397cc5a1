"""Tensors of files: what is stored in another file, in segments, in less than a byte, or under a name of a type."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import one_node

from xrelay.frontends.onnx import OnnxImportError, external, import_model
from xrelay.frontends.onnx.tensors import element_type_named, loaded_tensor, tensor_array


def beside(folder: Path, code: int, dims: list[int], content: bytes) -> TensorProto:
    """A tensor whose bytes are in a file."""
    (folder / "data").write_bytes(content)
    tensor = TensorProto(name="t", data_type=code, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="data")
    return tensor


@pytest.mark.parametrize(
    ("code", "dims", "content"),
    [
        (TensorProto.FLOAT, [2], np.array([1.5, -2], np.float32).tobytes()),
        (TensorProto.UINT4, [3], b"\x21\x03"),
        (TensorProto.UINT4, [4], b"\x21\x43"),
        (TensorProto.INT4, [5], b"\x21\x43\x05"),
        (TensorProto.FLOAT8E5M2, [3], b"abc"),
        (TensorProto.UINT4, [0], b""),
    ],
)
def test_tensors_are_loaded_with_their_bytes(
    tmp_path: Path, code: int, dims: list[int], content: bytes
) -> None:
    """As many as their elements take, two of 4 bits in each."""
    stored = beside(tmp_path, code, dims, content)
    loaded = loaded_tensor(stored, tmp_path)
    expected = TensorProto(name="t", data_type=code, dims=dims, raw_data=content)
    assert loaded == expected
    assert loaded_tensor(loaded, None) is loaded
    if code == TensorProto.UINT4 and dims == [3]:
        assert tensor_array(stored, tmp_path).tolist() == [1, 2, 3]


def test_bytes_that_are_too_many(tmp_path: Path) -> None:
    """The length that is stated is that of the elements."""
    stored = beside(tmp_path, TensorProto.UINT4, [3], b"\x21\x03\x00")
    stored.external_data.add(key="length", value="3")
    with pytest.raises(OnnxImportError) as caught:
        loaded_tensor(stored, tmp_path)
    assert (
        str(caught.value)
        == "external data of tensor 't' has length 3, its shape and type need 2 bytes"
    )


def test_files_that_become_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at their length and the end of reading."""
    stored = beside(tmp_path, TensorProto.FLOAT, [2], b"1234567")

    def length(file: object) -> int:
        return 8

    monkeypatch.setattr(external, "size_of", length)
    with pytest.raises(OnnxImportError) as caught:
        loaded_tensor(stored, tmp_path)
    assert (
        str(caught.value) == "external data of tensor 't': 'data' became shorter while it was read"
    )


def test_shapes_that_are_refused() -> None:
    """With numbers below 0, and in segments."""
    tensor = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[2, -1])
    with pytest.raises(OnnxImportError) as caught:
        tensor_array(tensor, None)
    assert str(caught.value) == "tensor 't' has the shape [2, -1] with a negative number"
    segments = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[2])
    segments.segment.begin = 0
    with pytest.raises(OnnxImportError) as caught:
        tensor_array(segments, None)
    assert str(caught.value) == "tensor 't' is stored in segments, which is not supported"


def test_names_of_element_types() -> None:
    """Those of ONNX, in letters of any size, as Cast had them before operator set 6."""
    assert str(element_type_named("FLOAT")) == str(element_type_named("float")) == "f32"
    assert str(element_type_named("BFLOAT16")) == "bf16"
    with pytest.raises(OnnxImportError, match="^'REAL' is not the name of an element type$"):
        element_type_named("REAL")
    message = "^'STRING' has elements of type STRING, which is not supported$"
    with pytest.raises(OnnxImportError, match=message):
        element_type_named("STRING")


def test_operators_of_later_sets() -> None:
    """What they mean is not known."""
    with pytest.raises(OnnxImportError, match="op type Relu, domain 'ai.onnx', opset 999: "):
        import_model(one_node("Relu", [np.zeros(2, np.float32)], opset=999))
