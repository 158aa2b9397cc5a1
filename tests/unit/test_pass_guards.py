"""Both sides of the guards of passes, with the interpreter as the oracle."""

import guards_algebra
import guards_layers
import guards_products
import pytest
from pass_guards import GuardTable, problem_of

TABLES: tuple[GuardTable, ...] = (
    *guards_algebra.TABLES,
    *guards_layers.TABLES,
    *guards_products.TABLES,
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec)
def test_guards(table: GuardTable) -> None:
    problems = {str(each): problem for each in table.guards if (problem := problem_of(each))}
    assert not problems, "\n\n".join(f"{name}: {text}" for name, text in problems.items())
