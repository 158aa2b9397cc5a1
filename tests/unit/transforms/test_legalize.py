"""Legalization keeps the meaning of operators, and the code generator knows what it replaces."""

from math import prod

import numpy as np
import pytest
from cases import dyn as dyn_cases
from cases import nn as nn_cases
from cases import qnn as qnn_cases
from cases import sum as sum_cases
from graphs import LEGALIZATION, Graph
from guards.passes import results_of
from xdsl.context import Context

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.lowering.program.registry import REWRITTEN, RULES, STRATEGIES
from xrelay.transforms.legalize.legalize import PARTIAL_RULES, LegalizePass
from xrelay.transforms.legalize.legalize import RULES as LEGAL
from xrelay.transforms.rules.legalize.einsum import MOST_GROWTH


def test_registry_names_what_the_pass_replaces():
    assert {op for op, step in REWRITTEN.items() if step == "legalize"} == set(LEGAL)


def test_nothing_with_kernels_is_replaced():
    assert not set(LEGAL) & {*RULES, *STRATEGIES}


def test_what_is_replaced_in_part_has_kernels():
    assert set(PARTIAL_RULES) <= {*RULES, *STRATEGIES}


@pytest.mark.parametrize(
    "equation", ["abc,def,ghi,adg,beh,cfi->", "abc,cde,bdf,aef->", "ij,jk,kl,lm->im"]
)
def test_what_lies_between_in_an_einsum_is_not_much_longer(equation: str):
    """Than the longest operand or the result: either products in an order of which that is true, or the operator stays."""
    graph, terms = Graph(1), equation.partition("->")[0].split(",")
    shapes = [(6,) * len(term) for term in terms]
    inputs = [graph.input(graph.small("float32", *shape)) for shape in shapes]
    graph.show(EinsumOp(graph.op(TupleOp(inputs)), equation))
    module = graph.module().clone()
    LegalizePass().apply(Context(), module)
    results = [value for op in walk(module) for value in op.results]
    lengths = [prod(value.type.get_shape()) for value in results if is_tensor_type(value.type)]
    assert max(lengths) <= MOST_GROWTH * max(map(prod, shapes))
    assert not graph.problems(graph.expected(), results_of(module, graph.inputs))


@pytest.mark.slow
def test_results_stay():
    """Of the cases of operators that kernels are tested with, after each pass; some dtypes stand for others."""
    replaced: set[str] = set()
    problems: list[str] = []
    tables = (nn_cases.TABLE, qnn_cases.TABLE, dyn_cases.TABLE, sum_cases.SUMS)
    cases = {name: build for table in tables for name, build in table.cases.items()}
    for name, build in cases.items():
        if name.endswith(("-float64", "-int16", "-int64", "-uint16", "-uint32", "-uint64")):
            continue
        graph = Graph(1)
        build(graph)
        module = graph.module().clone()
        for step in LEGALIZATION:
            before = module.clone()
            step.apply(Context(), module)
            if before.is_structurally_equivalent(module):
                continue
            module.verify()
            replaced.add(step.name)
            with np.errstate(all="ignore"):
                found = graph.problems(graph.expected(), results_of(module, graph.inputs))
            if found:
                problems.append(f"{name} after {step.name}: {found}")
    assert not problems, "\n".join(problems)
    assert replaced == {step.name for step in LEGALIZATION}
