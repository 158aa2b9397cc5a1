"""Attributes, inputs and shapes that nodes seldom have, against onnxruntime, or against NumPy where it has no kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_models import (
    Array,
    Samples,
    build,
    by_import,
    by_onnxruntime,
    check,
    kinds,
    longs,
    one_node,
    require_equal,
    untyped,
    value_info,
)

from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.frontends.onnx.importer.bounded import DOMAIN
from xrelay.frontends.onnx.importer.converters import DOMAINS

SAMPLES = Samples(41)
floats = SAMPLES.floats
IMAGES, KERNELS = floats(1, 2, 5, 5), floats(4, 2, 3, 3)
PIXELS = np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1))


def fused(
    op: str,
    data: Sequence[Array | None],
    constants: Sequence[Array | None] = (),
    outputs: int = 1,
    domain: str = "com.microsoft",
    **attributes: Any,
) -> ModelProto:
    """A model of one node of another domain."""
    model = one_node(op, data, constants, outputs=outputs, opset=17, **attributes)
    model.graph.node[0].domain = domain
    model.opset_import.append(helper.make_opsetid(domain, 1))
    return model


WORDS, PLACES = np.array([[1, 2, 0], [4, 4, 3]], np.int32), np.array([[0, 1, 2], [3, 3, 1]], np.int32)  # fmt: skip
STATES = floats(2, 3, 8)
SEEN = np.array([[[1, 0, 0], [1, 1, 0], [0, 1, 1]], [[1, 1, 1], [0, 0, 1], [1, 0, 1]]], np.int32)
GROUPS: list[Array | None] = [
    *(floats(1, 3, 64), floats(1, 3, 32), floats(1, 3, 32)),
    *(floats(1, 2, 0, 16), floats(1, 2, 0, 16), np.array([2], np.int32), np.array(3, np.int32)),
    *(None, None, None, floats(1, 4, 3, 3)),
]
Case = tuple[ModelProto, Sequence[Array | None]]
CASES: dict[str, Case] = {
    "conv without activation": (fused("FusedConv", [IMAGES, KERNELS]), [IMAGES, KERNELS]),
    "embeddings at places": (
        fused(
            "EmbedLayerNormalization",
            [WORDS, None, floats(5, 8), floats(4, 8), None, floats(8), floats(8), None, PLACES],
            outputs=2,
        ),
        [WORDS, floats(5, 8), floats(4, 8), floats(8), floats(8), PLACES],
    ),
    "attention with a mask of queries": (
        fused("Attention", [STATES, floats(8, 24), floats(24), SEEN], num_heads=2),
        [STATES, floats(8, 24), floats(24), SEEN],
    ),
    "groups with a bias": (
        fused("GroupQueryAttention", GROUPS, outputs=3, num_heads=4, kv_num_heads=2),
        GROUPS,
    ),
    "vectors": (
        fused("FusedMatMul", [floats(3), floats(3, 4)], transA=1),
        [floats(3), floats(3, 4)],
    ),
    "elements of a vector": (
        fused("ArrayFeatureExtractor", [floats(5)], [longs(4, 0, 4)], domain="ai.onnx.ml"),
        [floats(5)],
    ),
    "elements of the last axis": (
        fused("ArrayFeatureExtractor", [floats(2, 5)], [longs(4, 0, 1)], domain="ai.onnx.ml"),
        [floats(2, 5)],
    ),
    "a product of bits and a bias": (
        fused(
            "MatMulNBits",
            [floats(2, 32)],
            [
                SAMPLES.random.integers(0, 256, (6, 2, 8)).astype(np.uint8),
                np.abs(floats(6, 2)),
                *(None, None, floats(6)),
            ],
            K=32,
            N=6,
            bits=4,
            block_size=16,
        ),
        [floats(2, 32)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_nodes_of_other_domains(case: str) -> None:
    """As onnxruntime computes them."""
    model, data = CASES[case]
    given = [each for each in data if each is not None]
    for found, wanted in zip(by_import(model, given), by_onnxruntime(model, given), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, 2e-5, 2e-5)


def test_images_of_pixels_and_a_sum() -> None:
    """What is added has its channels last, too."""
    more = floats(1, 3, 3, 4)
    data = [PIXELS, KERNELS, floats(4), more]
    first = [IMAGES, KERNELS, data[2], np.ascontiguousarray(more.transpose(0, 3, 1, 2))]
    model = fused("NhwcFusedConv", data, activation="Relu")
    (wanted,) = by_onnxruntime(fused("FusedConv", first, activation="Relu"), first)
    (found,) = by_import(model, data)
    np.testing.assert_allclose(found, wanted.transpose(0, 2, 3, 1), 2e-5, 2e-5)


@pytest.mark.parametrize("opset", [1, 6])
def test_sums_of_equal_shapes_before_broadcasting(opset: int) -> None:
    """Operator sets before 7 had an attribute for it."""
    first, second = floats(2, 3), floats(2, 3)
    require_equal(
        by_import(one_node("Add", [first, second], opset=opset), [first, second]), [first + second]
    )


@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (2,)), (1, (3,)), (2, (4,)), (-1, (4,)), (0, (2, 3)), (1, (3, 4))]
)
def test_sums_along_an_axis(axis: int, shape: tuple[int, ...]) -> None:
    """The second operand begins at the axis."""
    first, second = floats(2, 3, 4), floats(*shape)
    missing = 3 - axis % 3 - len(shape)
    wanted = first - second.reshape(*shape, *[1] * missing)
    model = one_node("Sub", [first, second], opset=6, broadcast=1, axis=axis)
    require_equal(by_import(model, [first, second]), [wanted])


def test_parts_of_lengths_in_an_input() -> None:
    """Split of operator set 1 had its lengths there as well."""
    data = floats(5, 2)
    model = one_node("Split", [data], [longs(1, 4)], opset=1, outputs=2)
    require_equal(by_import(model, [data]), [data[:1], data[1:]])


def test_slices_without_elements_are_all_the_same() -> None:
    """Unique along an axis whose slices are empty, as the first stage of a program has it."""
    data = floats(3, 0)
    model = fused("Unique", [data], outputs=5, domain=DOMAIN, axis=0)
    values, first, inverse, counts, count = by_import(model, [data])
    assert values.shape[1:] == (0,) and count.tolist() == [1]
    assert (first[0], counts[0]) == (0, 3)
    np.testing.assert_array_equal(inverse, longs(0, 0, 0))


BOXES = np.array([[[0, 0, 4, 4], [0, 0, 4, 3], [0, 2, 4, 6], [8, 8, 9, 9]]], np.float32)
SCORES = np.array([[[0.9, 0.8, 0.7, 0.6]]], np.float32)


@pytest.mark.parametrize(
    ("overlap", "chosen"),
    [
        (None, [0, 3]),
        (0.5, [0, 2, 3]),
        (0.75, [0, 1, 2, 3]),
        (np.nextafter(np.float32(0.75), np.float32(0)), [0, 2, 3]),
        (1 / 3, [0, 2, 3]),
        (0.25, [0, 3]),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_boxes_that_overlap_as_much_as_they_may(
    overlap: float | None, chosen: list[int], known: bool
) -> None:
    """Those of just the limit stay, whether it is known when the program is made or not; without one it is 0."""
    limit = None if overlap is None else np.array([overlap], np.float32)
    data = [BOXES, SCORES, longs(4)]
    rest = [limit] if known else []
    model = fused(
        "NonMaxSuppression", [*data, *([] if known else [limit])], rest, outputs=2, domain=DOMAIN
    )
    given = data if known or limit is None else [*data, limit]
    rows, count = by_import(model, given)
    assert rows[: count.item(), 2].tolist() == chosen
    whole = one_node("NonMaxSuppression", [BOXES, SCORES, longs(4), limit], opset=11)
    (wanted,) = by_onnxruntime(
        whole, [BOXES, SCORES, longs(4), *([] if limit is None else [limit])]
    )
    np.testing.assert_array_equal(rows[: count.item()], wanted)


def test_indices_of_few_bits_and_a_depth_that_they_do_not_hold() -> None:
    """Indices from the end are those of the depth."""
    indices, ends = np.array([-1, 100, -128, 127], np.int8), np.array([2, 5], np.float32)
    wanted = np.full((4, 200), 2, np.float32)
    wanted[range(4), [199, 100, 72, 127]] = 5
    check("OneHot", [indices], [longs(200), ends], expected=wanted, opset=11)
    small = np.full((4, 127), 2, np.float32)
    small[[0, 1], [126, 100]] = 5
    check("OneHot", [indices], [longs(127), ends], expected=small, opset=11)


def test_normal_numbers_are_moved_and_scaled() -> None:
    """The same numbers are drawn for the same seed, of a mean 0 and a deviation of 1."""
    (plain,) = by_import(one_node("RandomNormal", [], opset=1, shape=[40, 50], seed=3.0), [])
    stated = {"mean": 5.0, "scale": 2.0, "seed": 3.0, "shape": [40, 50]}
    (moved,) = by_import(one_node("RandomNormal", [], opset=1, **stated), [])
    assert plain.dtype == moved.dtype == np.float32
    np.testing.assert_allclose(moved, 5 + 2 * plain, 1e-5, 1e-5)
    assert abs(plain.mean()) < 0.1 and abs(plain.std() - 1) < 0.1
    data = floats(40, 50).astype(np.float64)
    (like,) = by_import(one_node("RandomNormalLike", [data], opset=1, seed=3.0), [data])
    assert like.dtype == np.float64
    assert abs(like.mean()) < 0.1 and abs(like.std() - 1) < 0.1


def test_an_interval_wider_than_f32() -> None:
    """Its width is no number of f32, those in it are."""
    stated = {"low": -3e38, "high": 3e38, "shape": [40, 50]}
    (found,) = by_import(one_node("RandomUniform", [], opset=1, **stated), [])
    assert found.dtype == np.float32 and np.isfinite(found).all()
    assert abs(found.astype(np.float64).mean()) < 2e37 and abs(found).max() > 2.9e38


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_an_axis_resized_to_nothing(mode: str) -> None:
    """There is no scale to divide by."""
    data, sizes = floats(4, 5), longs(0, 3)
    stated: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": "half_pixel_symmetric",
    }
    for antialias in (0, 1) if mode != "nearest" else (0,):
        names = ["data", "", "", "sizes"]
        node = helper.make_node("Resize", names, ["y"], antialias=antialias, **stated)
        inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, data.shape)]
        results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [0, 3])]
        constants = [numpy_helper.from_array(sizes, "sizes")]
        graph = helper.make_graph([node], "graph", inputs, results, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        (found,) = by_import(model, [data])
        assert found.shape == (0, 3)


def test_sequences_longer_than_the_tokens() -> None:
    """They occur nowhere."""
    data = longs(1, 2)
    check(
        "TfIdfVectorizer",
        [data],
        expected=np.array([1, 0, 0], np.float32),
        opset=9,
        mode="TF",
        min_gram_length=1,
        max_gram_length=3,
        max_skip_count=0,
        ngram_counts=[0, 2, 2],
        ngram_indexes=[0, 1, 2],
        pool_int64s=[2, 3, 1, 2, 4],
    )


@pytest.mark.parametrize("target", [1, 3])
@pytest.mark.parametrize("mode", ["tf_half_pixel_for_nn", "pytorch_half_pixel", "align_corners"])
def test_places_on_axes_that_are_no_images(mode: str, target: int) -> None:
    """Lines become tables of indices."""
    data = np.arange(5, dtype=np.float32)
    options = {"opset": 11, "mode": "nearest", "coordinate_transformation_mode": mode}
    check("Resize", [data], [floats(0), floats(0), longs(target)], **options)


def test_values_of_8_bits_that_stay_what_they_are() -> None:
    """A conversion to the type that there is makes no operation."""
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT8E5M2, [3])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT8E5M2, [3])]
    assert kinds(build([node], inputs, outputs, opset=19)) == []


SCALES = np.array([[0.5, 0.25], [1, 2], [0.125, 0.5]], np.float32)


def test_numbers_of_4_bits_with_a_scale_for_each_block() -> None:
    """Rounded to even, moved, and kept between 0 and 15."""
    data = (floats(3, 8) * 4).astype(np.float32)
    zeros = np.array([[7, 3], [0, 15], [8, 1]])
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scales", "zeros"], ["q"], axis=1, block_size=4),
        helper.make_node("Cast", ["q"], ["y"], to=TensorProto.FLOAT),
    ]
    constants = [
        numpy_helper.from_array(SCALES, "scales"),
        helper.make_tensor("zeros", TensorProto.UINT4, zeros.shape, zeros.reshape(-1).tolist()),
    ]
    model = build(nodes, [value_info("x", data)], [untyped("y")], constants, opset=21)
    scales, wide = np.repeat(SCALES, 4, 1), np.repeat(zeros, 4, 1)
    wanted = np.clip(np.round(data / scales) + wide, 0, 15).astype(np.float32)
    require_equal(by_import(model, [data]), [wanted])


@pytest.mark.parametrize(
    ("dtype", "numbers", "zeros"),
    [
        ("int8", range(-8, 16), [[0, 0], [0, 0], [0, 0]]),
        ("int8", range(-8, 16), [[-8, 7], [0, 1], [5, 3]]),
        ("int8", range(24), [[-1, 7], [0, 1], [5, 3]]),
        ("int8", range(-9, 15), [[-128, 127], [0, 1], [5, 3]]),
        ("uint8", range(232, 256), [[0, 255], [1, 2], [3, 4]]),
        ("int16", range(232, 256), [[0, 255], [1, 2], [3, 4]]),
        ("uint8", (), None),
    ],
)
@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_of_bytes_in_blocks(
    dtype: str, numbers: Sequence[int], zeros: list[list[int]] | None, transposed: bool
) -> None:
    """The difference from the zero point of the block, times its scale."""
    data = np.array(numbers, dtype).reshape(-1, 8)
    scales = SCALES if len(data) else SCALES[:0]
    points = np.zeros(scales.shape, dtype) if zeros is None else np.array(zeros, dtype)
    wide = np.repeat(points.astype(np.float32), 4, 1), np.repeat(scales, 4, 1)
    wanted = (data.astype(np.float32) - wide[0]) * wide[1]
    turned = [each.T if transposed else each for each in (data, scales, points)]
    node = one_node(
        "DequantizeLinear", [], turned, opset=21, axis=int(not transposed), block_size=4
    )
    require_equal(by_import(node, []), [wanted.T if transposed else wanted])


@pytest.mark.parametrize(
    ("rows", "columns"), [(False, (1, 5)), (True, (1, 5)), (True, (5,))], ids=str
)
def test_products_with_scales_of_rows_and_columns(rows: bool, columns: tuple[int, ...]) -> None:
    """Both scales have a number for each row of the first matrix, and each column of the second one."""
    a, b = (SAMPLES.integers(3, 4, low=0, high=9, dtype="uint8"), SAMPLES.integers(4, 5, low=0, high=9, dtype="uint8"))  # fmt: skip
    scale_a = np.array([0.5, 0.25, 1] if rows else 0.5, np.float32)
    scale_b = np.array([1, 2, 0.5, 0.25, 0.125], np.float32).reshape(columns)
    zero_a = np.array([1, 2, 3] if rows else 3, np.uint8)
    zero_b = np.array([3, 2, 4, 0, 1], np.uint8)
    scale, zero = np.array(2, np.float32), np.array(100, np.uint8)
    model = one_node("QLinearMatMul", [a], [scale_a, zero_a, b, scale_b, zero_b, scale, zero])
    left = (a.astype(float) - zero_a.reshape(-1, 1)) * scale_a.reshape(-1, 1)
    right = (b.astype(float) - zero_b) * scale_b
    wanted = np.clip(np.round(left @ right / 2) + 100, 0, 255).astype(np.uint8)
    require_equal(by_import(model, [a]), [wanted])


@pytest.mark.parametrize(
    "pads", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 2, 0, 1]]
)
def test_windows_of_images_with_some_padding(pads: list[int]) -> None:
    """What lies in the padding is cut off."""
    shape, block = longs(4, 5), longs(2, 3)
    places = (4 + pads[0] + pads[2] - 1) * (5 + pads[1] + pads[3] - 2)
    check("Col2Im", [floats(1, 12, places)], [shape, block], opset=18, pads=pads)


OPTIMISERS: dict[str, tuple[int, dict[str, float | str]]] = {
    "Adagrad": (1, {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}),
    "Adam": (
        2,
        {
            "alpha": 0.8,
            "beta": 0.7,
            "epsilon": 1e-3,
            "norm_coefficient": 0.01,
            "norm_coefficient_post": 0.02,
        },
    ),
    "Momentum": (1, {"alpha": 0.9, "beta": 0.3, "norm_coefficient": 0.01, "mode": "nesterov"}),
}


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("op", OPTIMISERS)
def test_optimisers_at_their_first_updates(op: str, count: int) -> None:
    """As ONNX's evaluator has them, of two parameters."""
    kinds_of_state, attributes = OPTIMISERS[op]
    data: list[Array] = [np.array(0.1, np.float32), np.array(count, np.int64)]
    data += [floats(3) for _ in range(4)]
    data += [np.abs(floats(3)) for _ in range(2 * kinds_of_state)]
    outputs = 2 + 2 * kinds_of_state
    model = fused(op, data, (), outputs, "ai.onnx.preview.training", **attributes)
    feeds = {f"in{i}": each for i, each in enumerate(data)}
    wanted = ReferenceEvaluator(model).run(None, feeds)
    require_equal(by_import(model, data), [np.asarray(each, np.float32) for each in wanted])


def test_one_block_for_each_row() -> None:
    """A zero point for each row, or one for all."""
    data, scales = (
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.array([[1], [2], [0.5]], np.float32),
    )
    for zeros in (np.array([[3], [1], [2]], np.uint8), np.array([[3], [3], [3]], np.uint8)):
        node = one_node(
            "DequantizeLinear", [], [data, scales, zeros], opset=21, axis=1, block_size=4
        )
        wanted = (data.astype(np.float32) - zeros) * scales
        require_equal(by_import(node, []), [wanted])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bits_that_become_bools(dtype: str) -> None:
    """Of bytes that are 0 or 1; and back."""
    data = np.array([0, 1, 1, 0], dtype)
    model = one_node("BitCast", [data], opset=26, to=TensorProto.BOOL)
    require_equal(by_import(model, [data]), [data.astype(bool)])
    code = helper.np_dtype_to_tensor_dtype(data.dtype)
    back = one_node("BitCast", [data.astype(bool)], opset=26, to=code)
    require_equal(by_import(back, [data.astype(bool)]), [data])


@pytest.mark.parametrize("op", DOMAINS[DOMAIN])
def test_operators_of_cut_models_begin_with_the_first_set(op: str) -> None:
    model = fused(op, [floats(4), np.ones(4, bool)], outputs=2, domain=DOMAIN)
    model.opset_import[-1].version = 0
    with pytest.raises(OnnxImportError) as caught:
        import_model(model)
    assert str(caught.value).endswith(
        f"op type {op}, domain '{DOMAIN}', opset 0: the operator is supported since operator set 1"
    )


@pytest.mark.parametrize("widths", [(-1, 5), (5, -1), (-2, -1), (-3, 7)])
def test_what_is_cut_off_is_not_repeated(widths: tuple[int, int]) -> None:
    data = floats(6)
    model = one_node("Pad", [data], [longs(*widths)], opset=19, mode="wrap")
    kept = data[max(-widths[0], 0) : 6 + min(widths[1], 0)]
    count = 6 + sum(widths)
    wanted = kept[(np.arange(count) - max(widths[0], 0)) % len(kept)]
    require_equal(by_import(model, [data]), [wanted])


def test_nothing_is_left_of_what_is_repeated() -> None:
    """Widths below 0 may cut all of an axis off."""
    data = floats(3, 4)
    model = one_node("Pad", [data], [longs(-1, -3, 1, -1)], opset=19, mode="wrap")
    require_equal(by_import(model, [data]), [np.zeros((3, 0), np.float32)])
