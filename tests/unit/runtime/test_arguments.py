"""How messages name many things."""

import numpy as np
import pytest
from onnx import helper
from onnx_models import build, untyped, value_info

import xrelay
from xrelay.frontends.onnx import OnnxImportError, import_model
from xrelay.runtime.arguments import MOST_LISTED, few


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "none"),
        (1, "0"),
        (MOST_LISTED, "0, 1, 2, 3, 4, 5, 6, 7"),
        (MOST_LISTED + 1, "0, 1, 2, 3, 4, 5, 6, 7 … and 1 more"),
        (1000, "0, 1, 2, 3, 4, 5, 6, 7 … and 992 more"),
    ],
)
def test_the_first_of_many(count: int, expected: str) -> None:
    assert few(range(count)) == expected
    assert few(iter(range(count)), "; ") == expected.replace(", ", "; ")


def test_models_with_many_inputs() -> None:
    """Neither those that are asked for nor those that there are make a long message."""
    inputs = [value_info(f"x{i}", np.zeros(1, np.float32)) for i in range(100)]
    names = [each.name for each in inputs]
    made = build([helper.make_node("Sum", names, ["y"])], inputs, [untyped("y")])
    model = xrelay.compile(made)
    with pytest.raises(xrelay.ModelError) as caught:
        model.run({})
    assert "missing input 'x7' … and 92 more; the model takes 'x0'" in str(caught.value)
    assert str(caught.value).endswith(" … and 92 more")
    with pytest.raises(
        OnnxImportError, match=r"inputs: 'x0', .*, 'x7' … and 92 more; unknown dimensions: none$"
    ):
        import_model(made, shapes={"z": [1]})


@pytest.mark.parametrize("count", [8, 9, 3000])
def test_models_with_many_nodes_that_are_not_supported(count: int) -> None:
    nodes = [helper.make_node("Frobnicate", ["x"], [f"y{i}"]) for i in range(count)]
    made = build(
        nodes, [value_info("x", np.zeros(1, np.float32))], [untyped(f"y{i}") for i in range(count)]
    )
    with pytest.raises(OnnxImportError, match=f": {count} nodes are not supported:\n") as caught:
        import_model(made)
    assert len(str(caught.value).splitlines()) == 1 + MOST_LISTED
    assert str(caught.value).endswith(f" … and {count - 8} more") == (count > 8)
