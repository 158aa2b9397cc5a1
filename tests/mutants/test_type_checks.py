"""Changes that no test notices are looked at by pyright, as `make test` does."""

import argparse
from pathlib import Path
from textwrap import dedent

import pytest

from tests.mutants import __main__ as command
from tests.mutants.engine import SURVIVED, Verdict
from tests.mutants.mutant import Mutant, mutants
from tests.mutants.project import Project
from tests.mutants.report import Report
from tests.mutants.source import Source
from tests.mutants.type_checks import TypeChecker
from tests.mutants.worker import BUDGET, Ending

FILE = """
from toy.names import NAMES


def name(number: int) -> str:
    if number in NAMES:
        return NAMES[number]
    else:
        raise LookupError(number)
"""
SETTINGS = """
[tool.pyright]
include = ["toy"]
pythonVersion = "3.11"
typeCheckingMode = "strict"
stubPath = "typings"
"""


@pytest.fixture(name="root")
def tree(tmp_path: Path) -> Path:
    """A package, which the stubs link to."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "typings").mkdir()
    (tmp_path / "typings" / "toy").symlink_to(Path("..", "toy"))
    (tmp_path / "toy" / "file.py").write_text(dedent(FILE))
    (tmp_path / "toy" / "names.py").write_text('NAMES = {1: "one"}\n')
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    return tmp_path


def change(root: Path, operator: str, number: int) -> Mutant:
    """One of the changes of the file that are of a kind."""
    source = Source.read(root, "toy/file.py")
    found = [each for place in mutants(source) for each in place if each.edit.operator == operator]
    return found[number]


@pytest.mark.slow
def test_errors_of_types(root: Path) -> None:
    """The tree stays as it is, and the copy too: a condition that is turned around is no error of types."""
    before = (root / "toy" / "file.py").read_bytes()
    returned, turned = change(root, "drop-return", 0), change(root, "compare", 0)
    with TypeChecker.of(root) as checker:
        errors = [checker.error(each) for each in (turned, returned, turned)]
    assert errors[0] == errors[2] == ""
    assert errors[1].startswith('Function with declared return type "str" must return value')
    assert (root / "toy" / "file.py").read_bytes() == before


@pytest.mark.slow
def test_only_what_no_test_notices_is_looked_at(root: Path) -> None:
    """And is caught then, by pyright."""
    report, turned, returned = Report(), change(root, "compare", 0), change(root, "drop-return", 0)
    report.add(Verdict(turned, Ending(SURVIVED), tests=3))
    report.add(Verdict(returned, Ending(BUDGET), tests=2))
    options = argparse.Namespace(json=None, survivors=None)
    command.check_types(Project(root), report, options, lambda: None)
    assert [each.mutant for each in report.of("survived")] == [turned]
    (caught,) = report.of("by types")
    assert caught in report.of("caught") and not report.of("budget")
    assert (caught.mutant, caught.test, caught.tests) == (returned, "pyright", 2)
