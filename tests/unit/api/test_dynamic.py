"""Models with unknown dimensions: a program for each combination of lengths, made when it comes."""

import logging
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser
from onnx_models import bands_of

import xrelay
from xrelay import compiler
from xrelay.frontends.onnx import OnnxImportError
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.errors import ModelError
from xrelay.runtime.model import Model
from xrelay.runtime.staged import StagedModel

PRODUCT = """
<ir_version: 8, opset_import: ["" : 17]>
product (float[batch, 3] x, float[batch, columns] y) => (float[three, columns] z) {
  t = Transpose <perm = [1, 0]> (x)
  z = MatMul(t, y)
}
"""
PROGRAM = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<8xf32>) -> tensor<?x8xf32> {
  %0 = relay.add %x, %y : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}
"""


def product() -> DynamicModel:
    model = xrelay.compile(parser.parse_model(PRODUCT), cache=False)
    assert isinstance(model, DynamicModel)
    return model


def floats(*shape: int) -> Any:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def test_each_combination_of_lengths_is_compiled_once() -> None:
    model = product()
    assert str(model.signature) == (
        "'product': 'x' float32[batch, 3], 'y' float32[batch, columns] -> 'z' float32[three, columns]"
    )
    for batch, columns in ((2, 5), (1, 1), (2, 5), (0, 4), (17, 3)):
        x, y = floats(batch, 3), floats(batch, columns)
        found = model.run({"x": x, "y": y})["z"]
        np.testing.assert_allclose(found, x.T @ y, atol=1e-5)
    assert [dict(each.shapes) for each in model.specialisations] == [
        {"x": (1, 3), "y": (1, 1)},
        {"x": (2, 3), "y": (2, 5)},
        {"x": (0, 3), "y": (0, 4)},
        {"x": (17, 3), "y": (17, 3)},
    ]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 3), (3, 5)), "'batch' is 2 in input 'x' and 3 in input 'y', expected one length"),
        (((2, 4), (2, 5)), r"input 'x' has the shape \[2, 4\].*: dimension 1 is 3"),
        (
            ((3,), (2, 5)),
            r"input 'x' has the shape \[3\] of rank 1, expected 'x' float32\[batch, 3\]",
        ),
    ],
)
def test_other_shapes_are_refused_and_nothing_is_compiled(
    shapes: Sequence[tuple[int, ...]], message: str
) -> None:
    model = product()
    x, y = (floats(*shape) for shape in shapes)
    with pytest.raises(ModelError, match=message):
        model.run({"x": x, "y": y})
    with pytest.raises(ModelError, match=message):
        model.specialise({"x": shapes[0], "y": shapes[1]})
    assert model.specialisations == ()


def test_dtypes_and_names_are_checked() -> None:
    model = product()
    x, y = floats(2, 3), floats(2, 5)
    with pytest.raises(ModelError, match=r"input 'x' is float64\[2, 3\], expected 'x' float32"):
        model.run({"x": x.astype(np.float64), "y": y})
    with pytest.raises(ModelError, match="missing input 'y'; the model takes"):
        model.run({"x": x})
    with pytest.raises(ModelError, match="shapes are given of x, expected those of all inputs"):
        model.specialise({"x": (2, 3)})
    wrongs: list[Any] = [b"ab", "ab", {2, 5}, (2.0, 5), 2, np.zeros((1, 2), int)]
    for wrong in wrongs:
        with pytest.raises(ModelError, match="the shape of 'y' is .*, expected whole numbers"):
            model.specialise({"x": (2, 3), "y": wrong})
    with pytest.raises(ModelError, match="shapes are given of none, expected"):
        model.specialise({})
    shapes: Any = {"x": np.array([2, 3]), "y": (2, np.int64(5))}
    assert model.specialise(shapes).signature.outputs[0].shape == (3, 5)


def test_lengths_by_the_names_of_dimensions() -> None:
    proto = parser.parse_model(PRODUCT)
    model = xrelay.compile(proto, shapes={"batch": 2, "columns": 4}, cache=False)
    assert isinstance(model, Model)
    assert [spec.shape for spec in model.signature.inputs] == [(2, 3), (2, 4)]
    partly = xrelay.compile(proto, shapes={"batch": 2}, cache=False)
    assert isinstance(partly, DynamicModel)
    assert [spec.dims for spec in partly.signature.inputs] == [(2, 3), (2, "columns")]
    x, y = floats(2, 3), floats(2, 4)
    np.testing.assert_allclose(partly.run({"x": x, "y": y})["z"], x.T @ y, atol=1e-5)
    for shapes, message in (
        (
            {"btch": 2},
            "neither an input nor an unknown dimension; inputs: 'x', 'y'; unknown dimensions",
        ),
        ({"batch": -1}, "the length of 'batch' in shapes= is -1, expected 0 to 2147483647"),
        ({"batch": 2.5}, "the length of 'batch' in shapes= is 2.5, expected a whole number"),
        (
            {"batch": (1, 2**31)},
            "the greatest length of 'batch' in shapes= is 2147483648, expected 1 to 2147483647",
        ),
        (
            {"batch": (1, 2, 3)},
            "the length of 'batch' in shapes= is .1, 2, 3., expected a whole number, or the least and the greatest one",
        ),
        ({"batch": (1,)}, "the length of 'batch' in shapes= is .1,., expected a whole number"),
        ({"batch": b"ab"}, "the length of 'batch' in shapes= is b'ab', expected a whole number"),
        ({"x": b"ab"}, "input 'x' b'ab', expected a list of whole numbers"),
        (
            {"batch": 2, "x": [4, 3]},
            "symbol 'batch' the length 2 in shapes= of 'batch' and 4 in input",
        ),
    ):
        with pytest.raises(OnnxImportError, match=message):
            xrelay.compile(proto, shapes=cast(Any, shapes), cache=False)


def test_programs_of_the_dialect(tmp_path: Path) -> None:
    path = tmp_path / "add.mlir"
    path.write_text(PROGRAM)
    model = xrelay.compile(path, cache=False)
    assert isinstance(model, DynamicModel)
    x, y = floats(3, 8), floats(8)
    assert (model.run({"x": x, "y": y})["output0"] == x + y).all()
    static = xrelay.compile(path, shapes={"x": [2, 8]}, cache=False)
    assert isinstance(static, Model)
    assert static.signature.outputs[0].shape == (2, 8)
    for shapes, message in (
        ({"x": [2, 9]}, r"input 'x' the shape \[2, 9\], the program states tensor<\?x8xf32>"),
        ({"z": [2, 8]}, "names 'z', which is not an input; inputs: 'x', 'y'"),
        ({"x": 2}, "gives input 'x' 2, expected a list"),
    ):
        with pytest.raises(xrelay.CompileError, match=message):
            xrelay.compile(path, shapes=cast(Any, shapes), cache=False)


def test_a_model_is_not_changed_under_a_dynamic_one(tmp_path: Path) -> None:
    path = tmp_path / "product.onnx"
    proto = parser.parse_model(PRODUCT)
    onnx.save(proto, path)
    from_file, from_memory = xrelay.compile(path, cache=False), xrelay.compile(proto, cache=False)
    proto.graph.node[1].op_type = "Add"
    onnx.save(proto, path)
    x, y = floats(3, 3), floats(3, 3)
    np.testing.assert_allclose(from_memory.run({"x": x, "y": y})["z"], x.T @ y, atol=1e-5)
    with pytest.raises(xrelay.CompileError, match=r"product.onnx' has changed since"):
        from_file.run({"x": x, "y": y})


def test_what_belongs_to_one_program_says_so() -> None:
    model = product()
    with pytest.raises(ModelError, match=r"model 'product' has unknown dimensions .* `specialise`"):
        _ = model.llvm_ir
    program = model.specialise({"x": (2, 3), "y": (2, 5)})
    assert isinstance(program, Model)
    assert "define" in program.llvm_ir


PERCEPTRON = """
<ir_version: 8, opset_import: ["" : 17]>
perceptron (float[batch, 6] x) => (float[batch, 3] z)
<float[6, 3] w = {1,2,3, 4,5,6, 7,8,9, 0,1,0, 2,0,1, 1,1,1}> {
  t = MatMul(x, w)
  z = Relu(t)
}
"""
PINNING = f"""
<ir_version: 8, opset_import: ["" : 18]>
pinning (float[batch, steps] x) => (float[rows, columns] z) {{
  {bands_of("x", 0, "rows_of")}
  {bands_of("x", 1, "columns_of")}
  turned = Transpose (columns_of)
  y = MatMul (x, turned)
  z = MatMul (rows_of, y)
}}
"""


def compilations(model: str, weights: Mapping[str, Any] | None = None) -> tuple[Any, list[str]]:
    """A dynamic model, and the steps of its compilations as they come."""
    steps: list[str] = []
    proto = parser.parse_model(model)
    for name, array in (weights or {}).items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return xrelay.compile(proto, cache=False, progress=steps.append), steps


def test_one_program_serves_all_batches() -> None:
    model, steps = compilations(PERCEPTRON)
    weights = onnx.numpy_helper.to_array(parser.parse_model(PERCEPTRON).graph.initializer[0])
    for batch in (2, 64, 3, 17, 0, 1, 5, 64, 9):
        x = floats(batch, 6)
        np.testing.assert_allclose(model.run({"x": x})["z"], np.maximum(x @ weights, 0), atol=1e-5)
    assert steps.count("generate kernels") == 1
    conditions = {each.conditions for each in model.specialisations}
    assert len(conditions) == 1
    assert "0 <= batch" in str(conditions)


def test_profiles_of_the_program_for_the_lengths() -> None:
    model = xrelay.compile(parser.parse_model(PERCEPTRON), cache=False, profile=True)
    x = np.arange(18, dtype=np.float32).reshape(3, 6)
    outputs, stamps = model.profile({"x": x}, 4)
    np.testing.assert_array_equal(outputs["z"], model.run({"x": x})["z"])
    program = model.specialisations[-1].model
    assert isinstance(program, Model)
    assert stamps.shape == (4, len(program.signature.steps) + 1)
    assert (np.diff(stamps, axis=1) >= 0).all()
    model.profile({"x": x[:2]}, 1)
    assert len(model.specialisations) == 2
    unprofiled = xrelay.compile(parser.parse_model(PERCEPTRON), cache=False)
    with pytest.raises(ModelError, match="not compiled for profiling"):
        unprofiled.profile({"x": x}, 1)
    with pytest.raises(ModelError, match="dimension 1 is 6"):
        model.profile({"x": x[:, :5]}, 1)


def test_ranges_of_lengths() -> None:
    proto = parser.parse_model(PERCEPTRON)
    model = xrelay.compile(proto, shapes={"batch": (1, 20)}, cache=False)
    assert isinstance(model, DynamicModel)
    for batch in (3, 20, 1):
        model.run({"x": floats(batch, 6)})
    three, twenty, one = model.specialisations
    assert three.conditions == twenty.conditions == one.conditions == ("1 <= batch <= 20",)
    assert three.model.signature.workspace_bytes == twenty.model.signature.workspace_bytes
    for batch in (0, 21):
        with pytest.raises(ModelError, match=rf"'batch' is {batch} in input 'x', expected 1 to 20"):
            model.run({"x": floats(batch, 6)})
    for shapes, message in (
        ({"batch": (5, 2)}, "greatest length of 'batch' in shapes= is 2, expected 5 to 2147483647"),
        ({"batch": (-1, 2)}, "least length of 'batch' in shapes= is -1, expected 0 to 2147483647"),
        (
            {"batch": (1, 8), "x": (9, 6)},
            "symbol 'batch' the length 9 in input 'x', expected 1 to 8",
        ),
    ):
        with pytest.raises(OnnxImportError, match=message):
            xrelay.compile(proto, shapes=cast(Any, shapes), cache=False)


def test_models_at_some_lengths_are_not_saved(tmp_path: Path) -> None:
    model, steps = compilations(PERCEPTRON)
    model.run({"x": floats(4, 6)})
    program = model.specialisations[0].model
    assert "define" in program.llvm_ir
    with pytest.raises(
        ModelError,
        match=r"code of a dynamic model at some lengths: .*DynamicModel.save, .*specialise",
    ):
        program.save(tmp_path / "a.so")
    alone = model.specialise({"x": (4, 6)})
    alone.save(tmp_path / "a.so")
    assert steps.count("generate kernels") == 2
    model.run({"x": floats(4, 6)})
    assert model.specialisations[-1].model is alone, "which is there, and may be faster"


def alone(model: DynamicModel, batch: int) -> bool:
    """Whether a batch has a program of its own."""
    return any(
        each.shapes == {"x": (batch, 6)} and each.conditions is None
        for each in model.specialisations
    )


def test_lengths_that_come_back_get_programs_of_their_own_in_the_background() -> None:
    proto = parser.parse_model(PERCEPTRON)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    model = xrelay.compile(proto, specialise_after=3)
    assert isinstance(model, DynamicModel)
    x = floats(4, 6)
    (expected,) = session.run(None, {"x": x})
    for _ in range(2):
        np.testing.assert_allclose(model.run({"x": x})["z"], expected, 1e-5)
    model.run({"x": floats(5, 6)})
    assert not alone(model, 4)
    end = time.monotonic() + 120
    while not alone(model, 4) and time.monotonic() < end:
        np.testing.assert_allclose(model.run({"x": x})["z"], expected, 1e-5)
    assert alone(model, 4)
    assert not alone(model, 5), "which came once"
    assert [dict(each.shapes) for each in model.specialisations].count({"x": (4, 6)}) == 1
    np.testing.assert_allclose(model.run({"x": x})["z"], expected, 1e-5)
    assert model.specialisations[-1].conditions is None, "that is what runs now"


def test_nothing_gets_a_program_of_its_own_unasked() -> None:
    model, steps = compilations(PERCEPTRON)
    for _ in range(20):
        model.run({"x": floats(4, 6)})
    assert model.specialisations[0].conditions is not None
    assert steps.count("generate kernels") == 1
    for wrong in (-1, 1.5, "3", True, None):
        with pytest.raises(xrelay.CompileError, match="specialise_after is"):
            xrelay.compile(parser.parse_model(PERCEPTRON), specialise_after=cast(Any, wrong))


def test_programs_that_fail_in_the_background_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(PERCEPTRON), path)
    model = xrelay.compile(path, specialise_after=3)
    assert isinstance(model, DynamicModel)
    x = floats(4, 6)
    expected = model.run({"x": x})["z"]
    path.unlink()
    end = time.monotonic() + 120
    with caplog.at_level(logging.INFO, "xrelay.lengths"):
        while "alone" not in caplog.text and time.monotonic() < end:
            np.testing.assert_array_equal(model.run({"x": x})["z"], expected)
    for _ in range(10):
        np.testing.assert_array_equal(model.run({"x": x})["z"], expected)
    assert caplog.text.count("cannot read") == 1
    assert [each.conditions is None for each in model.specialisations] == [False]


def test_lengths_whose_number_something_needs_are_numbers() -> None:
    model, steps = compilations(PINNING)
    session = onnxruntime.InferenceSession(parser.parse_model(PINNING).SerializeToString())
    for batch, length in ((2, 5), (3, 5), (3, 7), (5, 7), (5, 6)):
        x = floats(batch, length)
        (wanted,) = session.run(None, {"x": x})
        np.testing.assert_allclose(model.run({"x": x})["z"], wanted, 1e-5, 1e-6)
    assert all(each.conditions is None for each in model.specialisations)
    assert steps.count("generate kernels") == 5


def test_conditions_name_the_lengths_that_are_numbers() -> None:
    model, _ = compilations(
        f"""<ir_version: 8, opset_import: ["" : 18]>
        partly (float[batch, one, steps] x) => (float[batch, one, columns] z) {{
            {bands_of("x", 2, "m")}
            turned = Transpose (m)
            z = MatMul (x, turned)
        }}"""
    )
    model.run({"x": floats(3, 1, 8)})
    (program,) = model.specialisations
    assert program.conditions[0].startswith("0 <= batch <= ")
    assert program.conditions[-1] == "steps == 8" and len(program.conditions) == 4


def test_programs_for_many_lengths_are_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XRELAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XRELAY_CACHE_SIZE", "1G")
    steps: list[str] = []
    for batches in ((4, 5), (4, 6)):
        model = xrelay.compile(parser.parse_model(PERCEPTRON), progress=steps.append)
        for batch in batches:
            x = floats(batch, 6)
            assert model.run({"x": x})["z"].shape == (batch, 3)
    assert steps.count("generate kernels") == 1


TILES = """
<ir_version: 8, opset_import: ["" : 17]>
tiles (float[rows, 4] x, int64[2] shape, int64 count, float[1] factor) => (float[n] z) {
  doubled = Add(shape, shape)
  y = Reshape(x, doubled)
  line = Constant <value_ints = [-1]> ()
  counts = Reshape(count, line)
  ones = Constant <value_ints = [1]> ()
  both = Concat <axis = 0> (ones, counts)
  t = Tile(y, both)
  z = Mul(t, factor)
}
"""


def test_elements_that_shapes_depend_on_are_read_off_the_inputs() -> None:
    model = xrelay.compile(parser.parse_model(TILES), cache=False)
    assert isinstance(model, DynamicModel)
    x, factor = floats(2, 4), floats(1)
    for rows, columns, count in ((1, 1, 3), (2, 1, 1), (1, 1, 3)):
        shape = np.array([rows, columns])
        inputs = {"x": x[:rows], "shape": shape, "count": np.array(count), "factor": factor}
        inputs["x"] = x.reshape(-1)[: 4 * rows * columns].reshape(-1, 4)
        wanted = np.tile(inputs["x"].reshape(2 * shape), (1, count)) * factor
        np.testing.assert_array_equal(model.run(inputs)["z"], wanted)
        np.testing.assert_array_equal(
            xrelay.interpret(parser.parse_model(TILES), inputs)["z"], wanted
        )
    assert [
        {name: str(known) for name, known in each.shapes.items()} for each in model.specialisations
    ] == [
        {"x": "(2, 4)", "shape": "int64[2] 2, 1", "count": "int64[] 1", "factor": "(1,)"},
        {"x": "(1, 4)", "shape": "int64[2] 1, 1", "count": "int64[] 3", "factor": "(1,)"},
    ]


def test_elements_that_are_given_are_no_inputs() -> None:
    shapes: dict[str, Any] = {
        "x": (1, 4),
        "shape": xrelay.InputValue.of(np.array([1, 1])),
        "count": xrelay.InputValue.of(np.array(2)),
    }
    model = xrelay.compile(parser.parse_model(TILES), shapes=shapes, cache=False)
    assert isinstance(model, Model)
    assert [spec.name for spec in model.signature.inputs] == ["x", "factor"]
    x, factor = floats(1, 4), floats(1)
    found = model.run({"x": x, "factor": factor})["z"]
    np.testing.assert_array_equal(found, np.tile(x.reshape(2, 2), (1, 2)) * factor)
    for name, elements, message in (
        ("shape", np.array([1, 1], np.int32), "elements of type int32, the model states int64"),
        ("shape", np.array([1, 1, 1]), r"'shape' the shape \[3\], the model states \[2\]"),
        ("rows", np.array(1), "gives elements of 'rows', which is no input"),
    ):
        given = {**shapes, name: xrelay.InputValue.of(elements)}
        with pytest.raises(OnnxImportError, match=message):
            xrelay.compile(parser.parse_model(TILES), shapes=given, cache=False)


def places(count: int) -> onnx.ModelProto:
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    places (float[{count}] x) => (int64[1, n] z) {{ z = NonZero(x) }}
    """
    return parser.parse_model(text)


def test_sizes_that_depend_on_data() -> None:
    x = np.array([0, 3, 0, 4], np.float32)
    with pytest.raises(OnnxImportError, match="depend on the elements of inputs.*interpret.*'x'"):
        compiler.read_model(places(4))
    compiled = xrelay.compile(places(4), cache=False)
    assert isinstance(compiled, StagedModel)
    np.testing.assert_array_equal(compiled.run({"x": x})["z"], [[1, 3]])
    found = xrelay.interpret(places(4), {"x": x})["z"]
    np.testing.assert_array_equal(found, [[1, 3]])


def test_shapes_of_many_elements_are_taken_for_data() -> None:
    """No program is made for each content of a large tensor."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    sums (int64[COUNT] x) => (float[n] z) {
      n = ReduceSum <keepdims = 1> (x)
      z = ConstantOfShape (n)
    }
    """
    small = xrelay.compile(parser.parse_model(text.replace("COUNT", "256")), cache=False)
    assert isinstance(small, DynamicModel)
    assert small.run({"x": np.repeat([0, 1], 128)})["z"].shape == (128,)
    large = parser.parse_model(text.replace("COUNT", "257"))
    compiled = xrelay.compile(large, cache=False)
    assert isinstance(compiled, StagedModel)
    for ones in (7, 7, 9):
        x = np.repeat([0, 1], [257 - ones, ones])
        assert compiled.run({"x": x})["z"].shape == (ones,)
    assert len(compiled.specialisations) == 2
    assert xrelay.interpret(large, {"x": np.repeat([0, 1], [250, 7])})["z"].shape == (7,)


def test_attention_to_nothing() -> None:
    """What joins the axes of a batch has no elements either."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17]> g (float[b, s, 32] x) => (float[b, s, 32] y)
        <int64[4] heads = {0, 0, 4, 8}, int64[3] joined = {0, 0, 32}> {
            r = Reshape(x, heads)
            q = Transpose<perm = [0, 2, 1, 3]>(r)
            k = Transpose<perm = [0, 2, 3, 1]>(r)
            scores = MatMul(q, k)
            weights = Softmax<axis = -1>(scores)
            o = MatMul(weights, q)
            t = Transpose<perm = [0, 2, 1, 3]>(o)
            y = Reshape(t, joined)
        }"""
    )
    compiled = xrelay.compile(model, cache=False)
    for shape in ((2, 0, 32), (0, 3, 32), (2, 3, 32)):
        (found,) = compiled.run({"x": np.ones(shape, np.float32)}).values()
        np.testing.assert_allclose(found, np.ones(shape), rtol=1e-6)


OPEN_ROWS = """<ir_version: 8, opset_import: ["": 17]> g (float[n, 40] x) => (float[n, 40] y) {
    e = Exp(x)
    y = Softmax<axis = -1>(e)
}"""


def test_ranges_of_more_than_there_is_take_what_a_call_needs() -> None:
    """The workspace for the greatest length would have 10 TB."""
    compiled = xrelay.compile(
        parser.parse_model(OPEN_ROWS), shapes={"n": (1, 2**31 - 1)}, cache=False
    )
    (found,) = compiled.run({"x": np.zeros((3, 40), np.float32)}).values()
    np.testing.assert_allclose(found, np.full((3, 40), 1 / 40), rtol=1e-6)


def test_threads_wait_for_a_program_that_serves_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    compile_code = compiler.compile_code

    def counted(*args: Any, **options: Any) -> Any:
        made.append(args)
        return compile_code(*args, **options)

    monkeypatch.setattr(compiler, "compile_code", counted)
    compiled = xrelay.compile(parser.parse_model(OPEN_ROWS), cache=False)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda n: compiled.run({"x": np.zeros((n, 40), np.float32)}), range(2, 8)))
    assert len(made) == 1


def test_the_interpreter_may_end_while_a_program_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(parser.parse_model(PERCEPTRON).SerializeToString())
    code = f"""
import numpy as np, xrelay
model = xrelay.compile({str(tmp_path / "m.onnx")!r}, specialise_after=2, cache=False)
(spec,) = model.signature.inputs
shape = [each if isinstance(each, int) else 3 for each in spec.dims]
for _ in range(2):
    model.run({{spec.name: np.ones(shape, np.float32)}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
