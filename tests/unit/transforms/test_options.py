"""Options of passes: numbers that mean nothing are refused, in one wording, by the name that a command line has."""

from dataclasses import fields

import pytest
from guards.passes import GuardGraph, passes_of
from xdsl.context import Context
from xdsl.dialects.builtin import f64
from xdsl.utils.exceptions import DiagnosticException

from xrelay.dialects.tensor.unary import CastOp, ExpOp
from xrelay.tools.universe import XRELAY_UNIVERSE

ANY_NUMBER = {
    ("split-args", "max-function-args"): "a negative one is no limit",
}
"""Options for which every number means something."""


def numeric_options() -> list[tuple[str, str]]:
    """The passes that have options of one number, and these."""
    return [
        (name, option.name.replace("_", "-"))
        for name, load in XRELAY_UNIVERSE.all_passes.items()
        for option in fields(load())
        if option.type is int
    ]


@pytest.mark.parametrize(("name", "option"), numeric_options())
def test_negative_numbers_are_refused(name: str, option: str) -> None:
    g = GuardGraph()
    g.returns(g.op(ExpOp(g.x(2))))
    (step,) = passes_of(f"{name}{{{option}=-1}}")
    if (name, option) in ANY_NUMBER:
        step.apply(Context(), g.module())
        return
    with pytest.raises(DiagnosticException, match=f"^'{option}' is -1, .*") as refusal:
        step.apply(Context(), g.module())
    assert "expected" in str(refusal.value) or "counted from 0" in str(refusal.value)


@pytest.mark.parametrize(
    "spec",
    [
        "alter-op-layout{lanes=0}",
        "annotate-memory-scope{default-device=0}",
        "annotate-memory-scope{device-type=0}",
        "annotate-memory-scope{limit=0}",
        "combine-parallel-batch-matmul{min-num-branches=0}",
        "combine-parallel-conv2d{min-num-branches=0}",
        "combine-parallel-dense{min-num-branches=0}",
        "convert-relay-to-kernels{threads=0}",
        "cpu-pipeline{lanes=0}",
        "fuse-composites{threads=0}",
        "fuse-ops{max-depth=0}",
        "plan-devices{default-device=0}",
        "plan-devices{host-device=0}",
        "select-strategies{threads=0}",
        "split-args{max-function-args=2}",
    ],
)
def test_least_numbers(spec: str) -> None:
    g = GuardGraph()
    g.returns(g.op(ExpOp(g.x(2))))
    with pytest.raises(DiagnosticException, match=r"^'[a-z-]+' is \d, expected at least \d$"):
        for step in passes_of(spec):
            step.apply(Context(), g.module())


NAMES = {
    (
        "annotate-target",
        "targets",
    ): "compilers may take nothing of a program, and be known elsewhere only",
    ("convert-kernels-to-llvm", "triple"): "LLVM knows which there are",
    ("outline-compiler-functions", "compiler"): "compilers may take nothing of a program",
    ("partition-graph", "mod-name"): "a part of new names",
}
"""Options that take any name."""


def options_of_names() -> list[tuple[str, str]]:
    """The passes that have options of names, and these."""
    return [
        (name, option.name.replace("_", "-"))
        for name, load in XRELAY_UNIVERSE.all_passes.items()
        for option in fields(load())
        if "str" in str(option.type)
    ]


@pytest.mark.parametrize(("name", "option"), options_of_names())
def test_names_of_nothing_are_refused(name: str, option: str) -> None:
    g = GuardGraph()
    g.returns(g.op(ExpOp(g.x(2))))
    (step,) = passes_of(f'{name}{{{option}="no.such.thing"}}')
    if (name, option) in NAMES:
        try:
            step.apply(Context(), g.module())
        except DiagnosticException as error:
            assert "no.such.thing" not in str(error)
        return
    needed = {"annotate-target": "targets"}.get(name)
    with pytest.raises(DiagnosticException, match=r"no\.such\.thing" if needed is None else needed):
        step.apply(Context(), g.module())


@pytest.mark.parametrize("name", ["cast", "relay.cast"])
def test_operators_have_two_names(name: str) -> None:
    g = GuardGraph()
    x = g.x(2)
    for op in (CastOp(x, f64), CastOp(x, f64), ExpOp(x), ExpOp(x)):
        g.show(op)
    module = g.module()
    for step in passes_of(f'eliminate-common-subexpr{{skip="{name}"}}'):
        step.apply(Context(), module)
    assert [sum(isinstance(op, kind) for op in module.walk()) for kind in (CastOp, ExpOp)] == [2, 1]
