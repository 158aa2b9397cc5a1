"""Both sides of the guards of passes, with the interpreter as the oracle."""

import pytest
from guards import algebra as guards_algebra
from guards import layers as guards_layers
from guards import memory as guards_memory
from guards import modules as guards_modules
from guards import products as guards_products
from guards import shapes as guards_shapes
from guards import spelling as guards_spelling
from guards.passes import GuardTable, problem_of

FILES = (
    guards_algebra,
    guards_layers,
    guards_memory,
    guards_modules,
    guards_products,
    guards_shapes,
    guards_spelling,
)
TABLES: tuple[GuardTable, ...] = tuple(table for file in FILES for table in file.TABLES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec)
def test_guards(table: GuardTable) -> None:
    problems = {str(each): problem for each in table.guards if (problem := problem_of(each))}
    assert not problems, "\n\n".join(f"{name}: {text}" for name, text in problems.items())
