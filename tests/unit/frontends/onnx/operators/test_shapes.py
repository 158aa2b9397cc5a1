"""Other shapes, parts and orders of the same elements, against onnxruntime or NumPy."""

import numpy as np
import pytest
from onnx_models import Samples, check, longs, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(7)
floats = SAMPLES.floats


@pytest.mark.parametrize("shape", [[4, 6], [-1, 6], [0, -1], [2, 0, 0], [24], [1, 0, -1, 2]])
def test_reshape(shape: list[int]):
    if shape == [1, 0, -1, 2]:
        shape = [2, 0, -1, 2]
    check("Reshape", [floats(2, 3, 4)], [longs(*shape)])


def test_reshape_by_attribute():
    data = floats(2, 3, 4)
    check("Reshape", [data], opset=1, shape=[0, -1], expected=data.reshape(2, 12))


def test_reshape_allows_zero():
    check("Reshape", [floats(0, 3)], [longs(3, 0)], opset=14, allowzero=1)


def test_transpose():
    check("Transpose", [floats(2, 3, 4)])
    check("Transpose", [floats(2, 3, 4)], perm=[1, 2, 0])


@pytest.mark.parametrize("axis", [-2, 0, 1, 2, 3])
def test_flatten(axis: int):
    check("Flatten", [floats(2, 3, 4)], axis=axis)


@pytest.mark.parametrize("axes", [[0], [1, 2], [0, 3], [-1], [4, 0, 2], [-1, 0]])
@pytest.mark.parametrize("opset", [11, 13])
def test_unsqueeze(axes: list[int], opset: int):
    if opset < 13:
        check("Unsqueeze", [floats(2, 3)], opset=opset, axes=axes)
    else:
        check("Unsqueeze", [floats(2, 3)], [longs(*axes)], opset=opset)


@pytest.mark.parametrize("axes", [None, [0], [0, -1]])
@pytest.mark.parametrize("opset", [11, 13])
def test_squeeze(axes: list[int] | None, opset: int):
    data = floats(1, 3, 1)
    if axes is None:
        check("Squeeze", [data], opset=opset)
    elif opset < 13:
        check("Squeeze", [data], opset=opset, axes=axes)
    else:
        check("Squeeze", [data], [longs(*axes)], opset=opset)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concat(axis: int):
    check("Concat", [floats(2, 3), floats(2, 3), floats(2, 3)], axis=axis)
    check("Concat", [floats(2, 3)], axis=axis)


def test_concat_default_axis():
    parts = [floats(2, 3), floats(2, 1)]
    check("Concat", parts, opset=1, expected=np.concatenate(parts, 1))
    with pytest.raises(OnnxImportError, match="attribute 'axis' is missing"):
        import_model(one_node("Concat", parts, opset=4))


def test_split():
    data = floats(6, 4)
    check("Split", [data], opset=11, outputs=3)
    check("Split", [data], opset=11, outputs=2, axis=-1, split=[1, 3])
    check("Split", [data], opset=13, outputs=2)
    check("Split", [data], [longs(1, 3, 2)], opset=13, outputs=3)
    check("Split", [data], opset=18, outputs=4, num_outputs=4, expected=np.split(data, [2, 4, 6]))
    check("Split", [data], [longs(6)], opset=13, outputs=1)


@pytest.mark.parametrize(
    "starts, ends, axes, steps",
    [
        ([1, 0], [3, 2], None, None),
        ([1], [-1], [1], None),
        ([-3], [1000], [-1], [2]),
        ([-1], [-(2**63)], [0], [-1]),
        ([3, -1], [0, -100], [0, 1], [-2, -3]),
        ([2], [2], [0], [1]),
    ],
)
def test_slice(starts: list[int], ends: list[int], axes: list[int] | None, steps: list[int] | None):
    constants = [None if each is None else longs(*each) for each in (starts, ends, axes, steps)]
    check("Slice", [floats(4, 5)], constants)


def test_slice_by_attributes():
    data = floats(4, 5)
    check("Slice", [data], opset=9, starts=[1, -4], ends=[3, 9], expected=data[1:3, -4:9])
    check("Slice", [data], opset=9, starts=[1], ends=[3], axes=[1], expected=data[:, 1:3])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("constant", [False, True])
def test_gather_counts_negative_indices_from_the_end(axis: int, constant: bool):
    indices = np.array([[0, -1], [-3, 2]], np.int64)
    if constant:
        check("Gather", [floats(3, 4, 3)], [indices], axis=axis)
    else:
        check("Gather", [floats(3, 4, 3), indices.astype(np.int32)], axis=axis)


def test_gather_scalar():
    check("Gather", [floats(3, 4)], [np.array(-1)], axis=1)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode: str):
    check("Pad", [floats(3, 4)], [longs(1, 0, 2, 3)], mode=mode)
    check("Pad", [floats(3, 4)], [longs(2, 1), None, longs(-1)], opset=18, mode=mode)


def test_pad_values():
    data = floats(3, 4)
    check("Pad", [data], [longs(1, 0, 2, 3), np.array(1.5, np.float32)])
    check("Pad", [data], [longs(-1, 1, 2, -2)])
    options = {"pads": [0, 1, 2, 0], "value": 1.5}
    check(
        "Pad",
        [data],
        opset=2,
        **options,
        expected=np.pad(data, ((0, 2), (1, 0)), constant_values=1.5),
    )
    check("Pad", [data], opset=1, paddings=[0, 1, 2, 0], expected=np.pad(data, ((0, 2), (1, 0))))


def test_tile():
    data = floats(2, 3)
    check("Tile", [data], [longs(2, 1)])
    check("Tile", [data], [longs(3), longs(1)], opset=1, expected=np.tile(data, (1, 3)))


@pytest.mark.parametrize("shape", [[2, 3], [4, 1, 1], [1], [2, 1]])
def test_expand(shape: list[int]):
    check("Expand", [floats(2, 1)], [longs(*shape)])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode: str):
    check("DepthToSpace", [floats(1, 8, 2, 3)], blocksize=2, mode=mode)
    check("DepthToSpace", [floats(2, 18, 1, 2)], blocksize=3, mode=mode)


def test_space_to_depth():
    data = floats(1, 2, 4, 6)
    check("SpaceToDepth", [data], blocksize=2)
    check("SpaceToDepth", [floats(1, 2, 3, 6)], blocksize=3)
    by_column = data.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3)
    check("SpaceToDepth", [data], opset=28, blocksize=2, mode="CRD", expected=by_column)
