"""Kernels of the neural network operators with a team of threads, and on this processor."""

import nn_cases
import pytest
from graphs import Graph, leaves

FEW = [name for name in nn_cases.CASES if name.endswith(("-float32", "-int8"))]


@pytest.mark.parametrize("name", FEW)
def test_threads_compute_the_same(name: str, graph: Graph):
    nn_cases.CASES[name](graph)
    model = graph.compile("native", threads=2)
    names = [spec.name for spec in model.signature.inputs]
    arrays = [array for value in graph.inputs for array in leaves(value)]
    found = list(model.run(dict(zip(names, arrays, strict=True))).values())
    problems = graph.problems(graph.expected(), found)
    assert not problems, problems
