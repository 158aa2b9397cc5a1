"""The rules of simplify-expr on random programs of all dtypes: the interpreter is the oracle."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from algebra_programs import random_program
from attribute_programs import DTYPES
from guards.passes import KINDS, results_of, values_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tests.fuzz.roundings import noisy_results, unexplained
from xrelay.interpreters.arrays import Array
from xrelay.tools.semantics import leaves
from xrelay.transforms.rules.rule_sets import RULE_SETS
from xrelay.transforms.simplify_expr import SimplifyExprPass

PROGRAMS = 100
"""For each set of rules."""


def noisy(module: ModuleOp, inputs: tuple[Any, ...], noise: Any) -> list[Array]:
    with np.errstate(all="ignore"):
        return [array for value in noisy_results(module, inputs, noise) for array in leaves(value)]


@pytest.mark.parametrize(("rules", "reassociate"), list(product(RULE_SETS, (False, True))))
def test_meaning_stays(rules: str, reassociate: bool):
    """NaN, infinities and zeros of both signs, too, where no option allows otherwise."""
    step = SimplifyExprPass(rules=rules, reassociate=reassociate, factor_polynomials=reassociate)
    changes = 0
    for seed in range(PROGRAMS // 2):
        graph = random_program(2 * seed + reassociate, DTYPES[seed % len(DTYPES)])
        before, types = graph.module(), graph.block.arg_types
        module = before.clone()
        step.apply(Context(), module)
        module.verify()
        if module.is_structurally_equivalent(before):
            continue
        changes += 1
        for kind in KINDS[:2] if reassociate else KINDS:
            rng = np.random.default_rng(seed)
            inputs = tuple(values_of(type_, kind, rng) for type_ in types)
            found, expected = results_of(module, inputs), results_of(before, inputs)
            for number, mask in unexplained(found, expected, partial(noisy, before, inputs)):
                raise AssertionError(
                    f"{seed}: result {number} on {kind}, {mask}\n{before}\n{module}"
                )
        once = module.clone()
        step.apply(Context(), module)
        assert module.is_structurally_equivalent(once), f"{seed} again\n{once}\n{module}"
    assert changes > PROGRAMS // 3
