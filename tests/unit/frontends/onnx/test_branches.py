"""Models whose If nodes are replaced by the nodes of a branch mean the same, for the ONNX reference evaluator."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, checker, parser
from onnx.reference import ReferenceEvaluator

from xrelay.frontends.onnx.importer.branches import with_branches

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[3] x, bool c, bool d) => (float[3] y, float[3] z, float[3] same, float[3] w) {
    t = Neg(x)
    y, z, same = If (c) <
        then_branch = one () => (float[3] r, float[3] r2, float[3] r3) <float[3] k = {1.0, 2.0, 3.0}> {
            t_ = Add(t, k)
            r = If (d) <
                then_branch = deep () => (float[3] s) { w = Mul(t_, k)  z = Add(w, t)  s = Add(z, k) },
                else_branch = else () => (float[3] s) { s = Identity(k) }
            >
            r2 = Abs(t_)
            r3 = Identity(r2)
        },
        else_branch = other () => (float[3] k, float[3] k, float[3] t) <float[3] k = {4.0, 5.0, 6.0}> { }
    >
    w = If (d) <
        then_branch = two () => (float[3] r) { k = Exp(x)  r = Sub(k, y) },
        else_branch = three () => (float[3] r) { r = Add(x, z) }
    >
}"""
"""Branches in branches, names that are there several times, also those of results, and outputs that no node of a branch computes."""


def run(model: ModelProto, inputs: dict[str, Any]) -> list[Any]:
    evaluator: Any = ReferenceEvaluator(model)
    return evaluator.run(None, inputs)


@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize("d", [True, False])
def test_the_nodes_of_a_branch_are_in_the_place_of_the_node(c: bool, d: bool) -> None:
    model = parser.parse_model(MODEL)
    inputs = {"x": np.array([0.5, -1, 2], np.float32), "c": np.array(c), "d": np.array(d)}
    wanted = run(model, inputs)
    first = with_branches(model, {1: c, 2: d})
    checker.check_model(first)
    inner = [number for number, node in enumerate(first.graph.node) if node.op_type == "If"]
    assert len(inner) == c
    for made in (first, with_branches(first, dict.fromkeys(inner, d)), with_branches(model, {})):
        for found, right in zip(run(made, inputs), wanted, strict=True):
            np.testing.assert_array_equal(found, right)
    assert model == parser.parse_model(MODEL)
