"""Every pass, with every value of its options, keeps the meaning of programs: the interpreter is the oracle."""

from collections.abc import Iterable
from itertools import islice

import numpy as np
import pytest
from graphs import difference
from guards.passes import GuardGraph, results_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz import themes
from tests.fuzz.fuzzer import Difference
from tests.fuzz.pass_pipelines import parsed
from tests.fuzz.pass_programs import (
    PROGRAMS,
    THEMED,
    Program,
    large_count,
    prepared,
    programs_for,
    scoped_programs_for,
    small_programs,
    themed_programs,
)
from tests.fuzz.pass_rows import pass_names, register_compilers, row, specs
from tests.fuzz.single_passes import check_alone, kinds_of
from xrelay.dialects.tensor.binary import AddOp, DivideOp, MultiplyOp, PowerOp, SubtractOp
from xrelay.transforms.simplify_expr import SimplifyExprPass

COPIES: dict[tuple[Program, tuple[str, ...]], ModuleOp] = {}
"""Of what `prepared` gives."""


def changes(name: str, spec: str, program: Program, turn: int | None = None) -> bool:
    """
    Whether a pass changes a program, which means the same afterwards: on all kinds of inputs on which it keeps results, or
    on one of them in turn.
    """
    register_compilers()
    before = prepared(program, row(name).before)
    (step,) = parsed(spec)
    kinds = kinds_of(step)
    wanted = kinds if turn is None else [kinds[turn % len(kinds)]]
    # What a pass leaves as it is serves the next one: copies take a fifth of the time.
    key = program, row(name).before
    copy = COPIES.pop(key, None) or before.clone()
    try:
        changed = check_alone(step, program.meaning, before, copy, wanted)
    except Difference as problem:
        pytest.fail(f"{spec} on {program.label}: {problem}\n{before}")
    if not changed:
        COPIES[key] = copy
    return changed


@pytest.mark.parametrize("name", pass_names())
def test_results_stay(name: str):
    variants = list(specs(name))
    found = [
        # Three themes follow each other.
        changes(name, variants[number // 3 % len(variants)], program)
        for number, program in enumerate(islice(programs_for(name), large_count(name)))
    ]
    assert any(found) == (not row(name).is_idle)


def check_each(name: str, programs: Iterable[Program]) -> None:
    """Checks the variants of a pass in turns, each of which goes through the kinds of inputs."""
    variants = list(specs(name))
    for number, program in enumerate(programs):
        changes(name, variants[number % len(variants)], program, number // len(variants))


@pytest.mark.slow
@pytest.mark.parametrize("name", pass_names())
def test_results_of_small_programs_stay(name: str):
    scoped = len(scoped_programs_for(name)) if row(name).takes_scopes else 0
    theme = row(name).theme
    own = themed_programs(theme, 3, THEMED) if theme in themes.THEMES else ()
    count = PROGRAMS - large_count(name) - scoped - len(own)
    assert len(small_programs()) >= count
    check_each(name, (*own, *small_programs()[:count]))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in pass_names() if row(name).takes_scopes])
def test_results_of_programs_with_scopes_stay(name: str):
    check_each(name, scoped_programs_for(name))


def test_exact_rules_keep_special_values():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38, -3e38, 1.5], np.float32)
    for seed in range(40):
        g = GuardGraph(seed)
        rng, x = g.rng, g.input(special)
        for _ in range(4):
            number = g.c(rng.choice([0, -0.0, 1, 2, 4, 0.5, np.inf, np.nan, -2]))
            match rng.integers(5):
                case 0:
                    x = g.op(AddOp(*(x, number)[:: rng.choice([1, -1])]))
                case 1:
                    x = g.op(MultiplyOp(*(x, number)[:: rng.choice([1, -1])]))
                case 2:
                    x = g.op(DivideOp(x, number))
                case 3:
                    x = g.op(SubtractOp(x, number))
                case _:
                    x = g.op(PowerOp(x, g.c(rng.choice([1, 2]))))
        g.returns(x)
        module = g.module()
        (expected,) = results_of(module, [special])
        SimplifyExprPass(rules="cpu").apply(Context(), module)
        (found,) = results_of(module, [special])
        assert difference(found, expected, 0) is None
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
