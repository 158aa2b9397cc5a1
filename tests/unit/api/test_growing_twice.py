"""Outputs that grow over an input and are returned a second time."""

import numpy as np
import pytest
from onnx import parser

import xrelay

OTHER, PRESENT = "float[total, 3] other", "float[total, 3] present"
CONCAT = "Concat <axis = 0> (past, new)"


@pytest.mark.parametrize(
    "body",
    [
        f"({OTHER}, {PRESENT}) {{ other = {CONCAT} present = {CONCAT} }}",
        f"({OTHER}, {PRESENT}) {{ other = {CONCAT} present = Identity (other) }}",
        f"({PRESENT}, {OTHER}) {{ present = {CONCAT} other = Identity (present) }}",
    ],
)
@pytest.mark.parametrize("columns", [3, 5])
def test_the_same_value_in_two_outputs(body: str, columns: int) -> None:
    """The value is computed where it grows, and the other output, row-major or a part, is a copy of it."""
    header = (
        '<ir_version: 8, opset_import: ["" : 17]> g (float[past, 3] past, float[step, 3] new) => '
    )
    model = xrelay.compile(parser.parse_model(header + body), cache=False)
    old = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    cache = np.full((9, 3), 7, np.float32)
    cache[:4] = old
    new = np.arange(6, dtype=np.float32).reshape(2, 3)
    other = np.full((6, columns), 7, np.float32)
    outputs = {"present": cache[:6], "other": other[:, :3]}
    model.bind({"past": cache[:4], "new": new}, outputs).run()
    expected = np.concatenate([old, new])
    assert np.array_equal(cache, [*expected, *np.full((3, 3), 7)])
    assert np.array_equal(other[:, :3], expected)
    assert (other[:, 3:] == 7).all()
