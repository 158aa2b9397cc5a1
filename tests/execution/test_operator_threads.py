"""Operators whose cases stand in tables: two threads compute what the interpreter does."""

import re

import image_cases
import pytest
import qnn_cases
import random_cases
import vision_cases
from case_table import Case
from graphs import Graph

CASES: dict[str, Case] = {
    name: case
    for table in (image_cases.TABLE, qnn_cases.TABLE, random_cases.TABLE, vision_cases.TABLE)
    for name, case in table.cases.items()
    # The threads' shares do not depend on the dtype: one for each operator will do.
    if not re.search(r"-(uint8|u?int16|int32|int64|float16|float64|bool)$", name)
}


@pytest.mark.parametrize("name", CASES)
def test_two_threads_agree_with_the_interpreter(name: str, graph: Graph):
    CASES[name](graph)
    model = graph.compile("native", threads=2)
    names = [spec.name for spec in model.signature.inputs]
    found = list(model.run(dict(zip(names, graph.inputs, strict=True))).values())
    problems = graph.problems(graph.expected(), found)
    assert not problems, problems
