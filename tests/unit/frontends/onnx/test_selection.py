"""Selection by indices, weights of tokens, quantised tensors and signals in the ONNX importer, against onnxruntime."""

from typing import Any

import numpy as np
import pytest
from onnx_models import Array, Samples, by_import, check, kinds, longs, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model

SAMPLES = Samples(23)
floats, integers = SAMPLES.floats, SAMPLES.integers


# Indices


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-2, 0, 3])
def test_triangle(upper: int, k: int):
    check("Trilu", [floats(2, 4, 5)], [np.array(k)], opset=14, upper=upper)
    check("Trilu", [floats(4, 5), np.array(k)], opset=14, upper=upper)


def test_top():
    data = integers(3, 6, low=0, high=4, dtype="float32")
    check("TopK", [data], opset=9, outputs=2, k=2, axis=0)
    check("TopK", [data], [longs(4)], opset=10, outputs=2)
    check("TopK", [data], [longs(4)], opset=11, outputs=2, largest=0)
    check("TopK", [data], [longs(0)], opset=11, outputs=2)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
@pytest.mark.parametrize("axis", [0, -1])
def test_scatter_elements(reduction: str, axis: int):
    indices = longs(0, -1, 2, 1, 1, -3).reshape(2, 3)
    if axis == -1:
        indices = longs(0, -1, 2, 1, 3, -3).reshape(2, 3)
    data = [floats(3, 4), indices, floats(2, 3)]
    check("ScatterElements", data, opset=18, axis=axis, reduction=reduction)


def test_older_names_of_scatter():
    data = [floats(3, 4), longs(0, 1, 2).reshape(1, 3), floats(1, 3)]
    check("Scatter", data, opset=9, axis=1)
    check("ScatterElements", data, opset=11, axis=1)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scatter_nd(reduction: str):
    data = [floats(3, 4, 2), longs(0, -1, 2, 1).reshape(2, 2), floats(2, 2)]
    check("ScatterND", data, opset=18, reduction=reduction)


@pytest.mark.parametrize("constant", [False, True])
def test_gathering_counts_negative_indices_from_the_end(constant: bool):
    def given(data: Array, indices: Array) -> tuple[list[Array], list[Array]]:
        return ([data], [indices]) if constant else ([data, indices], [])

    check("GatherElements", *given(floats(3, 4), longs(0, -1, -2, 1).reshape(2, 2)), axis=1)
    check("GatherND", *given(floats(3, 4, 2), longs(0, -1, 2, -4).reshape(2, 2)))
    indices = longs(-1, 0, 1, 2).reshape(2, 2, 1)
    check("GatherND", *given(floats(2, 4, 3), indices), batch_dims=1)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "float32"])
@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot(dtype: str, axis: int):
    indices = integers(2, 3, low=-6, high=8, dtype=dtype)
    options = {"axis": axis, "opset": 11}
    values = np.array([2, 5], np.float32)
    known = np.arange(5) == np.where(indices < 0, indices + 5, indices)[..., None]
    expected = np.moveaxis(np.where(known, values[1], values[0]), -1, axis)
    for depth in (np.array(5), longs(5), np.array(5, np.float32)):
        check("OneHot", [indices], [depth, values], expected, **options)
    model = one_node("OneHot", [indices, np.array(5), values], **options)
    with pytest.raises(OnnxImportError, match="'depth'"):
        import_model(model)


@pytest.mark.parametrize("options", [{}, {"exclusive": 1}, {"reverse": 1}])
def test_cumulative(options: dict[str, int]):
    check("CumSum", [floats(3, 4)], [np.array(-1)], opset=14, **options)


def test_constant_results():
    check("EyeLike", [floats(3, 4)], opset=9, k=-1)
    check("EyeLike", [floats(3, 4)], opset=9, k=1, dtype=7)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        for periodic in (0, 1):
            check(op, [], [np.array(9)], opset=17, periodic=periodic)
    sizes: list[Any] = [longs(8)[0], longs(64)[0], longs(8000)[0]]
    edges: list[Any] = [np.array(0, np.float32), np.array(4000, np.float32)]
    check("MelWeightMatrix", [], [np.array(each) for each in (*sizes, *edges)], opset=17)
    assert kinds(one_node("HannWindow", [], [np.array(9)], opset=17)) == []
    check("NonZero", [], [longs(0, 3, 0, 4).reshape(2, 2)])
    check("Compress", [floats(3, 4)], [np.array([True, False, True])], axis=0)
    check("Compress", [floats(2, 2)], [np.array([True, False, True])])


@pytest.mark.parametrize("opset", [12, 13])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_hardmax(opset: int, axis: int):
    check("Hardmax", [integers(2, 3, 4, low=0, high=3, dtype="float32")], opset=opset, axis=axis)


def test_reverse_sequence():
    data, lengths = floats(4, 3, 2), longs(1, 4, 2)
    check("ReverseSequence", [data, lengths], opset=10)
    options = {"batch_axis": 0, "time_axis": 1}
    check("ReverseSequence", [data.swapaxes(0, 1).copy(), lengths], opset=10, **options)


@pytest.mark.parametrize(
    "equation", ["bij,bjk->bik", "...ij->...ji", "ii->i", "ij,jk", "i,j->ij", "ij->"]
)
def test_einsum(equation: str):
    shapes = {"b": 2, "i": 3, "j": 3 if "ii" in equation else 4, "k": 5}
    inputs = equation.partition("->")[0].replace("...", "b").split(",")
    check("Einsum", [floats(*map(shapes.get, each)) for each in inputs], equation=equation)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_weights_of_tokens(mode: str):
    tokens = np.array([[1, 2, 1, 3], [3, 3, 3, 1]], np.int32)
    sizes = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}
    tables = {"ngram_counts": [0, 2], "ngram_indexes": [2, 0, 1], "pool_int64s": [1, 3, 3, 3]}
    for weights in ({}, {"weights": [0.5, 3.0, 2.0]}):
        check("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables, **weights)
    tables |= {"ngram_indexes": [1, 1, 0], "weights": [0.5, 3.0, 2.0]}
    if mode == "IDF":
        with pytest.raises(OnnxImportError, match="several sequences have one column"):
            import_model(one_node("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables))
    else:
        check("TfIdfVectorizer", [tokens], mode=mode, **sizes, **tables)


# Elementwise operators and reductions


@pytest.mark.parametrize("op", ["Acos", "Asin", "Atan", "Atanh", "Asinh", "Cosh", "Sinh", "Tan"])
def test_functions(op: str):
    check(op, [SAMPLES.random.uniform(-0.9, 0.9, (3, 4)).astype(np.float32)])


def test_acosh():
    check("Acosh", [np.abs(floats(3, 4)) + 1])


@pytest.mark.parametrize("detected", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_is_infinite(detected: tuple[int, int]):
    data = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    check("IsInf", [data], opset=10, detect_negative=detected[0], detect_positive=detected[1])


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 18])
def test_log_of_sum_of_exponentials(keepdims: int, opset: int):
    data = floats(2, 3, 4) * 100
    data[0, 1] = -np.inf
    axes = [longs(-1)] if opset == 18 else []
    options = {} if axes else {"axes": [-1]}
    check("ReduceLogSumExp", [data], axes, opset=opset, keepdims=keepdims, **options)


# Quantised tensors


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantization(dtype: str):
    zero = np.array(3, dtype)
    scale = np.array(0.05, np.float32)
    data = np.concatenate([floats(40) * 5, np.arange(-8, 8, dtype=np.float32) / 40]).reshape(4, 14)
    check("QuantizeLinear", [data], [scale, zero], opset=10)
    check("QuantizeLinear", [data], [np.abs(floats(14)) + 0.1, np.full(14, 2, dtype)], opset=13)
    integral = integers(4, 14, low=0, high=99, dtype=dtype)
    check("DequantizeLinear", [integral], [scale, zero], opset=10)
    options = {"axis": 0, "opset": 13}
    check("DequantizeLinear", [integral], [np.abs(floats(4)), integral[:, 0]], **options)
    blocked = [np.abs(floats(4, 5)), integral[:, :5].copy()]
    check("DequantizeLinear", [integral], blocked, opset=21, axis=1, block_size=3)
    check("QuantizeLinear", [data], [blocked[0] + 0.1, blocked[1]], opset=21, block_size=3)


def test_integer_products():
    a, b = integers(2, 3, 4, low=0, high=255, dtype="uint8"), integers(4, 5, dtype="int8")
    zeros: list[Array] = [np.array(7, np.uint8), np.array(-2, np.int8)]
    check("MatMulInteger", [a, b])
    check("MatMulInteger", [a, b], zeros)
    columns = integers(5, dtype="int8")
    check("MatMulInteger", [a, b], [zeros[0], columns])
    rows = integers(3, low=0, high=9, dtype="uint8")
    wide = (
        each.astype(np.int32)
        for each in (a[0] - rows[:, None].astype(int), b - columns.astype(int))
    )
    check("MatMulInteger", [a[0], b], [rows, columns], np.matmul(*wide))


@pytest.mark.parametrize("axes", [1, 2])
def test_integer_convolution(axes: int):
    data = integers(2, 4, *(9, 8)[:axes], low=0, high=255, dtype="uint8")
    weight = integers(6, 2, *(3, 2)[:axes], low=0, high=255, dtype="uint8")
    zeros: list[Array] = [np.array(7, np.uint8), np.array(130, np.uint8)]
    options = {"group": 2, "pads": [1, 0, 1, 1][: 2 * axes] if axes == 2 else [1, 2]}
    check("ConvInteger", [data, weight], zeros, **options)


def scale(*numbers: float) -> Array:
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.float32)


@pytest.mark.parametrize("channels", [False, True])
def test_quantized_convolution(channels: bool):
    data = integers(1, 2, 7, 6, low=0, high=255, dtype="uint8")
    weight = integers(3, 2, 3, 3, low=-99, high=99, dtype="int8")
    weight_scale = scale(0.02, 0.03, 0.01) if channels else scale(0.02)
    weight_zero = np.zeros(3 if channels else (), np.int8)
    constants = [
        *(scale(0.1), np.array(120, np.uint8), weight, weight_scale, weight_zero),
        *(scale(0.5), np.array(128, np.uint8), integers(3, low=-999, high=999, dtype="int32")),
    ]
    check("QLinearConv", [data], constants, pads=[1, 1, 1, 1])


def test_quantized_matmul():
    a = integers(3, 4, low=0, high=255, dtype="uint8")
    b = integers(4, 5, low=-99, high=99, dtype="int8")
    constants = [
        *(scale(0.1), np.array(120, np.uint8), b, scale(0.02), np.array(3, np.int8)),
        *(scale(0.5), np.array(128, np.uint8)),
    ]
    check("QLinearMatMul", [a], constants)


# Signals


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("length", [None, 5, 16])
@pytest.mark.parametrize("options", [{}, {"onesided": 1}, {"inverse": 1}])
def test_fourier_transform(opset: int, length: int | None, options: dict[str, int]):
    parts = 1 if options.get("onesided") else 2
    data = floats(2, 9, parts)
    signal = data[..., 0] + (1j * data[..., 1] if parts == 2 else 0)
    transform = np.fft.ifft if options.get("inverse") else np.fft.fft
    result = transform(signal, length, 1)
    if options.get("onesided"):
        result = result[:, : result.shape[1] // 2 + 1]
    expected = np.stack([result.real, result.imag], -1).astype(np.float32)
    constants: list[Array | None] = [None if length is None else np.array(length)]
    check("DFT", [data], constants if length else [], expected, opset=opset, **options)


@pytest.mark.parametrize("length", [8, 9])
def test_inverse_of_half_a_spectrum(length: int):
    data = floats(2, length // 2 + 1, 2)
    expected = np.fft.irfft(data[..., 0] + 1j * data[..., 1], length, 1)[..., None]
    options = {"inverse": 1, "onesided": 1, "opset": 20}
    check("DFT", [data], [np.array(length)], expected.astype(np.float32), **options)


def test_short_time_fourier_transform():
    data, window = floats(2, 32, 1), np.hanning(8).astype(np.float32)
    check("STFT", [data], [np.array(4), window, np.array(8)], opset=17)
    check("STFT", [data], [np.array(4), window], opset=17, onesided=0)
    with pytest.raises(OnnxImportError, match="'onesided' is 1, and the signal complex"):
        import_model(one_node("STFT", [floats(2, 32, 2)], [np.array(4), window], opset=17))


def test_short_time_fourier_transform_of_complex_signals():
    data, window = floats(2, 32, 2), np.hanning(9).astype(np.float32)
    frames = np.stack([data[:, i : i + 9] for i in range(0, 24, 4)], 1)
    whole = np.fft.fft((frames[..., 0] + 1j * frames[..., 1]) * window)
    expected = np.stack([whole.real, whole.imag], -1).astype(np.float32)
    check("STFT", [data], [np.array(4), window], expected, opset=17, onesided=0)


def test_short_time_fourier_transform_of_many_elements():
    """Frames of a prime length whose matrix would be too large are sums; others are transformed in two steps."""
    data = floats(1, 4100)
    prime = kinds(one_node("STFT", [data], [np.array(4), None, np.array(2999)], opset=17))
    assert "stft" in prime and "nn.matmul" not in prime
    other = kinds(one_node("STFT", [data], [np.array(4), None, np.array(3000)], opset=17))
    assert "stft" not in other and "nn.batch_matmul" in other


@pytest.mark.parametrize("length", [96, 121, 1000, 4096])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_fourier_transforms_in_two_steps(
    length: int, inverse: int, parts: int, onesided: int
) -> None:
    if onesided and (inverse or parts == 2):
        return
    data = floats(2, length, 3, parts)
    signal = data[..., 0] if parts == 1 else data[..., 0] + 1j * data[..., 1]
    whole = np.fft.ifft(signal, axis=1) if inverse else np.fft.fft(signal, axis=1)
    whole = whole[:, : length // 2 + 1] if onesided else whole
    expected = np.stack([whole.real, whole.imag], -1).astype(np.float32)
    options = {"inverse": inverse, "onesided": onesided, "opset": 20}
    node = one_node("DFT", [data], [np.array([length]), np.array(1)], **options)
    assert "nn.batch_matmul" in kinds(node)
    (found,) = by_import(node, [data])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, 1e-5, 1e-6)
