"""Every pass on programs that are deeper than Python's calls may be: it works, or says what it does not take."""

import inspect
import sys
from collections.abc import Iterator
from functools import cache

import pytest
from guards.passes import passes_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tests.fuzz.pass_rows import register_compilers, specs
from xrelay.deep import with_deep_stack
from xrelay.frontends.relay_text import read_relay_text
from xrelay.tools.universe import XRELAY_UNIVERSE

CALLS = 350
"""As many calls as a pass may make in each other: Python's own limit takes longer to reach."""
ROW = 400
"""Operations one behind the other: more than calls."""
NESTED = 60
"""Regions in each other: more of them than the parser and the printer of xDSL take without a deep stack."""
TUPLES = 16
"""Tuples in each other: as many as types of xDSL take without a deep stack."""
STEPS = (
    "exp({})",
    'cast(cast({}, dtype="float64"), dtype="float32")',
    "add({}, %x)",
    "reshape({}, newshape=[2])",
    "multiply({}, 2f)",
)


def in_a_row(form: str) -> str:
    """A function of operations in a row; `form` says how each is bound."""
    lines = [
        form.format(i, STEPS[i % len(STEPS)].format(f"%{i - 1}" if i else "%x")) for i in range(ROW)
    ]
    return "def @main(%x: Tensor[(2), float32]) {\n" + "\n".join(lines) + f"\n%{ROW - 1} }}"


def in_branches() -> str:
    """A function of branches in branches."""
    body = "if (%c) {exp(" * NESTED + "%x" + ")} else {tanh(%x)}" * NESTED
    return f"def @main(%x: Tensor[(2), float32], %c: bool) {{ {body} }}"


def of_tuples() -> str:
    """A function of tuples in tuples, the innermost field of which it takes."""
    nested = "(" * TUPLES + "exp(%x)" + ",)" * TUPLES
    return f"def @main(%x: Tensor[(2), float32]) {{ let %t = {nested}; tanh(%t{'.0' * TUPLES}) }}"


PROGRAMS = {
    "a row": in_a_row("%{} = {};"),
    "branches": in_branches(),
    "tuples": of_tuples(),
}


@cache
def parsed(what: str) -> ModuleOp:
    """A program, which is read once."""
    return read_relay_text(PROGRAMS[what])


@pytest.fixture
def few_calls() -> Iterator[None]:
    """Lowers the limit of calls. A deep stack, which is asked for, has its own."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + CALLS)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("name", XRELAY_UNIVERSE.all_passes)
def test_deep_programs(name: str) -> None:
    register_compilers()
    for what in PROGRAMS:
        module = with_deep_stack(lambda what=what: parsed(what).clone())
        for step in passes_of(next(iter(specs(name)))):
            try:
                if what == "branches":
                    with_deep_stack(lambda step=step, module=module: step.apply(Context(), module))
                else:
                    step.apply(Context(), module)
            except DiagnosticException as error:
                assert str(error)
                break
