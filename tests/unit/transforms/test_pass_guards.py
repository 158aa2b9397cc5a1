"""Both sides of the guards of passes, with the interpreter as the oracle."""

from importlib import import_module
from pkgutil import iter_modules

import guards
import pytest
from guards.passes import GuardTable, problem_of

TABLES: tuple[GuardTable, ...] = tuple(
    table
    for file in iter_modules(guards.__path__)
    if file.name != "passes"
    for table in import_module(f"guards.{file.name}").TABLES
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec)
def test_guards(table: GuardTable) -> None:
    problems = {str(each): problem for each in table.guards if (problem := problem_of(each))}
    assert not problems, "\n\n".join(f"{name}: {text}" for name, text in problems.items())
