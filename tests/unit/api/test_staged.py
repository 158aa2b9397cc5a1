"""Models with sizes that depend on data: stages, against onnxruntime."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, parser

import xrelay
from xrelay.runtime.dynamic import DynamicModel
from xrelay.runtime.staged import StagedModel

HEADER = '<ir_version: 8, opset_import: ["" : 17]> '

Arrays = Mapping[str, Any]


def parsed(text: str) -> ModelProto:
    return parser.parse_model(HEADER + text)


def staged(model: ModelProto, **options: Any) -> StagedModel:
    found = xrelay.compile(model, cache=False, **options)
    assert isinstance(found, StagedModel), found
    return found


def session(model: ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
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


@pytest.mark.parametrize("threads", [1, 2])
def test_open_inputs_and_many_sizes_on_one_program(threads: int) -> None:
    """Places, what is there, and its sum; the number of programs does not grow with that of sizes."""
    model = parsed(SUMS)
    compiled = xrelay.compile(model, cache=False, threads=threads)
    assert isinstance(compiled, DynamicModel)
    rng = np.random.default_rng(0)
    for rows in (2, 3, 5, 1):
        for x in masks(rows, 64, 33):
            w = rng.standard_normal(x.shape).astype(np.float32)
            agree(model, compiled, {"x": x, "w": w}, 1e-3)
    codes = {id(each.model.code) for each in compiled.specialisations}
    assert len(compiled.specialisations) > 20 and len(codes) <= 8, len(codes)
