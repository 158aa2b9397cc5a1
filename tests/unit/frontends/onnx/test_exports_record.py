"""Cases of operators are exported as `exports.txt` says."""

import onnx
import pytest
from code_records import exports
from code_records.reading import entries, require_same

VERSION, *LINES = exports.FILE.read_text().splitlines()

pytestmark = pytest.mark.skipif(
    VERSION != f"onnx {onnx.__version__}", reason=f"the record is of {VERSION}"
)


KNOWN = entries(LINES)
CASES = exports.all_cases()


def test_all_cases_are_on_record() -> None:
    assert list(KNOWN) == list(CASES), "run `make pages`"


@pytest.mark.slow
def test_cases_are_exported_as_on_record() -> None:
    require_same(KNOWN, ((name, exports.entry(*case)) for name, case in CASES.items()))
