"""Nodes whose attributes and inputs do not fit each other, and both sides of the bounds: what is said of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_models import Array, build, longs, one_node, require_equal, untyped, value_info
from onnx_models import by_import as imported

from xrelay.frontends.onnx import OnnxImportError, import_model

IMAGE = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
ROW = np.arange(4, dtype=np.float32)


def singles(*values: float) -> Array:
    return np.array(values, np.float32)


Row = tuple[str, Sequence[Array | None], Sequence[Array | None], dict[str, Any], str]
RESIZED: dict[str, Any] = {"opset": 19, "mode": "linear"}
CROPPED = {"coordinate_transformation_mode": "tf_crop_and_resize"}
OFFSETS = np.zeros((1, 2, 3, 4), np.float32)
POINT = np.zeros((3, 2, 1, 1), np.float32)
TOKENS: dict[str, Any] = {
    "opset": 9,
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 0,
    "ngram_indexes": [0, 1, 2],
    "pool_int64s": [2, 3, 5, 4],
}
WORDS = np.array([1, 2, 3], np.int64)

REFUSED: Sequence[Row] = (
    # images
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6, 8)], {**RESIZED, "mode": "sharp"}, '\'mode\' is "sharp"'),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6, 8)], {**RESIZED, "nearest_mode": "up"}, '\'nearest_mode\' is "up"'),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6, 8)], {**RESIZED, "coordinate_transformation_mode": "x"}, "'coordinate_transformation_mode' is"),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6, 8)], {**RESIZED, "keep_aspect_ratio_policy": "no"}, "'keep_aspect_ratio_policy' is \"no\""),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6)], RESIZED, "it has 0 scales and 3 sizes, expected 4 of one kind"),
    ("Resize", [IMAGE], [None, singles(1, 1, 2, 2), longs(1, 2, 6, 8)], RESIZED, "it has 4 scales and 4 sizes"),
    ("Resize", [IMAGE], [None, singles(1, 1, 2, 0)], RESIZED, "a scale is 0.0, expected a positive number"),
    ("Resize", [IMAGE[:, :, :0]], [None, None, longs(1, 2, 3, 8)], RESIZED, "an axis of length 0 gets the size 3"),
    ("Resize", [IMAGE], [singles(0, 0, 1, 1), None, longs(1, 2, 6, 8)], {**RESIZED, **CROPPED}, "input 1 ('roi') has 4 elements, expected 8"),
    ("Resize", [IMAGE], [singles(*[0] * 4, *[1] * 4), None, longs(1, 3, 6, 8)], {**RESIZED, **CROPPED}, "is supported for spatial axes only"),
    ("Resize", [np.zeros((5000, 2), np.float32)], [None, None, longs(4999, 2)], {**RESIZED, "antialias": 1}, "is limited to 16777216 elements"),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 2**31, 2**62)], {**RESIZED, "antialias": 1}, f"the result has the shape [1, 2, {2**31}, {2**62}] with more than {2**40} elements"),
    ("Resize", [IMAGE], [None, singles(1, 1, 2, 3e38)], RESIZED, f"an axis of length 4 is scaled by {float(np.float32(3e38))}, expected a finite length"),
    ("Resize", [IMAGE[:0]], [None, None, longs(0, 2, 2**31, 2**31)], {**RESIZED, "antialias": 1}, f"the result has the shape [0, 2, {2**31}, {2**31}] with more than {2**40} elements"),
    ("Upsample", [IMAGE], [], {"opset": 7}, "attribute 'scales' is missing"),
    ("Upsample", [IMAGE], [], {"opset": 7, "scales": [1.0, 2.0]}, "the scales are [1.0, 2.0], the data have the rank 4"),
    ("Col2Im", [np.zeros((1, 4, 9), np.float32)], [longs(4, 4), longs(2, 2)], {"opset": 18, "strides": [2, 2]}, "have [2, 2] places in images"),
    ("Col2Im", [np.zeros((1, 5, 9), np.float32)], [longs(4, 4), longs(2, 2)], {"opset": 18}, "the data have the shape [1, 5, 9]"),
    ("Col2Im", [np.zeros((1, 4, 9), np.float32)], [longs(1, 1), longs(2, 2)], {"opset": 18}, "have [0, 0] places"),
    ("Col2Im", [np.zeros((1, 4, 9), np.float32)], [longs(4, 4), longs(4)], {"opset": 18}, "expected a length for each of the same axes"),
    ("MaxPool", [IMAGE[:, :, :0]], [], {"opset": 12, "outputs": 2, "kernel_shape": [2, 2], "pads": [1] * 4}, "takes elements of an axis of length 0"),
    # layers
    ("PRelu", [IMAGE], [ROW[:3]], {"opset": 6}, "there are 3 slopes for data of the shape [1, 2, 3, 4]"),
    ("PRelu", [ROW], [ROW], {"opset": 6}, "there are 4 slopes for data of the shape [4]"),
    ("DeformConv", [np.zeros((1, 2, 5), np.float32)], [np.zeros((3, 2, 1), np.float32), np.zeros((1, 2, 5), np.float32)], {"opset": 19}, "only images are supported"),
    ("DeformConv", [IMAGE], [POINT, OFFSETS], {"opset": 19, "offset_group": 2}, "'offset_group' is 2, the data have 2 channels and the offsets 2 for 1 taps"),
    ("DeformConv", [IMAGE], [POINT, OFFSETS], {"opset": 19, "offset_group": 0}, "'offset_group' is 0"),
    ("DeformConv", [IMAGE], [POINT, np.zeros((1, 6, 3, 4), np.float32)], {"opset": 19, "offset_group": 3}, "'offset_group' is 3"),
    ("Pad", [IMAGE], [], {"opset": 2, "mode": "edge"}, "the padding widths are missing"),
    ("Pad", [IMAGE], [longs(0, 0, 1)], {}, "the padding widths are [0, 0, 1] for 4 axes"),
    ("Pad", [IMAGE], [longs(*[0] * 8)], {"mode": "far"}, "'mode' is \"far\""),
    ("Pad", [ROW], [longs(-5, 0)], {"opset": 19, "mode": "wrap"}, "axis 0 of length 4 is padded by -5 and 0, which gives it the length -1"),
    ("Pad", [ROW[:0]], [longs(1, 0)], {"opset": 19, "mode": "wrap"}, "axis 0 of 0 elements cannot be repeated to 1 elements"),
    ("GlobalLpPool", [IMAGE], [], {"p": 0}, "'p' is 0, expected a positive number"),
    ("DepthToSpace", [IMAGE], [], {"blocksize": 2}, "'blocksize' is 2, the input has 2 channels"),
    ("DepthToSpace", [IMAGE], [], {"blocksize": 1, "mode": "RCD"}, "'mode' is \"RCD\""),
    ("Det", [np.zeros((2, 3), np.float32)], [], {"opset": 11}, "expected square matrices"),
    ("EyeLike", [ROW], [], {"opset": 9}, "its input has the shape [4], expected a matrix"),
    ("ConstantOfShape", [], [longs(2)], {"opset": 9, "value": helper.make_tensor("v", 1, [2], [1.0, 2.0])}, "attribute 'value' has 2 elements, expected one"),
    ("Multinomial", [IMAGE[0, 0]], [], {"opset": 7, "seed": 1.0, "sample_size": -1}, "'sample_size' is -1 and 'dtype' i32"),
    ("Multinomial", [IMAGE[0, 0]], [], {"opset": 7, "seed": 1.0, "dtype": TensorProto.FLOAT}, "and 'dtype' f32, expected i32 or i64"),
    # shapes
    ("Reshape", [IMAGE], [], {"opset": 1}, "attribute 'shape' is missing"),
    ("Reshape", [IMAGE], [longs(-2, 4)], {}, "the new shape [-2, 4] has a number below -1"),
    ("Unsqueeze", [IMAGE], [], {"opset": 1}, "attribute 'axes' is missing"),
    ("Slice", [IMAGE], [], {"opset": 1, "ends": [1]}, "attribute 'starts' or 'ends' is missing"),
    ("Slice", [IMAGE], [], {"opset": 1, "starts": [1]}, "attribute 'starts' or 'ends' is missing"),
    ("Slice", [IMAGE], [longs(0, 1), longs(1, 2), longs(0), longs(1, 1)], {}, "'starts' is [0, 1] for the axes [0]"),
    ("Slice", [ROW], [longs(0, 1), longs(1, 2), None, longs(1, 1)], {}, "of the shape [4]"),
    ("Tile", [ROW], [longs(2, 2), longs(0)], {"opset": 1}, "inputs 'tiles' and 'axis' must have one element"),
    ("Tile", [ROW], [longs(2), longs(0, 0)], {"opset": 1}, "inputs 'tiles' and 'axis' must have one element"),
    ("Split", [ROW], [], {"opset": 18, "num_outputs": 3, "outputs": 2}, "'num_outputs' is 3, it has 2 outputs"),
    ("Split", [ROW], [longs(2, 2)], {"opset": 18, "num_outputs": 2, "outputs": 2}, "it has 2 outputs and the input 'split'"),
    ("Split", [ROW], [], {"opset": 13, "outputs": 3}, "axis 0 of length 4 does not divide into 3 parts"),
    ("Split", [ROW[:2]], [], {"opset": 18, "num_outputs": 4, "outputs": 4}, "axis 0 of length 2 does not divide into 4 parts"),
    ("Split", [ROW], [longs(1, 2)], {"outputs": 2}, "'split' is [1, 2], it has 2 outputs and axis 0 the length 4"),
    ("Split", [ROW], [longs(5, -1)], {"outputs": 2}, "'split' is [5, -1]"),
    ("Split", [ROW], [longs(3)], {"outputs": 1}, "'split' is [3], it has 1 output and"),
    # signals
    ("DFT", [IMAGE[0, 0, :, :, None]], [None, longs(0, 1)], {"opset": 20}, "input 2 ('axis') is [0, 1], expected one number"),
    ("DFT", [IMAGE[0, 0, :, :, None]], [longs(3, 3), longs(0)], {"opset": 20}, "input 1 ('dft_length') is [3, 3]"),
    ("DFT", [IMAGE[0, 0, :, :, None]], [longs(0), longs(0)], {"opset": 20}, "the length of the transform is 0"),
    ("DFT", [IMAGE[0, 0, :, :, None]], [None, longs(2)], {"opset": 20}, "'axis' is 2, the data have the shape [3, 4, 1]"),
    ("DFT", [IMAGE[0, 0]], [None, longs(0)], {"opset": 20}, "'axis' is 0, the data have the shape [3, 4]"),
    ("DFT", [np.zeros((2053, 1), np.float32)], [None, longs(0)], {"opset": 20}, "a matrix of 2053 by 2053 elements"),
    ("STFT", [np.zeros((1, 8), np.float32)], [longs(2)], {"opset": 17}, "neither a window nor a length of frames"),
    ("STFT", [np.zeros((1, 8), np.float32)], [longs(2, 2), ROW], {"opset": 17}, "the step is [2, 2]"),
    ("STFT", [np.zeros((1, 8), np.float32)], [longs(2), ROW, longs(3)], {"opset": 17}, "the length of frames [3]"),
    ("STFT", [np.zeros((1, 8, 3), np.float32)], [longs(2), ROW], {"opset": 17}, "its signal has the shape [1, 8, 3]"),
    ("HannWindow", [], [longs(3, 4)], {"opset": 17}, "input 0 ('size') is [3, 4], expected one number"),
    ("MelWeightMatrix", [], [longs(4, 4), longs(9), longs(9), singles(0), singles(4)], {"opset": 17}, "input 0 ('num_mel_bins') has 2 elements, expected one"),
    *(
        ("MelWeightMatrix", [], [longs(each[0]), longs(each[1]), longs(each[2]), singles(each[3]), singles(each[4])], {"opset": 17}, f"it has {each[0]} bands from")
        for each in ((0, 9, 9, 0, 4), (4, 0, 9, 0, 4), (4, 9, 0, 0, 4), (4, 9, 9, -1, 4), (4, 9, 9, 4, 4))
    ),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "mode": "X"}, "'mode' is \"X\" and 'ngram_indexes' [0, 1, 2]"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "ngram_indexes": [0, -1, 2]}, "'ngram_indexes' [0, -1, 2]"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "min_gram_length": 3}, "lengths are 3 to 2, and 0 tokens are skipped"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "min_gram_length": 0}, "lengths are 0 to 2"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "max_skip_count": -1}, "and -1 tokens are skipped"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "mode": "IDF", "weights": [1.0, 2.0]}, "there are 2 weights for 3 sequences"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 2], "mode": "IDF", "weights": [1.0, 2.0, 3.0], "ngram_indexes": [0, 1, 1]}, "several sequences have one column"),
    ("TfIdfVectorizer", [WORDS.reshape(1, 1, 3)], [], {**TOKENS, "ngram_counts": [0, 2]}, "its input has the shape [1, 1, 3], expected rank 1 or 2"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 5]}, "'ngram_counts' is [0, 5] for 4 tokens"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 1]}, "'ngram_counts' is [0, 1] for 4 tokens"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [-1, 2]}, "'ngram_counts' is [-1, 2]"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0]}, "there are 4 sequences, and 3 numbers"),
    ("TfIdfVectorizer", [WORDS], [], {**TOKENS, "ngram_counts": [0, 0]}, "there are 2 sequences, and 3 numbers"),
    ("TfIdfVectorizer", [WORDS], [], {"opset": 9, "mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0], "ngram_indexes": [0], "pool_strings": ["a"]}, "its tokens are no integers"),
)  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row[0]}: {row[4][:40]}")
def test_what_does_not_fit(row: Row) -> None:
    op, data, constants, options, reason = row
    with pytest.raises(OnnxImportError) as caught:
        import_model(one_node(op, data, constants, **options))
    assert reason in str(caught.value) and "the_node" in str(caught.value)


WHOLE, HALF = np.zeros((1, 2, 3, 4), np.int64), IMAGE.astype(np.float16)
WIDE = IMAGE.astype(np.float64)
DOUBLES = np.array([1, 1, 2, 2], np.float64)
WEIGHTS = np.zeros((1, 20, 4), np.float32)
STEPS = np.zeros((1, 2, 4), np.float32)

FORBIDDEN: Sequence[Row] = (
    ("Resize", [IMAGE], [None, None, singles(1, 2, 6, 8)], {"opset": 19}, "input 3 ('sizes') has elements of type float32, expected int64"),
    ("Resize", [IMAGE], [None, None, longs(1, 2, 6, 8).astype(np.int32)], {"opset": 19}, "input 3 ('sizes') has elements of type int32, expected int64"),
    ("Resize", [IMAGE], [None, DOUBLES], {"opset": 13}, "input 2 ('scales') has elements of type float64, expected float32"),
    ("Resize", [IMAGE], [longs(1, 1, 2, 2)], {"opset": 10}, "input 1 ('scales') has elements of type int64, expected float32"),
    # Later operator sets have other inputs.
    ("Resize", [IMAGE], [DOUBLES], {"opset": 10}, "input 1 ('scales') has elements of type float64, expected float32"),
    ("Upsample", [IMAGE], [DOUBLES], {"opset": 9}, "input 1 ('scales') has elements of type float64, expected float32"),
    *(
        (op, [STEPS], [WEIGHTS[:, : gates * 5], np.zeros((1, gates * 5, 5), np.float32)], {"opset": 14, "hidden_size": size}, f"'hidden_size' is {size}, input 2 ('R') says 5")
        for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))
        for size in (0, 7, -1)
    ),
    ("Range", [], [np.array(0, np.float32), np.array(4, np.int64), np.array(1, np.int32)], {"opset": 11}, "input 0 ('start') has elements of type float32 and input 1 ('limit') of type int64, expected one type"),
    ("Clip", [IMAGE], [np.array(0, np.int64)], {"opset": 13}, "input 0 ('input') has elements of type float32 and input 1 ('min') of type int64"),
    ("Clip", [IMAGE], [None, np.array(1, np.float64)], {"opset": 11}, "input 0 ('input') has elements of type float32 and input 2 ('max') of type float64"),
    ("Pad", [IMAGE], [longs(*[1] * 8), np.array(0, np.float64)], {"opset": 13}, "input 0 ('data') has elements of type float32 and input 2 ('constant_value') of type float64"),
    ("Where", [WHOLE, IMAGE], [IMAGE], {"opset": 16}, "input 0 ('condition') has elements of type int64, expected bool"),
    ("Concat", [IMAGE, HALF], [], {"opset": 13, "axis": 0}, "input 1 ('inputs') of type float16, expected one type"),
    ("Sin", [WHOLE], [], {"opset": 7}, "input 0 ('input') has elements of type int64, expected float16, float32, float64"),
)  # fmt: skip


@pytest.mark.parametrize("row", FORBIDDEN, ids=lambda row: f"{row[0]}: {row[4][:40]}")
def test_element_types_that_schemas_forbid(row: Row) -> None:
    test_what_does_not_fit(row)


def test_other_operator_sets_say_what_types_mean() -> None:
    """Many files state an older operator set than their element types are from; integers of Erf are of a set before."""
    require_equal(
        imported(one_node("Max", [WHOLE, WHOLE + 1], [], opset=8), [WHOLE, WHOLE + 1]), [WHOLE + 1]
    )
    mixed = one_node("Pow", [IMAGE], [np.array(2, np.int64)], opset=7)
    require_equal(imported(mixed, [IMAGE]), [IMAGE**2])
    whole = np.array([-10, 0, 10], np.int32)
    require_equal(imported(one_node("Erf", [whole], [], opset=13), [whole]), [np.sign(whole)])


SLOPES = np.array([2, 3], np.float32)


@pytest.mark.parametrize(
    ("data", "slope", "factor"),
    [
        (IMAGE - 9, SLOPES, SLOPES.reshape(2, 1, 1)),
        (IMAGE - 9, SLOPES[:1], SLOPES[0]),
        (IMAGE[0, 0] - 5, ROW, ROW),
        (ROW - 2, SLOPES[1:], SLOPES[1]),
    ],
)
def test_slopes_of_channels(data: Array, slope: Array, factor: Array) -> None:
    """Before operator set 7 they belong to the second axis, whatever their shape broadcasts with."""
    model = one_node("PRelu", [data], [slope], opset=6)
    require_equal(imported(model, [data]), [np.where(data < 0, factor * data, data)])


def test_drawn_classes_are_likely_ones() -> None:
    data = np.log(singles(0, 0, 0.25, 0.75, 0, 1, 0, 0).reshape(2, 4) + np.float32(1e-30))
    model = one_node(
        "Multinomial", [data], opset=7, sample_size=400, seed=3.0, dtype=TensorProto.INT64
    )
    (drawn,) = imported(model, [data])
    assert (drawn.dtype, drawn.shape) == (np.int64, (2, 400))
    assert set(drawn[0].tolist()) == {2, 3} and 240 < (drawn[0] == 3).sum() < 360
    assert set(drawn[1].tolist()) == {1}
    assert imported(one_node("Multinomial", [data], opset=7, seed=3.0), [data])[0].dtype == np.int32


Step = tuple[str, Sequence[str], dict[str, Any]]
"""The operator, inputs and attributes of a node; what the one before gives is v0, v1, …"""


def chained(place: Array, *nodes: Step) -> ModelProto:
    """A model of x, y and the constant p whose last node gives z."""
    made = [
        helper.make_node(
            op, [*names], ["z" if i == len(nodes) - 1 else f"v{i}"], f"n{i}", **options
        )
        for i, (op, names, options) in enumerate(nodes)
    ]
    initializers = [numpy_helper.from_array(place, "p")]
    inputs = [value_info(name, ROW) for name in "xy"]
    return build(made, inputs, [untyped("z")], initializers, opset=17)


PAIR: Step = ("SequenceConstruct", ["x", "y"], {})


REFUSED_PLACES: Sequence[tuple[list[Step], Array, str]] = (
    ([PAIR, ("SequenceAt", ["v0", "p"], {})], longs(2), "accepted range is [-2, 1]"),
    ([PAIR, ("SequenceAt", ["v0", "p"], {})], longs(-3), "accepted range is [-2, 1]"),
    ([PAIR, ("SequenceInsert", ["v0", "x", "p"], {}), ("SequenceLength", ["v1"], {})], longs(3), "accepted range is [-2, 2]"),
    ([PAIR, ("SequenceInsert", ["v0", "x", "p"], {}), ("SequenceLength", ["v1"], {})], longs(-3), "accepted range is [-2, 2]"),
    ([PAIR, ("SequenceErase", ["v0", "p"], {}), ("SequenceLength", ["v1"], {})], longs(2), "accepted range is [-2, 1]"),
    ([("SequenceAt", ["x", "p"], {})], longs(0), "input 0 is a tensor, expected a sequence"),
    ([("SequenceEmpty", [], {}), ("ConcatFromSequence", ["v0"], {"axis": 0})], longs(0), "its sequence is empty"),
    ([("SequenceEmpty", [], {}), ("SequenceErase", ["v0"], {}), ("SequenceLength", ["v1"], {})], longs(0), "its sequence is empty"),
)  # fmt: skip


@pytest.mark.parametrize(("nodes", "place", "reason"), REFUSED_PLACES)
def test_places_in_sequences(nodes: list[Step], place: Array, reason: str) -> None:
    with pytest.raises(OnnxImportError) as caught:
        import_model(chained(place.reshape(()), *nodes))
    assert reason in str(caught.value)


SEQUENCES: Sequence[tuple[list[Step], int, Any]] = (
    ([PAIR, ("SequenceAt", ["v0", "p"], {})], 1, [8]),
    ([PAIR, ("SequenceAt", ["v0", "p"], {})], -2, [5]),
    ([PAIR, ("SequenceAt", ["v0", "p"], {})], -1, [8]),
    ([PAIR, ("SequenceInsert", ["v0", "y", "p"], {}), ("ConcatFromSequence", ["v1"], {"axis": 0})], -2, [8, 5, 8]),
    ([PAIR, ("SequenceInsert", ["v0", "x", "p"], {}), ("ConcatFromSequence", ["v1"], {"axis": 0})], 2, [5, 8, 5]),
    ([PAIR, ("SequenceErase", ["v0", "p"], {}), ("ConcatFromSequence", ["v1"], {"axis": 0})], 0, [8]),
    ([PAIR, ("SequenceErase", ["v0"], {}), ("ConcatFromSequence", ["v1"], {"axis": 0})], 0, [5]),
    ([PAIR, ("ConcatFromSequence", ["v0"], {"axis": -1, "new_axis": 1})], 0, "last"),
    ([PAIR, ("ConcatFromSequence", ["v0"], {"axis": 0, "new_axis": 1})], 0, "first"),
)  # fmt: skip


@pytest.mark.parametrize(("nodes", "place", "expected"), SEQUENCES)
def test_sequences(nodes: list[Step], place: int, expected: Any) -> None:
    x, y = ROW + np.float32(5), ROW + np.float32(80)
    arrays = {5: x, 8: y}
    if isinstance(expected, str):
        wanted = np.stack([x, y], -1 if expected == "last" else 0)
    else:
        wanted = np.concatenate([arrays[each] for each in expected])
    model = chained(np.array(place, np.int64), *nodes)
    require_equal(imported(model, [x, y]), [wanted])
