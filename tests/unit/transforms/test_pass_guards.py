"""Both sides of the guards of passes, with the interpreter as the oracle."""

import guards_algebra
import guards_layers
import guards_memory
import guards_modules
import guards_products
import guards_shapes
import guards_spelling
import pytest
from pass_guards import GuardTable, problem_of

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
