"""What is said when an engine fails, or a method of a backend goes wrong; and what runs in its place."""

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from engines.rectifier import EXPECTED, RectifierBackend, X, module, run
from xdsl.dialects import func
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

import xrelay
from xrelay.analysis.patterns.language import is_op, wildcard
from xrelay.backends.base import (
    Array,
    BackendError,
    CompiledRegion,
    CompositePattern,
    RegionOptions,
)
from xrelay.dialects.tensor.unary import ReluOp
from xrelay.runtime.errors import ModelError


class BrokenBackend(RectifierBackend):
    """Fails to compile."""

    name = "broken"

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        raise RuntimeError("out of registers")


def test_a_backend_that_does_not_compile() -> None:
    with pytest.raises(
        BackendError,
        match=r"region @\S*broken\S* \(nn.relu\) cannot be compiled by backend 'broken': "
        "out of registers",
    ):
        run([BrokenBackend()])
    model, results = run([BrokenBackend()], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)
    assert [step.failures for step in model.steps if step.backend == "broken"] == [
        ["out of registers"]
    ] * 2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda i, o: 1 / 0, "division by zero"),
        (lambda i, o: [i[0][:1]], r"result 0 is float32\[1, 4\], expected float32\[3, 4\]"),
        (lambda i, o: [i[0].astype("f8")], r"result 0 is float64\[3, 4\]"),
        (lambda i, o: [], "it returns 0 arrays, expected 1"),
        (lambda i, o: np.maximum(i[0], 0), "it returns a ndarray, expected a sequence of arrays"),
        (lambda i, o: 3, "it returns an int, expected a sequence of arrays"),
        (lambda i, o: sys.exit("bye"), "bye"),
    ],
)
def test_a_backend_that_does_not_run(wrong: Callable[..., Any], message: str) -> None:
    whole = rf"region @\S* \(nn.relu\) fails on backend 'rectifier': {message}"
    with pytest.raises(ModelError, match=whole):
        run([RectifierBackend(wrong)])
    model, results = run([RectifierBackend(wrong)], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)
    assert all(step.failures for step in model.steps if step.backend == "rectifier")


def test_a_backend_that_makes_nothing() -> None:
    class Nothing(RectifierBackend):
        def compile(self, function: func.FuncOp, options: RegionOptions) -> Any:
            return None

    with pytest.raises(BackendError, match="it returns a NoneType, expected a callable"):
        run([Nothing()])


class RewritingBackend(RectifierBackend):
    """Takes its function apart, and then fails."""

    def compile(self, function: func.FuncOp, options: RegionOptions) -> CompiledRegion:
        for op in function.body.block.ops:
            if isinstance(op, ReluOp):
                op.result.replace_all_uses_with(op.data)
        raise RuntimeError("half done")


def test_the_function_of_a_backend_is_its_own() -> None:
    _, results = run([RewritingBackend()], fallback=True)
    np.testing.assert_allclose(results[0], EXPECTED[0], rtol=1e-6)


def test_inputs_cannot_be_written() -> None:
    def overwrites(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        np.maximum(inputs[0], 0, out=inputs[0])

    x = X.copy()
    model = xrelay.compile(
        module(), backends=[RectifierBackend(overwrites)], fallback=True, cache=False
    )
    found = list(model.run({"x": x}).values())
    np.testing.assert_allclose(found[0], EXPECTED[0], rtol=1e-6)
    assert (x == X).all()


def test_threads_that_fail_at_different_times() -> None:
    first = threading.Event()

    def fails(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        if threading.current_thread().name == "late":
            assert first.wait(60)
        raise RuntimeError("lost")

    model = xrelay.compile(module(), backends=[RectifierBackend(fails)], fallback=True, cache=False)
    results: dict[str, Array] = {}

    def call() -> None:
        name = threading.current_thread().name
        results[name] = next(iter(model.run({"x": X}).values()))
        first.set()

    threads = [threading.Thread(target=call, name=name) for name in ("late", "early")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    for found in results.values():
        np.testing.assert_allclose(found, EXPECTED[0], rtol=1e-6)


def _fails_later(*arguments: object) -> Any:
    yield CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()))
    raise KeyError("oops")


def _divides(op: Operation) -> bool:
    return bool(1 / 0)


def _raises(*arguments: object) -> Any:
    raise KeyError("oops")


@pytest.mark.parametrize(
    ("method", "replacement", "message"),
    [
        ("supports", _raises, r"supports\(relay.nn.relu\) raises KeyError: 'oops'"),
        ("supports", lambda *a: True, r"returns True, expected Yes\(\) or No\(reason\)"),
        ("patterns", _raises, r"patterns\(\) raises KeyError"),
        ("patterns", lambda s: [("rectifier.x", wildcard(), None)], "expected a CompositePattern"),
        (
            "patterns",
            lambda s: [CompositePattern("relu", is_op("nn.relu")(wildcard()))],
            "has a pattern 'relu', expected a name that begins with 'rectifier.'",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.reluu")(wildcard()))],
            "names 'nn.reluu', which is no operator",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()), _raises)],
            "the check of pattern 'rectifier.x' raises KeyError",
        ),
        ("patterns", _fails_later, r"patterns\(\) raises KeyError"),
        ("patterns", lambda s: None, r"patterns\(\) raises TypeError"),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.", is_op("nn.relu")(wildcard()))],
            "has a pattern 'rectifier.', expected a name that begins with",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", "nn.relu")],
            "'rectifier.x' is 'nn.relu', expected a Pattern",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("nn.relu"))],
            "'rectifier.x' is the operator nn.relu, expected its result",
        ),
        (
            "patterns",
            lambda s: [CompositePattern("rectifier.x", is_op("add")(1, wildcard()))],
            "1 is no pattern, in a CallPattern",
        ),
        ("patterns", lambda s: [is_op(3)(wildcard())], "the operator is 3, expected its name"),
        (
            "patterns",
            lambda s: [
                CompositePattern("rectifier.x", is_op("nn.relu")(wildcard()).where(_divides))
            ],
            r"the condition of nn.relu.* raises ZeroDivisionError.*, asked about a value .relay.nn.relu",
        ),
        ("supports", lambda *a: sys.exit("bye"), r"supports\(.*\) raises SystemExit: bye"),
        ("lower", _raises, "lower raises KeyError"),
        ("lower", lambda s, m: None, "lower returns a NoneType, expected True or False"),
        ("optimize", _raises, "optimize raises KeyError"),
        ("optimize", lambda s, m: m.clone(), "optimize returns a ModuleOp, expected None"),
    ],
)
def test_methods_that_go_wrong(
    monkeypatch: pytest.MonkeyPatch, method: str, replacement: Any, message: str
) -> None:
    monkeypatch.setattr(RectifierBackend, method, replacement)
    with pytest.raises(DiagnosticException, match=message) as raised:
        run([RectifierBackend()])
    assert "backend 'rectifier'" in str(raised.value) or "condition" in message


def test_names_that_are_none() -> None:
    class Default(RectifierBackend):
        name = "default"

    with pytest.raises(BackendError, match="calls itself 'default'"):
        run([Default()])
