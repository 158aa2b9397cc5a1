"""A sample of the ONNX suite, its lists, and the table that is made of them. `make conformance-onnx` runs all of it."""

import gc
from pathlib import Path
from unittest import TestCase

import onnx_suite
import onnx_table
import pytest


@pytest.fixture(scope="module")
def cases() -> dict[str, TestCase]:
    """The cases by their names."""
    return onnx_suite.suite(onnx_suite.lists().tolerances)


@pytest.mark.slow
def test_a_sample_agrees_with_the_lists(
    cases: dict[str, TestCase], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every fiftieth case, and one of each reason."""
    monkeypatch.setenv("ONNX_HOME", str(tmp_path))
    lists = onnx_suite.lists()
    sample = [*list(cases)[::50], *(group.cases[0] for group in lists.groups), *lists.tolerances]
    problems: list[str | None] = []
    for name in dict.fromkeys(sample):
        outcome = onnx_suite.run_case(cases[name], compiling=True)
        listed = lists.kinds.get(name, onnx_suite.NATIVE)
        problems.append(onnx_suite.verdict(name, outcome, listed))
    assert not any(problems), "\n".join(filter(None, problems))
    gc.collect()


@pytest.mark.slow
def test_the_lists_name_cases_and_the_page_has_their_table(cases: dict[str, TestCase]) -> None:
    lists = onnx_suite.lists()
    assert {*lists.kinds, *lists.tolerances} <= set(cases)
    text = onnx_table.PAGE.read_text()
    assert text == onnx_table.page(text), "run `make pages`"


def test_lists_only_shrink(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A case that passes is named, and taken off; a reason without cases goes."""
    path = tmp_path / "lists.toml"
    path.write_text(
        '# Cases.\n\n[[refused]]\nreason = "one"\ncases = [\n    "abs",\n]\n\n'
        '[[refused]]\nreason = "two"\ncases = [\n    "add",\n    "sub",\n]\n'
    )
    monkeypatch.setattr(onnx_suite, "LISTS", path)
    assert onnx_suite.lists().kinds == dict.fromkeys(("abs", "add", "sub"), "refused")
    passes = onnx_suite.Outcome(onnx_suite.NATIVE)
    assert "take it off the list" in str(onnx_suite.verdict("abs", passes, "refused"))
    fails = onnx_suite.Outcome(onnx_suite.REFUSED, "no such operator")
    assert onnx_suite.verdict("abs", fails, "refused") is None
    assert str(onnx_suite.verdict("mul", fails, "native")) == (
        "mul is refused, expected native: no such operator"
    )
    path.write_text(onnx_suite.shortened({"abs", "sub"}))
    assert onnx_suite.lists().kinds == {"add": "refused"}
    assert [group.reason for group in onnx_suite.lists().groups] == ["two"]
    path.write_text(path.read_text() + path.read_text())
    with pytest.raises(ValueError, match="lists more than once: add"):
        onnx_suite.lists()
