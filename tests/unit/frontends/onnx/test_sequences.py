"""Sequences of tensors, which are followed while a model is imported."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, parser

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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s = SequenceConstruct (x, x) two = Constant <value_int = 2> () y = SequenceAt (s, two)", r"accepted range is \[-2, 1\]"),
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
