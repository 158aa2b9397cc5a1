"""Passes that compute in other element types: what they change, and how far results move."""

from collections.abc import Sequence

import numpy as np
import pytest
from cases.quantize import CHANGED, KEPT, Case, Quantized
from guards.passes import KINDS, main_function, results_of, values_of
from xdsl.context import Context

from xrelay.transforms.quantize.fake_quantization_to_integer import FakeQuantizationToIntegerPass


def problem_of(case: Case, step: FakeQuantizationToIntegerPass, changes: bool) -> str | None:
    """What does not hold of a case, None when all does."""
    module = case.module(Quantized(len(case.name)))
    before = module.clone()
    step.apply(Context(), module)
    module.verify()
    if changes == module.is_structurally_equivalent(before):
        return f"{'stays' if changes else 'changes'}\n{module}"
    once = module.clone()
    step.apply(Context(), module)
    if not module.is_structurally_equivalent(once):
        return f"changes again\n{once}\n{module}"
    if changes and any(op.name == "relay.qnn.dequantize" for op in module.walk()):
        return f"numbers are left\n{module}"
    types = main_function(module).body.block.arg_types
    for kind in KINDS[: 1 + case.extremes]:
        rng = np.random.default_rng(7)
        inputs = [values_of(type_, kind, rng) for type_ in types]
        (found,), (expected,) = results_of(module, inputs), results_of(before, inputs)
        off = np.abs(found.astype(np.int64) - expected.astype(np.int64)).max(initial=0)
        if off > case.steps:
            return f"{off} steps off on {kind}\n{found}\n{expected}\n{module}"
    return None


@pytest.mark.parametrize(
    "changes, cases", [(True, CHANGED), (False, KEPT)], ids=["changed", "kept"]
)
def test_fake_quantization(changes: bool, cases: Sequence[Case]):
    step = FakeQuantizationToIntegerPass()
    problems = {case.name: text for case in cases if (text := problem_of(case, step, changes))}
    assert not problems, "\n\n".join(f"{name}: {text}" for name, text in problems.items())
