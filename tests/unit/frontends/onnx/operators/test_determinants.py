"""Det: written out for small matrices, a loop for larger ones, where there are loops."""

import numpy as np
import pytest
from onnx_models import by_import, one_node

from xrelay.frontends.onnx import OnnxImportError, import_model


@pytest.mark.parametrize("rows", [3, 17, 40])
def test_singular_matrices_and_permutations(rows: int) -> None:
    """Rows are exchanged, and no pivot is left in some."""
    random = np.random.default_rng(rows)
    data = random.standard_normal((5, rows, rows)) / np.sqrt(rows)
    data[1] = np.eye(rows)[::-1]
    data[2, :, 1] = 0
    data[3, 0] = data[3, -1]
    data[4, 1, 1] = np.nan
    model = one_node("Det", [data], [], opset=11)
    (found,) = by_import(model, [data])
    np.testing.assert_allclose(found[:2], np.linalg.det(data[:2]), 1e-9)
    np.testing.assert_allclose(found[2:4], 0, atol=1e-12)
    assert np.isnan(found[4])


def test_without_loops_matrices_are_not_large() -> None:
    model = one_node("Det", [np.zeros((129, 129), np.float32)], [], opset=11)
    with pytest.raises(OnnxImportError, match="its matrices have 129 rows, supported are 128"):
        import_model(model, unrolled=True)
    import_model(model)
