"""Sequences of tensors, which are followed while a model is imported."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper, parser
from xdsl.dialects import scf

import xrelay
import xrelay.onnx_backend as backend
from xrelay.frontends.onnx import OnnxImportError, import_model

HEADER = '<ir_version: 8, opset_import: ["" : 18]>\n'


def model(text: str) -> ModelProto:
    return parser.parse_model(HEADER + text)


X = np.arange(12, dtype=np.float32).reshape(2, 6)

EDITED = model("""
edited (float[2, 6] x, int64 place) => (float[2, 7] y, int64 n) {
  four = Constant <value_int = 4> ()
  parts = SplitToSequence <axis = 1> (x, four)
  last = SequenceAt (parts, place)
  half = SplitToSequence <axis = 1, keepdims = 0> (x)
  column = SequenceAt (half, place)
  ones = Constant <value_ints = [1]> ()
  line = Unsqueeze (column, ones)
  more = SequenceInsert (parts, line, place)
  n = SequenceLength (more)
  y = ConcatFromSequence <axis = 1> (more)
}
""")


def test_lists_are_edited() -> None:
    """Split by four: parts of 4 and 2 columns; the last column goes in front of the last part."""
    rep = backend.prepare(EDITED)
    y, n = rep.run([X, np.array(-1)])
    np.testing.assert_array_equal(y, np.concatenate([X[:, :4], X[:, 5:], X[:, 4:]], axis=1))
    assert n == 3
    y, _ = rep.run([X, np.array(0)])
    np.testing.assert_array_equal(y, np.concatenate([X[:, :1], X[:, :4], X[:, 4:]], axis=1))


MAPPED = model("""
mapped (seq(float[k]) xs, float[1] b) => (seq(float[k]) ys) {
  ys = SequenceMap <body = body (float[k] x, float[1] c) => (float[k] y) { y = Add(x, c) }> (xs, b)
}
""")


def test_sequences_of_any_length_are_interpreted() -> None:
    xs: Any = [np.ones(2, np.float32), np.zeros(3, np.float32)]
    found = xrelay.interpret(MAPPED, {"xs": xs, "b": np.array([5], np.float32)})
    assert {name: each.tolist() for name, each in found.items()} == {
        "ys.0": [6, 6],
        "ys.1": [5, 5, 5],
    }
    with pytest.raises(OnnxImportError, match="input 'xs' is a sequence, .* xrelay.interpret"):
        xrelay.compile(MAPPED, cache=False)
    with pytest.raises(xrelay.ModelError, match="input 'xs' is .*, expected a list of arrays"):
        xrelay.interpret(MAPPED, {"xs": xs[0], "b": xs[0][:1]})


def test_outputs_that_are_lists() -> None:
    text = "split (float[2, 6] x) => (seq(float[2]) y) { y = SplitToSequence <axis = 1, keepdims = 0> (x) }"
    (found,) = backend.prepare(model(text)).run([X])
    assert len(found) == 6
    np.testing.assert_array_equal(np.stack(found, axis=1), X)


def test_what_rounds_append_may_have_other_shapes() -> None:
    """One after the other they are known, which rows of one tensor cannot hold."""
    text = """
    ragged (float[50, 3] x) => (float[m, 3] y) {
      rounds = Constant <value_int = 50> ()
      true = Constant <value = bool {1}> ()
      one = Constant <value_int = 1> ()
      first = Constant <value_ints = [0]> ()
      empty = SequenceEmpty ()
      all = Loop <body = round (int64 i, bool goes, seq(float[k, 3]) before) => (bool goes_on, seq(float[j, 3]) after) {
        next = Add (i, one)
        end = Unsqueeze (next, first)
        part = Slice (x, first, end)
        after = SequenceInsert (before, part)
        goes_on = Identity (goes)
      }> (rounds, true, empty)
      y = ConcatFromSequence <axis = 0> (all)
    }"""
    x = np.arange(150, dtype=np.float32).reshape(50, 3)
    (found,) = backend.prepare(model(text)).run([x])
    np.testing.assert_array_equal(found, np.concatenate([x[: i + 1] for i in range(50)]))


def test_loops_with_too_few_outputs_are_refused() -> None:
    text = """
    short (float[50, 3] x) => (seq(float[3]) y) {
      rounds = Constant <value_int = 1000> ()
      true = Constant <value = bool {1}> ()
      empty = SequenceEmpty ()
      y, z = Loop <body = round (int64 i, bool goes, seq(float[3]) before, float[50, 3] s) => (bool goes_on, seq(float[3]) after) {
        row = Gather <axis = 0> (x, i)
        after = SequenceInsert (before, row)
        goes_on = Identity (goes)
      }> (rounds, true, empty, x)
    }"""
    with pytest.raises(OnnxImportError, match="its body has 2 outputs, expected 3"):
        import_model(model(text))


def mapped(lengths: str, body: str) -> str:
    return f"""
    mapped ({lengths}) => (float[m, c] z) {{
      a = SplitToSequence <keepdims = 0> (x)
      b = SplitToSequence <keepdims = 0> (y)
      s = SequenceMap <body = each (float[c] p, float[d] q) => (float[e] r) {{ {body} }}> (a, b)
      z = ConcatFromSequence <axis = 0, new_axis = 1> (s)
    }}"""


def test_sequences_of_several_lengths_are_not_mapped_together() -> None:
    text = mapped("float[100, 4] x, float[70, 4] y", "r = Add (p, q)")
    with pytest.raises(OnnxImportError, match="its sequences have 100(, | and )70 tensors"):
        import_model(model(text))
    found = xrelay.compile(model(mapped("float[n, 4] x, float[m, 4] y", "r = Add (p, q)")))
    x = np.ones((9, 4), np.float32)
    np.testing.assert_array_equal(found.run({"x": x, "y": x})["z"], 2 * x)
    with pytest.raises(OnnxImportError, match="its sequences have 9(, | and )7 tensors"):
        found.run({"x": x, "y": x[:7]})


def test_sequences_are_unrolled_for_what_has_no_loops() -> None:
    """Also those of many tensors."""
    text = mapped("float[100, 4] x, float[100, 4] y", "r = Add (p, q)")
    module = import_model(model(text), unrolled=True)
    assert not any(isinstance(op, scf.ForOp) for op in module.walk())
    assert any(isinstance(op, scf.ForOp) for op in import_model(model(text)).walk())


def test_rounds_may_take_what_is_known_of_each_tensor() -> None:
    """A shape among them, which a loop does not know."""
    text = """
    known (float[100, 1] x) => (float[m, 3] z) {
      a = SplitToSequence <keepdims = 0> (x)
      b = SplitToSequence <keepdims = 0> (shapes)
      s = SequenceMap <body = each (float[1] p, int64[1] q) => (float[3] r) { r = Expand (p, q) }> (a, b)
      z = ConcatFromSequence <axis = 0, new_axis = 1> (s)
    }"""
    made = model(text)
    made.graph.initializer.append(numpy_helper.from_array(np.full((100, 1), 3), "shapes"))
    x = np.arange(100, dtype=np.float32)[:, None]
    (found,) = backend.prepare(made).run([x])
    np.testing.assert_array_equal(found, np.broadcast_to(x, (100, 3)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s = SequenceConstruct (x, x) two = Constant <value_int = 2> () y = SequenceAt (s, two)", r"accepted range is \[-2, 1\]"),
        ("s = SequenceConstruct (x, x) y = SequenceAt (s)", "input 1 is missing"),
        ("s = SequenceEmpty () y = ConcatFromSequence <axis = 0> (s)", "its sequence is empty"),
        ("s = SequenceConstruct (x) y = Relu (s)", "input 0 is a sequence, expected a tensor"),
        ("y = SequenceLength (x)", "input 0 is a tensor, expected a sequence"),
        ("o = Optional () y = OptionalGetElement (o)", "it has no value"),
        ("s = SequenceEmpty () t = SequenceErase (s) y = SequenceLength (t)", "its sequence is empty"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(OnnxImportError, match=message):
        import_model(model(f"refused (float[2, 6] x) => (float[n] y) {{ {text} }}"))
