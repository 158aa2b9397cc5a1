"""ONNX's tests for backends are imported as `imports.txt` says."""

import onnx
import pytest
from code_records import imports
from code_records.reading import pairs, require_same
from onnx import ModelProto

VERSION, *LINES = imports.FILE.read_text().splitlines()
KNOWN = pairs(LINES)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        VERSION != f"onnx {onnx.__version__}", reason=f"the record is of the tests of {VERSION}"
    ),
]


@pytest.fixture(scope="module", name="models")
def all_models() -> dict[str, ModelProto]:
    """The models of the tests."""
    return dict(imports.models())


def test_all_tests_are_on_record(models: dict[str, ModelProto]) -> None:
    assert list(KNOWN) == list(models), "run `make pages`"


def test_models_are_imported_as_on_record(models: dict[str, ModelProto]) -> None:
    require_same(KNOWN, ((name, imports.imported(model)) for name, model in models.items()))
