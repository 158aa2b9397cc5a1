"""Tables of targets for `legalize` and `qnn-legalize`: which rules count, and what they may give."""

from collections.abc import Callable
from typing import Any

import pytest
from guards.passes import GuardGraph, counted, passes_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from xrelay.dialects.core.values import TupleGetItemOp, TupleOp
from xrelay.dialects.tensor.unary import ExpOp, LogOp, NegativeOp
from xrelay.transforms.legalize import legalize, qnn_legalize
from xrelay.transforms.rules.legalize.tables import TargetTables
from xrelay.transforms.rules.rewriting import Emitter, Rule

PASSES = {"legalize": legalize.TARGETS, "qnn-legalize": qnn_legalize.TARGETS}


def run(name: str, rule: Rule) -> ModuleOp:
    """exp(log(x)) after a pass for a target whose table has this rule for exp."""
    g = GuardGraph()
    g.returns(g.op(ExpOp(g.op(LogOp(g.x(2))))))
    module = g.module()
    tables: TargetTables = PASSES[name]
    with tables.using("vendor", {ExpOp: rule}):
        (step,) = passes_of(f'{name}{{target="vendor"}}')
        step.apply(Context(), module)
    module.verify()
    return module


@pytest.mark.parametrize("name", PASSES)
def test_a_rule_replaces_its_operator(name: str) -> None:
    found = counted(run(name, lambda op, emit: emit(NegativeOp(op.data))))
    assert (found["exp"], found["negative"], found["log"]) == (0, 1, 1)


@pytest.mark.parametrize("name", PASSES)
def test_none_keeps_an_operator(name: str) -> None:
    found = counted(run(name, lambda op, emit: None))
    assert (found["exp"], found["log"]) == (1, 1)


@pytest.mark.parametrize("name", PASSES)
def test_a_table_is_known_for_as_long_as_it_is_used(name: str) -> None:
    run(name, lambda op, emit: None)
    (step,) = passes_of(f'{name}{{target="vendor"}}')
    with pytest.raises(PassFailedException, match="^'target' is 'vendor', expected one of "):
        step.apply(Context(), ModuleOp([]))


def _constant(op: Any, emit: Emitter) -> SSAValue:
    return emit.scalar(1, op.data)


def _field(op: Any, emit: Emitter) -> SSAValue:
    return emit(TupleGetItemOp(emit(TupleOp([op.data])), 0))


REFUSED: dict[str, tuple[Callable[..., SSAValue], str]] = {
    "a parameter": (lambda op, emit: op.data.owner.data, "that is no result of an operator"),
    "a field": (_field, "that is no result of an operator"),
    "another type": (_constant, r"of type tensor<f32>, expected tensor<2xf32>"),
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("what", REFUSED)
def test_what_a_rule_gives_must_be_a_call_of_the_same_type(name: str, what: str) -> None:
    rule, message = REFUSED[what]
    expected = f"the rule for relay.exp.* gives a value {message}"
    with pytest.raises(PassFailedException, match=expected):
        run(name, rule)
