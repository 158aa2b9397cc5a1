"""Both sides of the guards of passes, with the interpreter as the oracle."""

from importlib import import_module
from pkgutil import iter_modules

import guards
import pytest
<<<<<<< HEAD
from guards.passes import GuardTable, problem_of

TABLES: tuple[GuardTable, ...] = tuple(
    table
    for file in iter_modules(guards.__path__)
    if file.name != "passes"
    for table in import_module(f"guards.{file.name}").TABLES
=======
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
>>>>>>> work/memory
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec)
def test_guards(table: GuardTable) -> None:
    problems = {str(each): problem for each in table.guards if (problem := problem_of(each))}
    assert not problems, "\n\n".join(f"{name}: {text}" for name, text in problems.items())
