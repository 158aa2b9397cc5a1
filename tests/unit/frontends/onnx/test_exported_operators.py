"""
Exported operators, each against the NumPy interpreter: run by onnxruntime, and by ONNX's reference
evaluator where that has no kernel. What the importer makes of an exported model is compared, too.
"""

import re

import pytest
from cases import nn as nn_cases
from cases.export import EXPORTED
from cases.kernel import extensive_repeats
from cases.qnn import TABLE as QUANTISED
from cases.tensor import TABLES
from exported import ConstantParameters, Part, checked_export, computed, exportable
from graphs import Graph, difference, leaves
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xrelay.frontends.onnx import OnnxExportError, OnnxImportError, export_model, import_model
from xrelay.frontends.onnx.exporter.emitters import EMITTERS
from xrelay.interpreters.relay import interpret

LEFT_OPEN = (
    # onnxruntime's order and largest elements do not know NaN.
    "pools_of_lines_and_volumes-float|adaptive_pools-float|sorting-float|topk-float|"
    "order_in_other_types|"
    # onnxruntime's Where makes -0 to 0.
    "conditions-|"
    # A factor that is not finite, times 0.
    "prelu-float|"
    # Numbers that integers cannot hold.
    "cast_like-|"
    # Indices out of range.
    "scatter|"
    # onnxruntime does not initialise empty sums of integers, the evaluator lacks dtypes.
    "packed_dense-int8|convolutions_of_volumes-int8|trilu-u?int(8|16)|trilu-uint|"
    "transposed_convolutions_of_all_ranks-float64|"
    # Places in f32 there, in f64 here.
    "upsampled_volumes-float"
)
"""Cases of other tests about what ONNX, or its engines, leave open. `export_cases` has others."""

SHARED = {
    name: case
    for table in (nn_cases.TABLE, *TABLES)
    for name, case in table.cases.items()
    if not re.match(LEFT_OPEN, name)
    and not re.search("-bfloat16|^transcendental_functions-float64", name)
}
SAMPLED = [name for name in SHARED if re.search("-float32$|-int8$|[a-z]$", name)]
CASES = {**{name: SHARED[name] for name in SAMPLED}, **EXPORTED.cases}


def check(graph: Graph) -> Part:
    """Compares what can be exported, and returns it."""
    part = exportable(graph)
    if not part.outputs:
        return part
    results = interpret(graph.module(), graph.inputs)
    for i, arrays in zip(part.outputs, computed(graph, part), strict=True):
        output = graph.outputs[i]
        for found, expected in zip(arrays, leaves(results[i]), strict=True):
            problem = difference(found, expected, output.tolerance)
            assert problem is None, f"{output.label}: {problem}"
    return part


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=extensive_repeats(name, CASES)) for name in CASES]
)
def test_exported_model_computes_the_same(name: str):
    graph = Graph()
    CASES[name](graph)
    part = check(graph)
    if name in EXPORTED.cases:
        # What is exported for some operands is not refused for all of them, element types apart.
        missing = operators(graph.module()) - operators(part.module)
        assert all(re.search(r"elements (of type|are bools)", part.refused[op]) for op in missing)


def operators(module: ModuleOp) -> set[str]:
    """The names of the operators of a module."""
    return {op.name for op in module.walk() if op.name.startswith("relay.")}


@pytest.mark.parametrize("name", QUANTISED.cases)
def test_exported_model_computes_the_same_with_constant_parameters(name: str):
    graph = ConstantParameters()
    QUANTISED.cases[name](graph)
    check(graph)


@pytest.mark.parametrize("name", [name for name in EXPORTED.cases if re.search("32|[a-z]$", name)])
def test_import_of_the_export_computes_the_same(name: str):
    graph = Graph()
    EXPORTED.cases[name](graph)
    results, compared = interpret(graph.module(), graph.inputs), 0
    for i in range(0, len(graph.outputs), 5):
        part = exportable(graph, [i])
        if not part.outputs:
            continue
        try:
            module = import_model(checked_export(part.module))
        except OnnxImportError as error:
            assert "not supported" in str(error) or "not a constant" in str(error), error
            continue
        inputs = [array for value in graph.inputs for array in leaves(value)]
        for found, expected in zip(interpret(module, inputs), leaves(results[i]), strict=True):
            tolerance = max(graph.outputs[i].tolerance, 16)
            assert difference(found, expected, tolerance) is None
        compared += 1
    assert (
        compared
        or name in ("resized", "sampled")
        or name.startswith(("order", "quantized", "writing", "gaps"))
    )


def test_every_emitter_has_a_case():
    covered = EXPORTED.covered.union(*(table.covered for table in (nn_cases.TABLE, *TABLES)))
    missing = {op.name for op in EMITTERS if op not in covered}
    # Functions that are called, and annotations of values, are tested in test_onnx_exporter.py.
    assert missing == {
        "func.call",
        "relay.annotation.compiler_begin",
        "relay.annotation.compiler_end",
        "relay.device_copy",
    }


@pytest.mark.parametrize("name", SAMPLED)
def test_export_fails_where_an_operator_is_refused(name: str):
    graph = Graph()
    SHARED[name](graph)
    module, part = graph.module(), exportable(graph)
    if not part.refused:
        return
    with pytest.raises(OnnxExportError) as caught:
        export_model(module, "test")
    for op, reason in part.refused.items():
        assert op in str(caught.value)
        assert reason in str(caught.value)
    assert isinstance(module.body.block.first_op, FuncOp)
