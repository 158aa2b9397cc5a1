"""Cases of operators are exported as `exports.txt` says."""

from collections.abc import Iterator

import onnx
import pytest
from code_records import exports

VERSION, *LINES = exports.FILE.read_text().splitlines(keepends=True)

pytestmark = pytest.mark.skipif(
    VERSION.strip() != f"onnx {onnx.__version__}", reason=f"the record is of {VERSION.strip()}"
)


def known() -> Iterator[tuple[str, str]]:
    """What is on record: the lines under each name."""
    name, below = "", ""
    for line in LINES:
        if line.startswith(" "):
            below += line
            continue
        if name:
            yield name, below
        name, below = line.rstrip("\n"), ""
    yield name, below


KNOWN = dict(known())
CASES = exports.all_cases()


def differences() -> Iterator[str]:
    """What is exported otherwise."""
    for name, case in CASES.items():
        found = exports.entry(*case)
        if found != KNOWN.get(name):
            yield f"{name}\n- {KNOWN.get(name)}\n+ {found}"


def test_all_cases_are_on_record() -> None:
    assert list(KNOWN) == list(CASES), "run `make pages`"


@pytest.mark.slow
def test_cases_are_exported_as_on_record() -> None:
    found = list(differences())
    assert not found, "\n".join(["if this is better, run `make pages`", *found])
