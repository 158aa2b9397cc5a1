"""Passes on Relay's language keep the meaning of programs with recursion, effects, function values and data types."""

from typing import Any

import numpy as np
import pytest
from functional_programs import HEADER, PROGRAMS
from guards.passes import main_function, passes_of, results_of, values_of
from records import DATA, records
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.walking import walk
from xrelay.dialects.core.adt import MatchOp
from xrelay.dialects.core.functional import ApplyOp, ClosureOp
from xrelay.dialects.core.values import YieldOp
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.creation import OnesOp, ZerosOp
from xrelay.frontends.relay_text import read_relay_text
from xrelay.interpreters.relay import interpret

PIPELINES = (
    ("lazy-gradient-init{unsafe=true}",),
    ("to-cps", "un-cps"),
    ("lazy-gradient-init",),
    ("to-cps", "un-cps", "lazy-gradient-init"),
    ("lazy-gradient-init", "to-a-normal-form"),
    ("to-a-normal-form", "lazy-gradient-init"),
    ("to-a-normal-form", "to-cps", "un-cps", "eta-expand"),
    ("dead-code-elimination{inline-once=true}",),
    ("partial-eval",),
    ("to-cps", "un-cps", "partial-eval", "dead-code-elimination{inline-once=true}"),
    ("lambda-lift",),
)
AGAIN = ("lazy-gradient-init", "lazy-gradient-init{unsafe=true}", "un-cps")
"""The passes that find nothing to do in what they leave."""
SOURCES = ("lambda_lift", "lazy_gradient_init", "partial_eval", "to_cps")
"""Tests of the original whose programs are tried, most of them gradients in references."""


def parsed(name: str) -> ModuleOp:
    return read_relay_text(HEADER + PROGRAMS[name])


def after(module: ModuleOp, *names: str) -> ModuleOp:
    copy = module.clone()
    for name in names:
        (each,) = passes_of(name)
        each.apply(Context(), copy)
        copy.verify()
    return copy


def inputs_of(module: ModuleOp, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        values_of(type_, "numbers", rng) for type_ in main_function(module).body.block.arg_types
    ]


def require_same(before: ModuleOp, changed: ModuleOp, inputs: list[Any]) -> None:
    pairs = zip(results_of(changed, inputs), results_of(before, inputs), strict=True)
    for found, expected in pairs:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=",".join)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_keep_their_meaning(name: str, pipeline: tuple[str, ...]):
    module = parsed(name)
    changed = after(module, *pipeline)
    for seed in range(3):
        require_same(module, changed, inputs_of(module, seed))


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"operators in a body"}))
def test_calls_are_the_last_that_is_done(name: str):
    """What is returned is what the last call gives."""
    ends = func.ReturnOp | scf.YieldOp | YieldOp
    for op in after(parsed(name), "to-cps").walk():
        if isinstance(op, ApplyOp | MatchOp | scf.IfOp | func.CallOp):
            assert isinstance(op.next_op, ends)
            assert tuple(op.next_op.operands) == tuple(op.results)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("again", AGAIN)
def test_a_second_run_changes_nothing(name: str, again: str):
    module = after(parsed(name), *({"un-cps": ["to-cps"]}.get(again, ())), again)
    assert after(module, again).is_structurally_equivalent(module)


def test_many_calls_in_a_row():
    """More than Python has frames for, each with a continuation within that of the call before."""
    calls = [f"let %x{i + 1} = @f(%x{i});" for i in range(1200)]
    body = "\n".join(calls)
    text = "def @f(%x: float32) -> float32 { negative(%x) }\n"
    text += f"def @main(%x0: float32) -> float32 {{\n{body}\n%x1200\n}}"
    module = read_relay_text(HEADER + text)
    (step,) = passes_of("to-cps")
    step.apply(Context(), module)
    assert sum(isinstance(op, ClosureOp) for op in walk(module)) == 1200


class Filled(Interpreter.Listener):
    """Counts the zeros and ones that are made."""

    def __init__(self):
        self.count = 0

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        self.count += isinstance(op, OnesOp | ZerosOp)


NEEDED = {
    "a sum and a product": (0, "add(multiply(ones_like(%x), %x), zeros_like(%x))"),
    "a product with zeros": (1, "multiply(zeros_like(%x), exp(%x))"),
    "an operator": (1, "exp(add(zeros_like(%x), multiply(zeros_like(%x), %x)))"),
    "a field of a tuple": (0, "let %t = (zeros_like(%x), %x); add(%t.0, %t.1)"),
    "a reference": (0, "let %r = ref(zeros_like(%x)); add(ref_read(%r), %x)"),
    "a branch": (1, "if (%c) { zeros_like(%x) } else { ones_like(%x) }"),
    "a sum of ones": (2, "add(ones_like(%x), ones_like(%x))"),
    "a call": (1, "@f(zeros_like(%x))"),
    "a function value": (
        0,
        "let %f = fn (%y: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%y, %x) }; %f(zeros_like(%x))",
    ),
}
"""How many zeros and ones are made: those whose elements somebody needs."""


@pytest.mark.parametrize("name", NEEDED)
def test_zeros_and_ones_are_made_when_they_are_needed(name: str):
    count, body = NEEDED[name]
    type_ = "Tensor[(2), float32]"
    text = f"def @f(%x: {type_}) -> {type_} {{ add(%x, %x) }}"
    text += f"def @main(%x: {type_}, %c: bool) -> {type_} {{ {body} }}"
    module = read_relay_text(HEADER + text)
    changed, filled = after(module, "lazy-gradient-init{unsafe=true}"), Filled()
    inputs = inputs_of(module, 1)
    (found,) = interpret(changed, inputs, listeners=[filled])
    assert filled.count == count
    np.testing.assert_array_equal(found, interpret(module, inputs)[0])


def _is_input(type_: Attribute) -> bool:
    fields = type_.types if isinstance(type_, TupleType) else [type_]
    return all(map(is_tensor_type, fields))


@pytest.mark.slow
def test_programs_of_the_original():
    """Those that take tensors and can be interpreted."""
    seen: set[str] = set()
    tried = 0
    for record in records(DATA / "InferType.tests.jsonl.xz"):
        if record.after in seen or not any(source in record.source for source in SOURCES):
            continue
        seen.add(record.after)
        if "type GradCell" in record.after or "::test_loop" in record.source:
            continue  # It has the type already, or never ends.
        module = read_relay_text(record.after)
        if any(not _is_input(type_) for type_ in main_function(module).body.block.arg_types):
            continue
        inputs = inputs_of(module, tried)
        for pipeline in PIPELINES[:2]:
            require_same(module, after(module, *pipeline), inputs)
        tried += 1
    assert tried > 20
