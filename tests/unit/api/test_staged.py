"""Models with sizes that depend on data: stages, against onnxruntime."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, numpy_helper, parser

import xrelay
from xrelay.errors import OptionError
from xrelay.frontends.onnx.errors import UnknownInputs
from xrelay.frontends.onnx.importer.model import import_model
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.signature import InputValue
from xrelay.runtime.staged import StagedModel
from xrelay.tools.cli import main

HEADER = '<ir_version: 8, opset_import: ["" : 17]> '

Arrays = Mapping[str, Any]


def parsed(text: str) -> ModelProto:
    return parser.parse_model(HEADER + text)


def staged(model: ModelProto, **options: Any) -> StagedModel:
    found = xrelay.compile(model, cache=False, **options)
    assert isinstance(found, StagedModel), found
    return found


def session(model: ModelProto) -> Any:
    options: Any = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def agree(model: ModelProto, compiled: Any, inputs: Arrays, tolerance: float = 0) -> None:
    """Runs both; shapes, dtypes and elements are the same."""
    wanted = session(model).run(None, dict(inputs))
    found = compiled.run(inputs)
    assert list(found) == [each.name for each in model.graph.output]
    for output, (name, array) in zip(wanted, found.items(), strict=True):
        assert array.dtype == output.dtype and array.shape == output.shape, name
        np.testing.assert_allclose(array, output, atol=tolerance, rtol=tolerance, err_msg=name)


def masks(*shape: int) -> Iterator[Any]:
    """Numbers of which none, all, one, the last, some, most are not 0, and one that is none."""
    rng = np.random.default_rng(len(shape))
    numbers = rng.standard_normal(shape).astype(np.float32)
    yield np.zeros(shape, np.float32)
    yield np.ones(shape, np.float32)
    for place in (0, -1):
        one = np.zeros(shape, np.float32)
        one.reshape(-1)[place] = -2
        yield one
    for share in (0.1, 0.5, 0.9):
        yield np.where(rng.random(shape) < share, numbers, 0).astype(np.float32)
    with_nan = numbers.copy()
    with_nan.reshape(-1)[1::3] = np.nan
    with_nan.reshape(-1)[::2] = -0.0
    yield with_nan


PLACES = """places (float[4, 5] x) => (int64[n, 2] y) {
  r = Relu(x)
  p = NonZero(r)
  y = Transpose <perm = [1, 0]> (p)
}"""


@pytest.mark.parametrize("threads", [1, 2])
def test_places_of_elements(threads: int) -> None:
    model = parsed(PLACES)
    compiled = staged(model, threads=threads)
    assert len(compiled.stages) == 2
    assert str(compiled.signature) == "'places': 'x' float32[4, 5] -> 'y' int64[n, 2]"
    for x in masks(4, 5):
        agree(model, compiled, {"x": np.nan_to_num(x)})


SUMS = """sums (float[n, 64, 33] x, float[n, 64, 33] w) => (float[m] y, float z) {
  p = NonZero(x)
  t = Transpose <perm = [1, 0]> (p)
  y = GatherND(w, t)
  z = ReduceSum <keepdims = 0> (y)
}"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_open_inputs_and_many_sizes_on_one_program(threads: int) -> None:
    """Places, what is there, and its sum; the number of programs does not grow with that of sizes."""
    model = parsed(SUMS)
    compiled = xrelay.compile(model, cache=False, threads=threads)
    assert isinstance(compiled, DynamicModel)
    rng = np.random.default_rng(0)
    for rows in (2, 3, 5, 1):
        for x in masks(rows, 64, 33):
            w: Any = rng.standard_normal(x.shape).astype(np.float32)
            agree(model, compiled, {"x": x, "w": w}, 1e-3)
    codes = {
        id(each.model.code) for each in compiled.specialisations if isinstance(each.model, Model)
    }
    assert len(compiled.specialisations) > 20 and len(codes) <= 8, len(codes)


DETECTION = """detection (float[1, 50, 4] boxes, float[1, 50, 3] scores, int64 most, float overlap, float least)
    => (float[n, 4] found, int64[n] classes, float[k] best, int64 count) {
  by_class = Transpose <perm = [0, 2, 1]> (scores)
  line = Constant <value_ints = [-1]> ()
  one = Constant <value_ints = [1]> ()
  two = Constant <value_ints = [2]> ()
  three = Constant <value_ints = [3]> ()
  zero = Constant <value_int = 0> ()
  limit = Reshape(most, one)
  overlaps = Reshape(overlap, one)
  leasts = Reshape(least, one)
  chosen = NonMaxSuppression <center_point_box = 1> (boxes, by_class, limit, overlaps, leasts)
  images = Squeeze(boxes, axis)
  axis = Constant <value_ints = [0]> ()
  column = Slice(chosen, two, three, one)
  places = Squeeze(column, one)
  found = Gather <axis = 0> (images, places)
  kinds = Slice(chosen, one, two, one)
  classes = Squeeze(kinds, one)
  triples = GatherND(by_class, chosen)
  size = Shape(triples)
  five = Constant <value_ints = [5]> ()
  k = Min(size, five)
  best, order = TopK(triples, k)
  count = Squeeze(size)
}"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_detection(threads: int) -> None:
    """Boxes and scores of a network, with limits that are inputs; the best ones by a number that is computed."""
    model = parsed(DETECTION)
    compiled = staged(model, threads=threads)
    rng = np.random.default_rng(3)
    for most in (0, 1, 4, 50):
        for overlap, least in ((0.5, 0.4), (0.0, 0.2), (1.0, 0.9), (0.3, 2.0)):
            inputs = {
                "boxes": rng.random((1, 50, 4)).astype(np.float32),
                "scores": rng.random((1, 50, 3)).astype(np.float32),
                "most": np.array(most),
                "overlap": np.array(overlap, np.float32),
                "least": np.array(least, np.float32),
            }
            agree(model, compiled, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None) -> None:
    """A ragged row: what a condition leaves of it, padded again to a length that the count decides."""
    stated = "" if axis is None else f"<axis = {axis}>"
    model = parsed(
        f"""ragged (float[6, 7] x, bool[n] keep, float[7] w) => (float[a, b] y, float z) {{
          scaled = Mul(x, w)
          kept = Compress {stated} (scaled, keep)
          same = Compress {stated} (x, keep)
          y = Concat <axis = 0> (kept, same)
          z = ReduceSum <keepdims = 0> (kept)
        }}""".replace("float[a, b]", "float[a]" if axis is None else "float[a, b]")
    )
    compiled = xrelay.compile(model, cache=False)
    rng = np.random.default_rng(1)
    for length in (0, 1, 3, 6, 7, 42, 50):
        for share in (0, 0.5, 1):
            x = rng.standard_normal((6, 7)).astype(np.float32)
            keep = rng.random(length) < share
            inputs = {"x": x, "keep": keep, "w": x[0]}
            agree(model, compiled, inputs, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axis", "in_order", "dtype"),
    [
        (None, 0, np.float32),
        (None, 1, np.int8),
        (0, 1, np.int64),
        (1, 0, np.float32),
        (-1, 1, np.int8),
    ],
)
def test_unique(axis: int | None, in_order: int, dtype: Any) -> None:
    along = "" if axis is None else f", axis = {axis}"
    name = {"float32": "float", "int64": "int64", "int8": "int8"}[np.dtype(dtype).name]
    shape = "[a]" if axis is None else "[a, b, c]"
    model = parsed(
        f"""sets ({name}[n, m, 2] x) => ({name}{shape} y, int64[k] i, int64[j] r, int64[k] c) {{
          s = Identity(x)
          y, i, r, c = Unique <sorted = {in_order}{along}> (s)
        }}"""
    )
    compiled = xrelay.compile(model, cache=False)
    rng = np.random.default_rng(1)
    for n, m in ((1, 1), (3, 7), (9, 3)):
        for different in (1, 2, 100):
            agree(model, compiled, {"x": rng.integers(0, different, (n, m, 2)).astype(dtype)})


OPERANDS = {
    "range": "(int64[a] y) { n = ReduceMax <keepdims = 0> (w) y = Range(zero, n, one) }",
    "range of floats": """(float[a] y) {
        s = ReduceMax <keepdims = 0> (x)  l = Mul(s, ten)  y = Range(s, l, s) }""",
    "slice": """(float[a, b] y) { n = ReduceMax <keepdims = 1> (w) l = Reshape(n, line)
        y = Slice(x, first, l, last) }""",
    "top": "(float[a, b] y, int64[a, b] i) { n = ReduceMin (w) l = Reshape(n, line) y, i = TopK(x, l) }",
    "reshape": """(float[a, b] y) { n = ReduceMin (w) l = Reshape(n, line)
        s = Concat <axis = 0> (l, line) y = Reshape(x, s) }""",
    "expand": """(float[c, a, b] y) { n = ReduceMax (w) l = Reshape(n, line)
        s = Concat <axis = 0> (l, both) y = Expand(x, s) }""",
    "fill": "(float[a] y) { n = ReduceMax (w) l = Reshape(n, line) y = ConstantOfShape(l) }",
    "tile": """(float[a, b] y) { n = ReduceMax (w) l = Reshape(n, line)
        s = Concat <axis = 0> (last, l) y = Tile(x, s) }""",
    "split": """(float[a, b] y, float[c, b] z) { n = ReduceMin (w) l = Reshape(n, line)
        r = Sub(six, l) s = Concat <axis = 0> (l, r) y, z = Split(x, s) }""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERANDS)
def test_operands_that_are_computed(name: str) -> None:
    """A shape, an end, a number that follow from data: a program for each, and not for each content of the data."""
    text = """operands (float[6, 4] x, int64[6, 3] w) => OUTPUTS
        <int64 zero = {0}, int64 one = {1}, float ten = {10}, int64[1] line = {-1}, int64[1] first = {0},
         int64[1] last = {1}, int64[2] both = {6, 4}, int64[1] six = {6}> NODES"""
    outputs, nodes = OPERANDS[name].split("{", 1)
    model = parsed(text.replace("OUTPUTS", outputs).replace("NODES", "{" + nodes))
    compiled = staged(model)
    rng = np.random.default_rng(4)
    for row in ([[1, 2, 3]], [[3, 3, 3]], [[2, 1, 3]], [[2, 1, 3]]):
        x = (rng.random((6, 4)) + 0.5).astype(np.float32)
        agree(model, compiled, {"x": x, "w": np.repeat(row, 6, 0)}, 1e-5)
    if name in ("range", "fill"):
        assert len(compiled.specialisations) == 1


CHAIN = """chain (float[12, 6] x, float[6, 4] w) => (int64[2, n] p, float[m, 4] y, int64[k] u, float s, float[12, 6] r) {
  r = Relu(x)
  p = NonZero(r)
  t = Transpose <perm = [1, 0]> (p)
  kept = GatherND(r, t)
  limit = ReduceMean <keepdims = 1> (kept)
  large = Greater(kept, limit)
  rows = Slice(p, zero, one, zero)
  line = Squeeze(rows, zero)
  chosen = Compress <axis = 0> (line, large)
  u = Unique (chosen)
  zero = Constant <value_ints = [0]> ()
  one = Constant <value_ints = [1]> ()
  picked = Gather <axis = 0> (r, u)
  y = MatMul(picked, w)
  s = ReduceSum <keepdims = 0> (y)
}"""


@pytest.mark.slow
def test_several_cuts_one_behind_the_other() -> None:
    """What is found decides what is looked for next; values of the first stage are results, and operands of the last."""
    model = parsed(CHAIN)
    compiled = staged(model)
    rng = np.random.default_rng(5)
    for _ in range(6):
        x = rng.standard_normal((12, 6)).astype(np.float32)
        w = rng.standard_normal((6, 4)).astype(np.float32)
        agree(model, compiled, {"x": x, "w": w}, 1e-4)
    assert len(compiled.stages) == 2


def test_scalars_and_nothing() -> None:
    model = parsed("scalar (float x) => (int64[a, n] y) { y = NonZero(x) }")
    compiled = staged(model)
    for number, shape in ((0, (0, 0)), (2, (0, 1))):
        assert compiled.run({"x": np.array(number, np.float32)})["y"].shape == shape
    model = parsed("none (float[n, 0] x) => (int64[2, m] y) { y = NonZero(x) }")
    assert xrelay.compile(model, cache=False).run({"x": np.zeros((3, 0), np.float32)})[
        "y"
    ].shape == (2, 0)


@pytest.mark.slow
def test_calls_from_several_threads() -> None:
    model = parsed(SUMS)
    compiled = xrelay.compile(model, cache=False)
    inputs = [{"x": x, "w": x + 1} for x in masks(2, 64, 33) if not np.isnan(x).any()] * 4
    wanted = [session(model).run(None, each) for each in inputs]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(compiled.run, inputs))
    for outputs, arrays in zip(wanted, found, strict=True):
        np.testing.assert_allclose(arrays["y"], outputs[0])


def test_what_a_model_in_stages_refuses(tmp_path: Path) -> None:
    compiled: Any = staged(parsed(PLACES))
    x = np.zeros((4, 5), np.float32)
    for call in (
        lambda: compiled.save(tmp_path / "m.so"),
        lambda: compiled.bind({"x": x}, {}),
        lambda: compiled.profile({"x": x}, 1),
        lambda: compiled.llvm_ir,
    ):
        with pytest.raises(
            ModelError, match="'places' has sizes that depend on data and runs in 2 stages"
        ):
            call()
    with pytest.raises(
        ModelError, match=r"input 'x' is float32\[4, 6\], expected 'x' float32\[4, 5\]"
    ):
        compiled.run({"x": np.zeros((4, 6), np.float32)})
    with pytest.raises(ModelError, match="unknown input 'z', missing input 'x'"):
        compiled.run({"z": x})
    assert compiled.run({"x": x})["y"].shape == (0, 2)


def test_elements_that_are_given() -> None:
    """What is known makes constants of the results as well."""
    model = parsed(
        "given (float[4] x, float[4] w) => (int64[1, n] y, float[m] z) { y = NonZero(x) p = NonZero(w) t = Squeeze(p) z = Gather(w, t) }"
    )
    w = np.array([0, 1, 2, 0], np.float32)
    compiled = staged(model, shapes={"w": InputValue.of(w)})
    assert [spec.name for spec in compiled.signature.inputs] == ["x"]
    found = compiled.run({"x": w[::-1]})
    np.testing.assert_array_equal(found["y"], [[1, 2]])
    np.testing.assert_array_equal(found["z"], [1, 2])


def test_sizes_in_loops_are_refused() -> None:
    model = parsed(
        """loops (float[4] x, int64 n, bool go) => (float s) {
          zero = Constant <value_float = 0.0> ()
          s = Loop (n, go, zero) <body = body (int64 i, bool c, float t) => (bool d, float u) {
            p = NonZero(x)  r = Cast <to = 1> (p)  v = ReduceSum <keepdims = 0> (r)  u = Add(t, v)  d = Identity(c)
          }>
        }"""
    )
    with pytest.raises(xrelay.OnnxImportError, match="xrelay.interpret"):
        xrelay.compile(model, cache=False)


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
    with pytest.raises(xrelay.OnnxImportError, match="which xrelay.interpret"):
        xrelay.compile(
            parsed(IN_EACH.format("", ", float s", loop)), shapes={"x": (4, 3)}, cache=False
        )


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


def test_sizes_in_functions_of_the_model() -> None:
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "own" : 1]> calls (float[3, 4] x) => (float[n] y) {
          r = Relu(x)
          y = own.positive(r)
        }
        <domain: "own", opset_import: ["" : 17]> positive (x) => (y) {
          p = NonZero(x)
          t = Transpose <perm = [1, 0]> (p)
          y = GatherND(x, t)
        }"""
    )
    compiled = staged(model)
    for x in masks(3, 4):
        agree(model, compiled, {"x": np.nan_to_num(x)})


def test_weights_beside_the_model(tmp_path: Path) -> None:
    """Each stage has the weights that it uses, wherever they lie."""
    model = parsed(
        """weights (float[5, 4] x) => (float[n, 3] y) {
          h = MatMul(x, a)
          s = ReduceSum <keepdims = 0> (h, axis)
          axis = Constant <value_ints = [1]> ()
          zero = Constant <value_float = 0.0> ()
          large = Greater(s, zero)
          k = Compress <axis = 0> (h, large)
          y = MatMul(k, b)
        }"""
    )
    rng = np.random.default_rng(0)
    for name, shape in (("a", (4, 4)), ("b", (4, 3))):
        numbers = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(numbers, name))
    path = tmp_path / "m.onnx"
    files: Any = onnx
    files.save_model(model, path, save_as_external_data=True, location="w", size_threshold=0)
    compiled: Any = xrelay.compile(path)
    assert isinstance(compiled, StagedModel)
    model = files.load(path)
    for _ in range(3):
        agree(model, compiled, {"x": rng.standard_normal((5, 4)).astype(np.float32)}, 1e-5)


@pytest.mark.slow
def test_loops_and_branches_that_data_decide() -> None:
    """As many rounds as data say, each of which adds a row; branches of different shapes, of which one is taken."""
    model = parsed(
        """rounds (float[4] x, bool go) => (float s, float[k, 4] rows, float[m] part) {
          zero = Constant <value_float = 0.0> ()
          big = ReduceSum <keepdims = 0> (x)
          n = Cast <to = 7> (big)
          s, rows = Loop (n, go, zero) <body = body (int64 i, bool c, float t) => (bool d, float u, float[4] row) {
            f = Cast <to = 1> (i)  u = Add(t, f)  row = Mul(x, u)  d = Identity(c)
          }>
          large = Greater(big, limit)
          limit = Constant <value_float = 10.0> ()
          part = If (large) <
            then_branch = then () => (float[m] a) { a = Relu(x) },
            else_branch = else () => (float[m] b) {
              first = Constant <value_ints = [0]> ()  end = Constant <value_ints = [3]> ()
              b = Slice(x, first, end)
            }>
        }"""
    )
    compiled = staged(model)
    for number in (1, 2, 3, 1):
        inputs = {"x": np.full(4, number, np.float32), "go": np.array(True)}
        agree(model, compiled, inputs)
    assert len(compiled.specialisations) == 3


def test_an_output_that_is_an_input_is_a_copy() -> None:
    model = parsed("m (float[a, b] x) => (float[a, b] x, int64[2, q] y) { y = NonZero(x) }")
    data = np.array([[1, 0], [2, 3]], np.float32)
    for shapes in (None, {"x": [2, 2]}):
        found = xrelay.compile(model, cache=False, shapes=shapes).run({"x": data})
        found["x"][:] = 9
        assert data.tolist() == [[1, 0], [2, 3]]


def test_fixed_shapes_stand_in_the_signature() -> None:
    model = parsed("m (float[a, b] x) => (int64[2, q] y) { y = NonZero(x) }")
    found = staged(model, shapes={"x": [3, 4]})
    assert str(found.signature.inputs[0]) == "'x' float32[3, 4]"


def test_what_is_not_saved_says_why(tmp_path: Path) -> None:
    model = parsed("m (float[a, b] x) => (int64[2, q] y) { y = NonZero(x) }")
    found = xrelay.compile(model, cache=False)
    assert isinstance(found, DynamicModel)
    with pytest.raises(OptionError, match="sizes depend on the elements of 'x', which"):
        found.save(tmp_path / "m.so")
    found.run({"x": np.ones((2, 2), np.float32)})
    with pytest.raises(ModelError, match="several programs in stages; they cannot be saved as"):
        found.save(tmp_path / "m.so")
    with pytest.raises(ModelError, match="in stages, each of which has LLVM IR of its own"):
        print(found.llvm_ir)
