"""Simulated backends: their contract, the chains of operators that they take, files of costs, and two of them."""

from pathlib import Path

import numpy as np
import pytest
from engines.rectifier import EXPECTED, run
from graphs import Graph

from xrelay.analysis.patterns.matching import match
from xrelay.backends.base import BackendError
from xrelay.backends.discovery import find_backend
from xrelay.backends.simulated import chain
from xrelay.contract import check, contract_cases
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.transform import WhereOp
from xrelay.dialects.tensor.unary import ExpOp, ReluOp

COSTS = """\
flops = 1e12
bandwidth = 1e10
launch = 1e-5
dtypes = ["float32"]
[operators]
"exp" = {}
"add" = { bytes = 1000 }
[composites]
"add_relu" = ["add", "nn.relu"]
"""


@pytest.mark.slow
def test_contract_of_a_simulated_backend(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(COSTS)
    backend = find_backend(f"simulated:{path}")
    names = [case.name for case in contract_cases(backend)]
    assert any("pattern simulated.add_relu" in name for name in names)
    for case in contract_cases(backend):
        check(case, backend)


def test_chains_of_simulated_backends() -> None:
    """Each operator takes the one before first, and as many others as it takes."""
    graph = Graph()
    x, row = graph.input(np.ones((2, 3), np.float32)), graph.input(np.ones(3, np.float32))
    total = graph.op(AddOp(graph.op(ExpOp(x)), row))
    value = graph.op(WhereOp(graph.input(np.ones((2, 3), bool)), total, total))
    value = graph.op(ReluOp(graph.op(WhereOp(value, x, row))))
    graph.returns(value)
    assert match(chain(("where", "where", "nn.relu")), value) is not None
    assert match(chain(("add", "where", "where", "nn.relu")), value) is None
    assert match(chain(("exp", "add")), total) is not None
    assert match(chain(("add", "exp")), total) is None
    assert match(chain(("add",)), total) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flops = 1", "'bandwidth' is None, expected a positive number"),
        (COSTS.replace("1e12", "-1"), "'flops' is -1, expected a positive number"),
        (COSTS + "x = 3", "'composites.x' is 3, expected a list of names"),
        ("speed = 1\n" + COSTS, "unknown entry 'speed'"),
        (COSTS.replace("{ bytes", "{ size"), "unknown entry 'size' of operator 'add'"),
        ("flops = ", "is not TOML"),
        (COSTS.replace("1e-5", "inf"), "'launch' is inf, expected a number of at least 0"),
        (COSTS.replace('"exp"', '"expp"'), "there is no operator 'expp'"),
        (COSTS.replace("nn.relu", "nn.reluu"), "there is no operator 'nn.reluu'"),
        (COSTS.replace("float32", "float33"), "there is no dtype 'float33'"),
        ("name = 3\n" + COSTS, "'name' is 3, expected a name"),
    ],
)
def test_costs_that_make_no_sense(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(text)
    with pytest.raises(BackendError, match=message):
        find_backend(f"simulated:{path}")


def test_two_simulated_backends(tmp_path: Path) -> None:
    names: list[str] = []
    for name, operators in (("left", "exp"), ("right", "add")):
        path = tmp_path / f"{name}.toml"
        text = "flops = 1e12\nbandwidth = 1e10\nlaunch = 0\n"
        path.write_text(f'name = "{name}"\n{text}[operators]\n{operators} = {{}}\n')
        names.append(f"simulated:{path}")
    model, results = run(names)
    assert {step.backend for step in model.steps} == {"left", "right", "default"}
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)
