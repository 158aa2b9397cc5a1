"""
Models that are imported and exported again compute what they did: the nine networks that come with
onnx, by onnxruntime, and its tests of single operators, whose results are stated.
"""

import gc
import warnings

import numpy as np
import pytest
from exported import checked_export, run, run_session
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from xrelay.frontends.onnx import OnnxImportError, export_model, import_model, reason_not_exported
from xrelay.tools.light_models import LIGHT_MODELS, light_model

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test.loader import load_model_tests

LARGE = ("bvlc_alexnet", "vgg19", "zfnet512")
"""Networks with weights of hundreds of megabytes."""

RANDOM = {"Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"}
"""Operators whose results each engine draws by itself."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.extensive if name in LARGE else pytest.mark.slow)
        for name in LIGHT_MODELS
    ],
)
def test_exported_light_model_computes_what_the_original_does(name: str):
    proto = light_model(name)
    shape = [dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    image = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (expected,) = run_session(proto, [image])
    model = export_model(import_model(proto), name)
    del proto
    (found,) = run_session(model, [image])
    assert found.shape == expected.shape
    assert float(np.abs(found - expected).max()) < 2e-5 * float(np.abs(expected).max())
    gc.collect()


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.extensive)])
def test_round_trips_of_onnx_node_tests(half: int):
    """Every second test of a single operator whose model is imported, against the results that it states."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    compared = 0
    for case in cases[half::2]:
        inputs, expected = case.data_sets[0] if case.data_sets else ([], [])
        if not expected or not all(isinstance(x, np.ndarray) for x in (*inputs, *expected)):
            continue
        if any(node.op_type in RANDOM for node in case.model.graph.node):
            continue
        try:
            module = import_model(case.model)
        except OnnxImportError:
            continue
        if any(reason_not_exported(op) for op in main_operations(module)):
            continue
        model = checked_export(module)
        kept = [value.name for value in model.graph.input]
        given = [
            x for x, value in zip(inputs, case.model.graph.input, strict=True) if value.name in kept
        ]
        for found, wanted in zip(run(model, given), expected, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), case.name
            half = wanted.dtype.itemsize == 2 and wanted.dtype.kind == "f"
            # Engines sum in other orders: of numbers of about 1, the last bits differ.
            rtol, atol = (1e-2, 1e-2) if half else (10 * case.rtol, 10 * case.atol)
            np.testing.assert_allclose(
                found.astype(np.float64), wanted.astype(np.float64), rtol, atol, err_msg=case.name
            )
        compared += 1
    assert compared > 350


def main_operations(module: ModuleOp) -> list[Operation]:
    """The operations of @main without the return."""
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    return list(function.body.block.ops)[:-1]
