"""Models with sizes that depend on data in branches: stages of the branch that is taken, against onnxruntime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from onnx_models import agree, masks, parsed, session

import xrelay
from xrelay.frontends.onnx.errors import UnknownInputs
from xrelay.frontends.onnx.importer.model import import_model
from xrelay.runtime.dynamic import DynamicModel
from xrelay.tools.cli import main

BRANCH = """m (bool c, float[3, 4] x) => (int64[2, n] y) {
    y = If (c) <
        then_branch = taken () => (int64[2, n] r) { r = NonZero (x) },
        else_branch = other () => (int64[2, n] s) { s = Constant <value = int64[2, 1] {0, 0}> () }
    >
}"""


def test_sizes_in_a_branch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is known of the condition says which branch the stages are made of; the interpreter needs none."""
    model = parsed(BRANCH)
    compiled = xrelay.compile(model, cache=False)
    assert isinstance(compiled, DynamicModel)
    for taken in (True, False, True):
        for x in masks(3, 4):
            agree(model, compiled, {"c": np.array(taken), "x": x})
    inputs = {"c": np.array(True), "x": np.eye(3, 4, dtype=np.float32)}
    (expected,) = session(model).run(None, inputs)
    np.testing.assert_array_equal(xrelay.interpret(model, inputs)["y"], expected)
    path = tmp_path / "branch.onnx"
    onnx.save(model, path)
    np.save(tmp_path / "c.npy", np.array(True))
    command = ["run", str(path), "--seed", "3", "--input", f"c={tmp_path / 'c.npy'}"]
    # Random elements decide about sizes where none are given.
    for options in ((), ("--interpret",)):
        assert main([*command, *options]) == 0
    assert "interpreted: " in capsys.readouterr().out
    # A condition is drawn as other inputs are.
    shapes: set[str] = set()
    for seed in range(4):
        assert main(["run", str(path), "--seed", str(seed)]) == 0
        out = capsys.readouterr().out
        shapes |= {each for each in ("[2, 1]", "[2, 12]") if each in out}
    assert shapes == {"[2, 1]", "[2, 12]"}


COMPUTED_CONDITION = """m (float[rows, 3] x, float[k] w) => (float[m, 3] y, float[k] z) {
    zero = Constant <value_float = 0.0> ()
    top = ReduceMax <keepdims = 0> (w)
    c = Greater(top, zero)
    y, v = If (c) <
        then_branch = taken () => (float[m, 3] p, float[k] q) {
            axis = Constant <value_ints = [1]> ()
            s = ReduceSum <keepdims = 0> (x, axis)
            large = Greater(s, zero)
            p = Compress <axis = 0> (x, large)
            q = Relu(w)
        },
        else_branch = other () => (float[m, 3] p, float[k] s) { p = Identity(x) s = Neg(w) }
    >
    z = Exp(v)
}"""
"""The other branch has names that the first has for something else."""
CONDITION_OF_A_SIZE = """m (float[rows, 3] x, float[j, 3] w) => (float[m, 3] y) {
    there = NonZero(x)
    n = Size(there)
    limit = Constant <value_int = 0> ()
    c = Greater(n, limit)
    y = If (c) <
        then_branch = taken () => (float[m, 3] r) {
            zero = Constant <value_float = 0.0> ()
            s = ReduceMax <axes = [1], keepdims = 0> (x)
            b = Greater(s, zero)
            some = Compress <axis = 0> (x, b)
            inner = ReduceMax <keepdims = 0> (x)
            two = Constant <value_float = 2.0> ()
            d = Greater(inner, two)
            r = If (d) <
                then_branch = large () => (float[m, 3] t) { t = Concat <axis = 0> (some, w) },
                else_branch = small () => (float[m, 3] u) { u = Identity(some) }
            >
        },
        else_branch = other () => (float[m, 3] v) { v = Identity(w) }
    >
}"""
"""Boxes are filtered where there are any, as in detection models, and a branch of the branch depends on data again."""


def test_sizes_in_branches_that_data_take() -> None:
    rng = np.random.default_rng(0)
    model = parsed(COMPUTED_CONDITION)
    compiled = xrelay.compile(model, cache=False)
    for rows, k in ((4, 5), (4, 5), (2, 5), (7, 2)):
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        w = np.abs(rng.standard_normal(k)).astype(np.float32)
        for each in (w, -w):
            agree(model, compiled, {"x": x, "w": each}, 1e-6)
    model = parsed(CONDITION_OF_A_SIZE)
    compiled = xrelay.compile(model, cache=False)
    w = np.ones((2, 3), np.float32)
    for x in (
        rng.standard_normal((6, 3)),
        np.zeros((4, 3)),
        np.full((5, 3), 3.0),
        np.zeros((0, 3)),
    ):
        agree(model, compiled, {"x": x.astype(np.float32), "w": w})


IN_EACH = """{0} m (float[rows, 3] x) => (int64[2, n] y{1}) {{
    k = Constant <value = bool {{1}}> ()
    y = If (k) <
        then_branch = taken () => (int64[2, n] r) {{ r = NonZero(x) }},
        else_branch = other () => (int64[2, n] s) {{ z = Neg(x) s = NonZero(z) }}
    >
    {2}
}}"""


def test_constants_that_take_a_branch() -> None:
    """The stages are the same for all shapes."""
    model = parsed(IN_EACH.format("", "", ""))
    compiled = xrelay.compile(model, cache=False)
    rng = np.random.default_rng(0)
    for rows in (4, 7, 2):
        x = rng.standard_normal((rows, 3)).astype(np.float32)
        agree(model, compiled, {"x": np.maximum(x, 0)})
    with pytest.raises(UnknownInputs) as caught:
        import_model(model, shapes={"x": (4, 3)})
    assert caught.value.cut is not None and not caught.value.fixed


def test_branches_that_are_not_in_the_way() -> None:
    """Nodes that nothing uses may be broken, and what else is refused has its own reason."""
    model = parsed(IN_EACH.format("", "", ""))
    model.graph.node.append(onnx.helper.make_node("If", [], ["dead"]))
    model.graph.node.append(onnx.helper.make_node("If", ["k"], ["dead too"]))
    compiled: Any = xrelay.compile(model, cache=False)
    x = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], np.nonzero(x))
    loop = """
    one = Constant <value = int64 {1}> ()
    zero = Constant <value_float = 0.0> ()
    three = Constant <value = int64 {3}> ()
    s = Loop (three, k, zero) <body = body (int64 i, bool c, float t) => (bool d, float u) {
      p = NonZero(x)  r = Cast <to = 1> (p)  v = ReduceSum <keepdims = 0> (r)  u = Add(t, v)  d = Identity(c)
    }>"""
    text = IN_EACH.format("", ", float s", loop)
    compiled = xrelay.compile(parsed(text), cache=False)
    agree(parsed(text), compiled, {"x": x})
    with pytest.raises(xrelay.OnnxImportError, match="Unheard"):
        unheard = parsed(text.replace("r = Cast <to = 1>", "r = Unheard"))
        xrelay.compile(unheard, shapes={"x": (4, 3)}, cache=False)


SQUEEZED = """m (float[a, b] x) => (int64[r, n] y, float[k] z) {
    one = Constant <value = int64 {1}> ()
    axis = Constant <value_ints = [1]> ()
    shape = Shape <start = 1> (x)
    last = Squeeze(shape)
    c = Equal(last, one)
    q = If (c) <
        then_branch = single () => (float[a] r) { r = Squeeze(x, axis) },
        else_branch = other () => (float[a, b] s) { s = Identity(x) }
    >
    y = NonZero(q)
    t = Transpose <perm = [1, 0]> (y)
    z = GatherND(q, t)
}"""
"""As torch exports `squeeze`: which rank the stages hand on depends on shapes."""
UNUSED = """m (bool c, float[4] x) => (float[4] y) {
    y, places = If (c) <
        then_branch = one () => (float[4] r, int64[1, n] p) { r = Abs(x)  p = NonZero(x) },
        else_branch = other () => (float[4] s, int64[1, n] q) { s = Neg(x)  q = NonZero(s) }
    >
}"""


def test_branches_of_another_rank_or_that_are_used_in_part() -> None:
    model = parsed(SQUEEZED)
    compiled = xrelay.compile(model, cache=False)
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (3, 1), (5, 1), (2, 7), (3, 4)):
        x = np.maximum(rng.standard_normal(shape), 0).astype(np.float32)
        agree(model, compiled, {"x": x})
    model = parsed(UNUSED)
    compiled = xrelay.compile(model, cache=False)
    for taken in (True, False, True):
        x = rng.standard_normal(4).astype(np.float32)
        agree(model, compiled, {"c": np.array(taken), "x": x})


def test_branches_in_functions_of_the_model() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]> calls (float[rows, 4] x, bool c) => (int64[2, n] y) {
          r = Relu(x)
          y = own.places(r, c)
        }
        <domain: "own", opset_import: ["" : 17]> places (x, c) => (y) {
          y = If (c) <
              then_branch = taken () => (int64[2, n] p) { p = NonZero(x) },
              else_branch = other () => (int64[2, n] q) { e = Exp(x) q = NonZero(e) }
          >
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for rows in (3, 5):
        for taken in (True, False):
            for x in masks(rows, 4):
                agree(model, compiled, {"x": np.nan_to_num(x), "c": np.array(taken)})
