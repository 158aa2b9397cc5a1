"""Both models of one whose sizes depend on data: their nodes, and what the first hands over to the second."""

from collections.abc import Mapping

import numpy as np
import pytest
from onnx import ModelProto, parser, printer

import xrelay
from xrelay.frontends.onnx import import_model
from xrelay.frontends.onnx.errors import UnknownInputs
from xrelay.runtime.staged import Part, Stages


def cut(text: str, is_open: bool, names: Mapping[str, str] | None = None) -> Stages[ModelProto]:
    """The models that one becomes, in which some names are replaced that ONNX's text does not write."""
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    for node in model.graph.node:
        for side in (node.input, node.output):
            side[:] = [(names or {}).get(name, name) for name in side]
    with pytest.raises(UnknownInputs) as caught:
        import_model(model)
    assert caught.value.cut is not None
    stages = caught.value.cut(is_open)
    assert stages is not None
    return stages


def lines(model: ModelProto | None) -> list[str]:
    """The graph of a model as text."""
    if model is None:
        return []
    text = printer.to_text(model).splitlines()
    start = next(i for i, line in enumerate(text) if line == ">")
    assert text[2] == '   opset_import: ["" : 21, "xrelay.stages" : 1]'
    return [line.strip() for line in text[start + 1 : -1]]


@pytest.mark.parametrize(("is_open", "length"), [(False, "4"), (True, "?")])
def test_numbers_of_4_bits_are_handed_over(is_open: bool, length: str) -> None:
    """As what they are, of a known length unless it may be another one at the next call."""
    stages = cut(
        """narrow (float[4] x, float s) => (float[4] y) {
          q = QuantizeLinear <output_dtype = 22> (x, s)
          p = NonZero (x)
          n = ReduceMax <keepdims = 0> (p)
          f = Cast <to = 1> (n)
          y = DequantizeLinear (q, f)
        }""",
        is_open,
    )
    assert lines(stages.first) == [
        'narrow_first (float[4] x, float s) => (int4[] q,  "p.rows",  "p.count") {',
        "q = QuantizeLinear <output_dtype: int = 22> (x, s)",
        '"p.rows", "p.count" = xrelay.stages.NonZero (x)',
    ]
    assert lines(stages.second) == [
        f'narrow_second (int4[{length}] q, int32["p.count",1] "p.rows") => (float[4] y) {{',
        '"p.wide" = Cast <to: int = 7> ("p.rows")',
        'p = Transpose <perm: ints = [1, 0]> ("p.wide")',
        "n = ReduceMax <keepdims: int = 0> (p)",
        "f = Cast <to: int = 1> (n)",
        "y = DequantizeLinear (q, f)",
    ]
    assert stages.parts == {"p.rows": Part("p.count", 0)}


def test_new_names_are_not_those_of_others() -> None:
    """They get a line at their end until they are new."""
    stages = cut(
        """sets (float[4, 3] x) => (float[n] y, int64[12] r) {
          taken = Identity (x)
          also = Identity (taken)
          y, i, r = Unique (also)
        }""",
        False,
        {"taken": "y.count", "also": "y.count_"},
    )
    assert lines(stages.first)[-1] == (
        'y, i, r, "", "y.count__" = xrelay.stages.Unique ("y.count_")'
    )
    assert lines(stages.second) == []
    assert stages.parts == {"y": Part("y.count__", 0)}


@pytest.mark.parametrize(
    ("axis", "kinds"),
    [
        ("", 'float["y.count"] y, int64["y.count"] i, int64[12] r, int64["y.count"] c'),
        ("axis = 0, ", 'float["y.count",3] y, int64["y.count"] i, int64[4] r, int64["y.count"] c'),
        ("axis = -1, ", 'float[4,"y.count"] y, int64["y.count"] i, int64[3] r, int64["y.count"] c'),
    ],
)
def test_lengths_of_what_is_unique(axis: str, kinds: str) -> None:
    """All results that later nodes take, with the length that only running tells."""
    stages = cut(
        f"""sets (float[4, 3] x) => (float[a, b] z, int64[k] j, int64[l] s, int64[m] d) {{
          y, i, r, c = Unique <{axis}sorted = 1> (x)
          z = Neg (y)
          j = Neg (i)
          s = Neg (r)
          d = Neg (c)
        }}""",
        False,
    )
    head = f"sets_second ({kinds}) =>"
    assert lines(stages.second)[0].startswith(head)
    place = 1 if axis.startswith("axis = -1") else 0
    count = "y.count"
    assert stages.parts == {"y": Part(count, place), "i": Part(count, 0), "c": Part(count, 0)}


def test_shapes_that_are_computed() -> None:
    """What decides about a node without a bound is an operand of the second model."""
    stages = cut(
        """spread (float[4] x, float[4] w) => (float[a, b] y, float[4] z) {
          n = ReduceMax <keepdims = 0> (w)
          l = Cast <to = 7> (n)
          r = Abs (l)
          z = Relu (x)
          y = Expand (z, r)
        }""",
        False,
    )
    assert lines(stages.first) == [
        "spread_first (float[4] x, float[4] w) => (float[] z, int64[] r) {",
        "z = Relu (x)",
        "n = ReduceMax <keepdims: int = 0> (w)",
        "l = Cast <to: int = 7> (n)",
        "r = Abs (l)",
    ]
    assert lines(stages.second) == [
        "spread_second (float[4] z, int64 r) => (float[a,b] y) {",
        "y = Expand (z, r)",
    ]
    assert stages.parts == {}


def test_sequences_are_made_where_they_are_used() -> None:
    """Only tensors go from one model to the other: the second makes the sequence anew of what both are given."""
    stages = cut(
        """seqs (float[4] x) => (float[a] y) {
          s = SplitToSequence (x)
          p = NonZero (x)
          n = ReduceMax <keepdims = 0> (p)
          y = SequenceAt (s, n)
        }""",
        False,
    )
    assert stages.second is not None
    assert "s = SplitToSequence (x)" in lines(stages.second)
    assert not any("Sequence" in line for line in lines(stages.first))


def test_an_element_of_a_sequence_that_data_choose() -> None:
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        seqs (float[4] x) => (float[a] y) {
          s = SplitToSequence (x)
          p = NonZero (x)
          n = ReduceMax <keepdims = 0> (p)
          y = SequenceAt (s, n)
        }"""
    )
    compiled = xrelay.compile(model)
    for x, last in ([1, 2, 3, 0], 3), ([5, 0, 0, 0], 5), ([4, 3, 2, 7], 7):
        np.testing.assert_array_equal(compiled.run({"x": np.float32(x)})["y"], np.float32([last]))


def test_operands_that_are_computed_behind_the_cut_decide_nothing() -> None:
    """A node may ask for one operand where another one has no value yet, as what computes it asks for one, too."""
    stages = cut(
        """hot (float[4] x, float[2] values) => (float[a, b] y) {
          n = ReduceMax <keepdims = 0> (x)
          l = Cast <to = 7> (n)
          d = Abs (l)
          e = Expand (l, d)
          y = OneHot (e, d, values)
        }""",
        False,
    )
    assert lines(stages.first) == [
        "hot_first (float[4] x) => (int64[] l, int64[] d) {",
        "n = ReduceMax <keepdims: int = 0> (x)",
        "l = Cast <to: int = 7> (n)",
        "d = Abs (l)",
    ]
    assert lines(stages.second) == [
        "hot_second (int64 l, int64 d, float[2] values) => (float[a,b] y) {",
        "e = Expand (l, d)",
        "y = OneHot (e, d, values)",
    ]
    assert stages.parts == {}
