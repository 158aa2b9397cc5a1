"""Models with sizes that depend on data: stages, against onnxruntime."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper, parser
from onnx_models import agree, masks, parsed, session

import xrelay
from xrelay.errors import OptionError
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.signature import InputValue
from xrelay.runtime.staged import StagedModel


def staged(model: ModelProto, **options: Any) -> StagedModel:
    found = xrelay.compile(model, cache=False, **options)
    assert isinstance(found, StagedModel), found
    return found


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
