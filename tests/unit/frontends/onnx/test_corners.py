"""
Infinities, NaN, empty tensors and numbers out of range: operators where engines tend to differ, against
onnxruntime; where this differs from what docs/onnx.md says, against the numbers themselves.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx_models import Array, by_import, by_onnxruntime, check, kinds, longs, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model

INF, NAN = np.inf, np.nan


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def single(value: float | None) -> Array | None:
    return None if value is None else np.array(value, np.float32)


def require_same(op: str, data: list[Array], constants: list[Array | None], **options: Any) -> None:
    """The bits of onnxruntime's results, but for those of NaN."""
    model = one_node(op, data, constants, **options)
    results, expected = by_import(model, data), by_onnxruntime(model, data)
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("step", [-1, -2, 1, 3])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_places_of_slices_are_clamped(length: int, step: int):
    data = np.arange(length, dtype=np.float32)
    places = (-(2**63), -6, -5, -1, 0, 4, 5, 2**63 - 1)
    for start in places:
        for end in places:
            # There onnxruntime walks to the start of the axis, of which the text says nothing.
            if step > 0 or (length and end != places[-1]):
                constants = [longs(start), longs(end), longs(-1), longs(step)]
                require_same("Slice", [data], [*constants])


SPECIAL = floats(-INF, -3e38, -2.5, -1e-40, -0.0, 0.0, 0.5, 1.5, 3e38, INF, NAN)
LIMITS = [(None, None), (0, None), (None, 0), (-1, 1), (2, 1), (-INF, INF)]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_clip_has_finite_limits(limits: tuple[float | None, float | None], dtype: str):
    given = [None if each is None else np.array(each, dtype) for each in limits]
    with np.errstate(over="ignore"):
        require_same("Clip", [SPECIAL.astype(dtype)], given)


def test_clip_has_finite_limits_beside_computed_ones():
    data, limit = SPECIAL, np.array(0, np.float32)
    model = one_node("Clip", [data, limit])
    np.testing.assert_array_equal(
        by_import(model, [data, limit]), by_onnxruntime(model, [data, limit])
    )
    model = one_node("Clip", [data, None, limit])
    np.testing.assert_array_equal(
        by_import(model, [data, limit]), by_onnxruntime(model, [data, limit])
    )


@pytest.mark.parametrize(
    "data",
    [(0, 0, 0), (1, 2, 3), (-1, -2, -3), (-1, 0.5, 0.25, 1.5), (INF, 1, 2), (-0.0,), (1e-40, 0)],
)
def test_dynamic_quantization(data: tuple[float, ...]):
    check("DynamicQuantizeLinear", [floats(*data)], outputs=3)


@pytest.mark.parametrize("largest", [1e-45, 1.7e-43])
def test_dynamic_quantization_with_a_scale_that_vanishes(largest: float):
    data = floats(largest, 0.0)
    model = one_node("DynamicQuantizeLinear", [data], outputs=3)
    quantized, scale, zero_point = by_import(model, [data])
    expected = by_onnxruntime(model, [data])
    np.testing.assert_array_equal(quantized, expected[0])
    np.testing.assert_array_equal(scale, expected[1])
    assert (scale, zero_point, expected[2]) == (0, 0, 255)
    require_same("DynamicQuantizeLinear", [-data], [], outputs=3)


def test_slopes_of_prelu_do_not_matter_above_0():
    given = np.repeat(SPECIAL, len(SPECIAL)), np.tile(SPECIAL, len(SPECIAL))
    require_same("PRelu", [*given], [], opset=16)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("pads", [(-1, 2), (2, -1), (-2, -1), (3, -1)])
def test_negative_padding_cuts_off_first(mode: str, pads: tuple[int, int]):
    require_same("Pad", [floats(1, 2, 3, 4, 5)], [longs(*pads)], mode=mode)


@pytest.mark.parametrize(
    ("pads", "found"),
    [
        ((-1, 2), ["strided_slice", "nn.pad"]),
        ((-1, -2), ["strided_slice"]),
        ((1, 2), ["nn.pad"]),
        ((0, 0), []),
    ],
)
def test_elements_are_cut_off_by_a_slice(pads: tuple[int, int], found: list[str]):
    assert kinds(one_node("Pad", [floats(1, 2, 3, 4, 5)], [longs(*pads)])) == found


@pytest.mark.parametrize("op", ["DepthToSpace", "SpaceToDepth"])
def test_empty_images(op: str):
    require_same(op, [np.zeros((0, 4, 2, 2), np.float32)], [], blocksize=2)


ROW = [(1, NAN, 3), (NAN, 1, 3), (INF, NAN, -INF)]


@pytest.mark.parametrize("row", ROW)
@pytest.mark.parametrize("op", ["Hardmax", "ArgMax", "ArgMin", "ReduceMax", "ReduceMin", "TopK"])
def test_nan_wins(op: str, row: tuple[float, ...]):
    """As in NumPy and onnx.reference; onnxruntime's results depend on the order of elements."""
    data, place = floats(*row), int(np.flatnonzero(np.isnan(row))[0])
    if op == "TopK":
        values, indices = by_import(one_node(op, [data], [longs(1)], outputs=2), [data])
        assert np.isnan(values).tolist() == [True]
        assert indices.tolist() == [place]
        return
    (result,) = by_import(one_node(op, [data], opset=13), [data])
    match op:
        case "Hardmax":
            assert result.tolist() == [float(i == place) for i in range(3)]
        case "ArgMax" | "ArgMin":
            assert result.tolist() == [place]
        case _:
            assert np.isnan(result).all()


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["max", "min"])
def test_nan_among_updates(op: str, reduction: str):
    indices = longs(0, 1, 1)
    data = [floats(NAN, 2, 3), indices if op == "ScatterElements" else indices[:, None]]
    data.append(floats(1, NAN, 5))
    (result,) = by_import(one_node(op, data, opset=18, reduction=reduction), data)
    np.testing.assert_array_equal(result, floats(NAN, NAN, 3))


@pytest.mark.parametrize("reduction", ["add", "mul"])
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_sums_and_products_of_bools_among_updates(op: str, reduction: str):
    data, updates = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    indices = np.arange(4) if op == "ScatterElements" else np.arange(4)[:, None]
    require_same(op, [data, indices, updates], [], opset=18, reduction=reduction)


@pytest.mark.parametrize(
    ("op", "options", "row", "expected"),
    [
        ("ReduceL2", {}, [300, -400], 500),
        ("ReduceLogSum", {}, [3e4, 4e4], np.log(7e4)),
        ("ReduceSumSquare", {}, [2**-13] * 1024, 2**-16),
        ("GlobalLpPool", {}, [300, -400], 500),
        ("GlobalLpPool", {"p": 3}, [300, -400], 91e6 ** (1 / 3)),
        ("LpPool", {"kernel_shape": [2]}, [300, -400], 500),
        ("LpNormalization", {}, [6e4, -4.5e4], 0.8),
    ],
)
def test_what_f16_does_not_hold_on_the_way(
    op: str, options: dict[str, Any], row: list[float], expected: float
):
    data = np.array([[row]], np.float16)
    (result,) = by_import(one_node(op, [data], opset=13, **options), [data])
    assert result.dtype == np.float16
    np.testing.assert_allclose(result.ravel()[0], np.float16(expected), rtol=1e-3)


def test_mean_of_a_row_with_an_infinity():
    data, scale = floats(-INF, -1.5)[None], floats(1, 1)
    results = by_import(
        one_node("LayerNormalization", [data], [scale], opset=17, outputs=2), [data]
    )
    np.testing.assert_array_equal(results[1], [[-INF]])


def test_batch_normalization_of_large_numbers():
    data = floats(3e38, -3e38).reshape(1, 1, 2)
    constants = [floats(0.5), floats(0), floats(0), floats(0.25)]
    require_same("BatchNormalization", [data], [*constants], opset=15, epsilon=0.0)


def test_integers_wrap_around_in_sums():
    data = np.array([2**30] * 5, np.int32)
    (result,) = by_import(one_node("ReduceSum", [data]), [data])
    assert result.tolist() == [2**30]


def test_large_powers_of_integers_saturate():
    data = [np.array([2**20, -(2**20), 3], np.int32), np.array([2, 3, 4], np.int32)]
    (result,) = by_import(one_node("Pow", data), data)
    assert result.tolist() == [2**31 - 1, -(2**31), 81]


def test_what_has_no_elements():
    empty = np.zeros((2, 0), np.float32)
    (mean,) = by_import(one_node("ReduceMean", [empty], [longs(1)], opset=18), [empty])
    assert np.isnan(mean).all()
    (places,) = by_import(one_node("NonZero", [], [np.array(5.0, np.float32)]), [])
    assert places.shape == (0, 1)


def test_windows_of_padding_alone():
    data = np.full((1, 1, 3), -INF, np.float32)
    (result,) = by_import(one_node("MaxPool", [data], kernel_shape=[2], pads=[1, 1]), [data])
    np.testing.assert_array_equal(result, np.full((1, 1, 4), -INF))


@pytest.mark.parametrize(
    ("alpha", "reason"),
    [
        (1e30, "is no number of type ui32"),
        (-1.0, "is no number of type ui32"),
        (0.5, "is not whole"),
        (INF, "is not whole"),
        (NAN, "is not whole"),
    ],
)
def test_numbers_that_no_integer_holds(alpha: float, reason: str):
    matrix = np.ones((2, 2), np.uint32)
    model = one_node("Gemm", [matrix, matrix], [], alpha=alpha)
    with pytest.raises(OnnxImportError, match=reason):
        import_model(model)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize(
    "pads", [(-6, 0), (0, -6), (-3, -3), (-5, 0), (0, -5), (-2, -3), (-6, 8), (8, -6), (-5, 2)]
)
def test_pads_that_cut_everything_off(pads: tuple[int, int], mode: str):
    data = floats(1, 2, 3, 4, 5)
    if sum(pads) >= -5 and mode == "constant":
        require_same("Pad", [data], [longs(*pads)], mode=mode)
        return
    model = one_node("Pad", [data], [longs(*pads)], mode=mode)
    padded = f"axis 0 of length 5 is padded by {pads[0]} and {pads[1]}, which "
    reason = f"gives it the length {5 + sum(pads)}" if sum(pads) < -5 else "leaves no element"
    with pytest.raises(OnnxImportError, match=f"'the_node'.*{padded}{reason}"):
        import_model(model)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_beside_an_empty_axis(mode: str):
    data = np.zeros((0, 5), np.float32)
    require_same("Pad", [data], [longs(0, 1, 0, 0)], mode=mode)


def test_tile_takes_a_number_for_each_axis():
    model = one_node("Tile", [np.zeros((2, 2), np.float32)], [longs(3)])
    with pytest.raises(OnnxImportError, match=r"'repeats'\) is \[3\], expected 2 numbers"):
        import_model(model)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_axes_of_flat_softmax(op: str):
    data = floats(3, 1, 2)
    require_same(op, [np.eye(1, dtype=np.float32)], [], opset=11, axis=1)
    with pytest.raises(OnnxImportError, match="'the_node'.* 1"):
        import_model(one_node(op, [data], opset=11, axis=1))


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3)])
def test_hardmax_of_no_elements(shape: tuple[int, ...], opset: int):
    require_same("Hardmax", [np.zeros(shape, np.float32)], [], opset=opset, axis=0)


def test_default_attributes_are_of_single_precision():
    """As those that a model states."""
    data = np.array([-3.0, 2.0])
    for op, name, number in (("LeakyRelu", "alpha", 0.01), ("HardSigmoid", "alpha", 0.2)):
        stated, default = one_node(op, [data], **{name: number}), one_node(op, [data])
        np.testing.assert_array_equal(by_import(default, [data]), by_import(stated, [data]))
    result = by_import(one_node("LeakyRelu", [data]), [data])[0]
    assert result[0] == -3 * float(np.float32(0.01))


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_crops_of_scales_that_do_not_divide_lengths(mode: str):
    data = np.arange(15, dtype=np.float32).reshape(1, 1, 3, 5)
    for scales in (floats(1, 1, 1.5, 0.6), floats(1, 1, 1.5, 0.7)):
        roi = floats(0, 0, 0.1, 0.2, 1, 1, 0.9, 1.2)
        crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
        check("Resize", [data], [roi, scales], mode=mode, **crop)


def test_crops_without_resizing():
    data = np.arange(15, dtype=np.float32).reshape(1, 1, 3, 5)
    constants = [floats(0, 0, 0, 0.25, 1, 1, 1, 0.75), floats(1, 1, 1, 1)]
    expected = np.linspace(data[..., 1], data[..., 3], 5, axis=-1)
    crop = "tf_crop_and_resize"
    options = {"mode": "linear", "coordinate_transformation_mode": crop}
    check("Resize", [data], constants, expected, **options)


def test_negative_zero_and_signs():
    zero = np.array([-0.0], np.float32)
    assert not np.signbit(by_import(one_node("Relu", [zero]), [zero])[0]).any()
    nan = np.array([NAN], np.float16)
    assert np.isnan(by_import(one_node("Sign", [nan]), [nan])[0]).all()


@pytest.mark.parametrize("constant", [True, False])
def test_powers_with_exponents_that_floats_do_not_hold(constant: bool):
    base = floats(-3, -1, 2, -0.5, 3)
    exponents = np.array([2**30 - 1, 2**24 + 1, -(2**31), 2**31 - 1, 3], np.int32)
    if constant:
        require_same("Pow", [base], [exponents])
    else:
        require_same("Pow", [base, exponents], [])


WIDER = [
    (("float16", "float32"), (2049, -2049, 1e-8, -1e-8, 1e5)),
    (("float16", "float64"), (2**24 + 1, 1e-46, 1e39)),
    (("float32", "float64"), (2**24 + 1, 1e-46, -1e-46, 1e39)),
    (("float16", "int32"), (2**24 + 1, 2**11 + 1)),
]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("dtypes", "powers"), WIDER)
def test_powers_with_exponents_of_a_wider_type(dtypes: tuple[str, str], powers: Sequence[float]):
    bases = np.array([-INF, -2, -1, -0.5, -0.0, 0, 0.5, 1, 2, INF, NAN], dtypes[0])
    for power in powers:
        exponent = np.array(power, dtypes[1])
        require_same("Pow", [bases], [exponent])
        require_same("Pow", [bases, exponent], [])


@pytest.mark.parametrize("wide", ["float16", "float32", "float64"])
def test_powers_of_integers_with_fractions(wide: str):
    """Where onnxruntime's results have integers."""
    exponents = np.array([0, 1, 2, 3, 0.5, -1, 9], wide)
    for base in (np.array([4], np.int32), np.array([9], np.int64)):
        require_same("Pow", [base, exponents], [])


def test_constants_convert_as_computed_numbers_do():
    """Integers saturate, what is too large for a floating-point type is infinite; without a warning."""
    numbers = np.array([300, -1, 127.5, 2**31, -(2**63), 2**63, 1e6, INF, NAN])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for code in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT64, TensorProto.FLOAT16):
            for data in (numbers, *map(np.array, numbers)):
                (computed,) = by_import(one_node("Cast", [data], to=code), [data])
                (known,) = by_import(one_node("Cast", [], [data], to=code), [])
                np.testing.assert_array_equal(known, computed)
