"""
Tensors of files: of all types, of the size that their shape needs or not, stored in another file, which must lie in the
folder of the model, in segments, in less than a byte, or under a name of a type.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_models import Samples, build, by_import, one_node, operations, require_equal, untyped

from xrelay.dialects.core.blob import BlobAttr
from xrelay.dialects.core.values import ConstantOp
from xrelay.frontends.onnx import OnnxImportError, external, import_model, load_model
from xrelay.frontends.onnx.tensors import element_type_named, loaded_tensor, tensor_array
from xrelay.interpreters.relay import interpret

SAMPLES = Samples(7)


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


# Models with such a tensor


def identity_of(tensor: TensorProto) -> ModelProto:
    """A model whose output is a tensor."""
    tensor.name = "w"
    node = helper.make_node("Identity", ["w"], ["y"])
    return build([node], [], [untyped("y")], [tensor])


DTYPES = [
    *("float32", "float64", "float16", "bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (5, 7), (0, 2)])
@pytest.mark.parametrize("raw", [True, False])
def test_initializers(dtype: str, shape: tuple[int, ...], raw: bool):
    array = np.array(SAMPLES.random.integers(0, 2 if dtype == "bool" else 100, shape)).astype(dtype)
    if raw:
        tensor = numpy_helper.from_array(array)
    else:
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        tensor = helper.make_tensor("w", code, shape, array.ravel().tolist())
        assert not tensor.HasField("raw_data")
    require_equal(by_import(identity_of(tensor), []), [array])


@pytest.mark.parametrize("raw", [True, False])
def test_bfloat16(raw: bool):
    values = [1.5, -2.0, 0.25]
    tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3], values)
    if raw:
        bits = np.array(tensor.int32_data, np.uint16)
        tensor = helper.make_tensor("w", TensorProto.BFLOAT16, [3], bits.tobytes(), raw=True)
    (result,) = by_import(identity_of(tensor), [])
    assert result.astype(np.float32).tolist() == values


def test_large_constants_are_blobs_over_the_bytes():
    array = SAMPLES.floats(100)
    (constant,) = operations(import_model(identity_of(numpy_helper.from_array(array))))
    assert isinstance(constant, ConstantOp) and isinstance(constant.value, BlobAttr)
    data = constant.value.data.data
    assert isinstance(data, memoryview) and data.tobytes() == array.tobytes()


def test_tensors_must_have_the_size_of_their_shape():
    def tensor(**fields: Any) -> TensorProto:
        return TensorProto(dims=[3], data_type=TensorProto.FLOAT, **fields)

    short = TensorProto(dims=[2**40, 2**40], data_type=TensorProto.FLOAT, raw_data=b"1234")
    small = TensorProto(dims=[1], data_type=TensorProto.INT8, int32_data=[300])
    for broken, message in (
        (tensor(raw_data=b"1234567"), r"tensor 'w' has 7 bytes of data, .* \[3\] needs 12"),
        (tensor(raw_data=bytes(16)), "tensor 'w' has 16 bytes of data"),
        (tensor(float_data=[1, 2]), r"tensor 'w' has 2 elements of data, .* \[3\] needs 3"),
        (tensor(), "tensor 'w' has 0 elements of data"),
        (short, "tensor 'w' has 4 bytes of data"),
        (TensorProto(dims=[-1], data_type=1, raw_data=b""), "tensor 'w' has the shape"),
        (TensorProto(dims=[0], data_type=TensorProto.STRING), "elements of type STRING"),
        (TensorProto(dims=[0], data_type=TensorProto.COMPLEX64), "elements of type COMPLEX64"),
        (TensorProto(dims=[0], data_type=99), "elements of type 99"),
        (small, "tensor 'w' has elements that its type int8 cannot hold"),
    ):
        with pytest.raises(OnnxImportError, match=message):
            import_model(identity_of(broken))


WEIGHT = Samples(11).floats(5, 8)


def external_model(folder: Path, location: str, **entries: object) -> Path:
    """A model file whose one initializer has external data."""
    model = identity_of(numpy_helper.from_array(WEIGHT))
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    folder.mkdir(exist_ok=True)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data(tmp_path: Path):
    size = WEIGHT.nbytes
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "weights").write_bytes(b"1234" + WEIGHT.tobytes() + b"5678")
    (tmp_path / "link").symlink_to("data/weights")
    for location in ("data/weights", "./data/weights", "link"):
        for entries in ({"offset": 4}, {"offset": 4, "length": size}):
            path = external_model(tmp_path, location, **entries)
            (result,) = interpret(import_model(path), [])
            np.testing.assert_array_equal(result, WEIGHT)
    model = load_model(path)
    (result,) = interpret(import_model(model, base_dir=tmp_path), [])
    np.testing.assert_array_equal(result, WEIGHT)
    with pytest.raises(OnnxImportError, match="pass base_dir="):
        import_model(model)


@pytest.mark.parametrize(
    "entries, message",
    [
        ({"offset": 1}, "offset 1 and length 160 reach beyond its end"),
        ({"offset": 10**15}, "reach beyond its end"),
        ({"offset": 10**30}, "'offset' is a number of 31 digits"),
        ({"offset": -4}, "'offset' is \"-4\", expected a number that is not negative"),
        ({"offset": "x"}, "'offset' is \"x\""),
        ({"length": 100}, "has length 100, its shape and type need 160 bytes"),
        ({"length": 10**15}, "has length 1000000000000000"),
        ({"length": 10**30 - 1}, "'length' is a number of 30 digits, which is larger than any"),
        ({"length": -1}, "'length' is \"-1\""),
    ],
)
def test_external_data_with_wrong_sizes(tmp_path: Path, entries: dict[str, int], message: str):
    (tmp_path / "weights").write_bytes(WEIGHT.tobytes())
    with pytest.raises(OnnxImportError, match=message):
        import_model(external_model(tmp_path, "weights", **entries))


def test_external_data_stay_inside_of_the_folder(tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret"
    secret.write_bytes(WEIGHT.tobytes())
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    for location, message in (
        (str(secret), "is an absolute path"),
        ("C:\\secret", "is an absolute path"),
        ("\\\\server\\share\\secret", "is an absolute path"),
        ("../secret", "contains '..'"),
        ("sub/../../secret", "contains '..'"),
        ("..\\secret", "contains '..'"),
        ("link", "leads out of the folder"),
        ("up/secret", "leads out of the folder"),
        ("loop", "there is no file 'loop' beside the model"),
        ("missing", "there is no file 'missing' beside the model"),
        ("sub", "cannot read 'sub': Is a directory"),
        (".", "cannot read '.': Is a directory"),
        ("pipe", "cannot read 'pipe': it is a named pipe, expected a regular file"),
        ("", "the location is empty"),
        ("a\0b", "the location is empty or not a path"),
    ):
        with pytest.raises(OnnxImportError, match=message):
            import_model(external_model(folder, location))
