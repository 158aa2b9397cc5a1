"""Legalization keeps the meaning of operators, and the code generator knows what it replaces."""

import numpy as np
import pytest
from cases import dyn as dyn_cases
from cases import nn as nn_cases
from cases import qnn as qnn_cases
from cases import sum as sum_cases
from graphs import LEGALIZATION, Graph
from guards.passes import results_of
from xdsl.context import Context

from xrelay.lowering.program.registry import REWRITTEN, RULES, STRATEGIES
from xrelay.transforms.legalize.legalize import PARTIAL_RULES
from xrelay.transforms.legalize.legalize import RULES as LEGAL


def test_registry_names_what_the_pass_replaces():
    assert {op for op, step in REWRITTEN.items() if step == "legalize"} == set(LEGAL)


def test_nothing_with_kernels_is_replaced():
    assert not set(LEGAL) & {*RULES, *STRATEGIES}


def test_what_is_replaced_in_part_has_kernels():
    assert set(PARTIAL_RULES) <= {*RULES, *STRATEGIES}


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
