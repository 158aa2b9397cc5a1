"""Passes that compute in other element types: what they change, and how far results move."""

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from attribute_programs import THEMES, random_program
from cases.quantize import CHANGED, KEPT, Case, Quantized, on, unary
from guards.passes import KINDS, main_function, results_of, values_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.utils.exceptions import PassFailedException

from tests.fuzz.roundings import noisy_results, unexplained
from tests.fuzz.scopes import with_scope
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.pool.pool import MaxPool1DOp
from xrelay.dialects.qnn.conversion import QnnQuantizeOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CosOp, ReluOp
from xrelay.interpreters.arrays import Array
from xrelay.tools.semantics import leaves
from xrelay.transforms.quantize.fake_quantization_to_integer import (
    ONE_BY_ONE,
    FakeQuantizationToIntegerPass,
)
from xrelay.transforms.quantize.to_mixed_precision import ToMixedPrecisionPass
from xrelay.transforms.rules.quantize.mixed_precision import FILLED, LISTS, SUMS


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


def rewritten(case: Case, step: FakeQuantizationToIntegerPass) -> list[str]:
    """The names of the operations after a pass."""
    module = case.module(Quantized(3))
    step.apply(Context(), module)
    module.verify()
    return [op.name for op in module.walk()]


def test_operators_that_are_asked_for():
    case = Case("pool", on(1, 2, 4, of=(unary(MaxPool1DOp, (2,)),)))
    step = FakeQuantizationToIntegerPass(optional_qnn_ops=("nn.max_pool1d",))
    assert problem_of(case, step, changes=True) is None
    with pytest.raises(
        PassFailedException, match="'optional-qnn-ops' has 'nn.relu', expected some of"
    ):
        rewritten(case, FakeQuantizationToIntegerPass(optional_qnn_ops=("nn.relu",)))


def test_operators_one_by_one():
    """Without an end that says what results stand for, they are numbers again, about the same ones."""
    step, changed = FakeQuantizationToIntegerPass(use_qat=True), 0
    for case in CHANGED:
        g = Quantized(len(case.name))
        g.returns(case.build(g))
        before, module = g.module(), g.module().clone()
        for _ in range(2):
            once = module.clone()
            step.apply(Context(), module)
            module.verify()
        assert module.is_structurally_equivalent(once)
        changed += not module.is_structurally_equivalent(before)
        inputs = [
            values_of(each, "numbers", np.random.default_rng(5)) for each in g.block.arg_types
        ]
        (found,), (expected,) = results_of(module, inputs), results_of(before, inputs)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1, err_msg=case.name)
    assert changed >= 30


def test_every_region_is_rewritten_once():
    """Values of which two regions know what they stand for are made once, others for each."""
    g = Quantized()
    product = g.op(DenseOp(g.q(2, 4), g.q(3, 4)))
    for scale in (4.0, 8.0):
        g.show(QnnQuantizeOp(product, g.c(scale), g.c(0, "int32"), out_dtype=i8))
    summed = g.op(AddOp(g.q(2), g.q(2)))
    for scale in (4.0, 8.0):
        g.show(QnnQuantizeOp(summed, g.c(scale), g.c(0, "int32"), out_dtype=i8))
    module = g.module()
    FakeQuantizationToIntegerPass().apply(Context(), module)
    names = [op.name for op in module.walk()]
    assert names.count("relay.qnn.dense") == 1
    assert names.count("relay.qnn.requantize") == names.count("relay.qnn.add") == 2


def test_long_chains():
    g = Quantized()
    value = g.q(2)
    for number in range(3000):
        value = g.op(ReluOp(value) if number % 2 else ReshapeOp(value, (2,)))
    g.show(QnnQuantizeOp(value, g.c(0.5), g.c(0, "int32"), out_dtype=i8))
    module = g.module()
    FakeQuantizationToIntegerPass(use_qat=True).apply(Context(), module)
    assert not any(op.name.startswith("relay.qnn.") for op in module.walk())


def mixed(module: ModuleOp, step: ToMixedPrecisionPass) -> ModuleOp:
    """What a pass makes of a program, which verifies; a second run changes nothing."""
    module = module.clone()
    step.apply(Context(), module)
    module.verify()
    once = module.clone()
    step.apply(Context(), module)
    assert module.is_structurally_equivalent(once), f"{once}\n{module}"
    return module


@pytest.mark.parametrize("theme", THEMES)
def test_more_bits_mean_the_same(theme: str):
    """With f64 for f32 results differ by roundings alone, special values and all."""
    step = ToMixedPrecisionPass("float64", 2, keep_orig_output_dtype=True)
    changed = 0
    for seed in range(8):
        module = random_program(seed, theme, "float32").module().clone()
        for _ in range(seed % 3):
            with_scope(module, Random(seed))
        types = main_function(module).body.block.arg_types
        after = mixed(module, step)
        changed += not module.is_structurally_equivalent(after)
        for kind in KINDS:
            rng = np.random.default_rng(seed)
            inputs = [values_of(type_, kind, rng) for type_ in types]
            found, expected = results_of(after, inputs), results_of(module, inputs)
            assert not list(unexplained(found, expected, partial(_noisy, module, inputs))), module
    assert changed


def _noisy(module: ModuleOp, inputs: Sequence[Any], noise: Any) -> list[Array]:
    with np.errstate(all="ignore"):
        return [array for value in noisy_results(module, inputs, noise) for array in leaves(value)]


def test_constants_fit_into_more_bits():
    g = Quantized()
    g.show(DenseOp(g.x(2, 3), g.c(np.full((2, 3), 3e38))))
    step = ToMixedPrecisionPass("float64", constants_only=True, rules="cpu")
    assert not mixed(g.module(), step).is_structurally_equivalent(g.module())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "f16"])
@pytest.mark.parametrize("sums", ["", "float32"])
def test_fewer_bits(dtype: str, sums: str):
    """Programs verify and can be run; parameters keep their types."""
    for seed in range(6):
        graph = random_program(seed, THEMES[seed % 3], "float32")
        module, types = graph.module(), graph.block.arg_types
        after = mixed(module, ToMixedPrecisionPass(dtype, 2, accumulation_type=sums))
        assert main_function(after).body.block.arg_types == types
        inputs = [values_of(type_, "numbers", np.random.default_rng(seed)) for type_ in types]
        expected = [array.shape for array in results_of(module, inputs)]
        assert [array.shape for array in results_of(after, inputs)] == expected


def test_lists_name_operators():
    known = {op.name for op in Relay.operations}
    named = [name for names in LISTS.values() for name in names]
    assert {f"relay.{name}" for name in (*named, *SUMS, *FILLED)} | ONE_BY_ONE <= known
    assert len(named) == len(set(named))


@pytest.mark.parametrize(
    "step, message",
    [
        (
            ToMixedPrecisionPass("int8"),
            "'mixed-precision-type' is 'int8', expected one of float16, ",
        ),
        (
            ToMixedPrecisionPass(accumulation_type="f8"),
            "'accumulation-type' is 'f8', expected one of",
        ),
        (ToMixedPrecisionPass(missing_op_mode=3), "'missing-op-mode' is 3, expected 0, 1 or 2"),
        (ToMixedPrecisionPass(always=("nn.none",)), "there is no operator 'nn.none'"),
        (
            ToMixedPrecisionPass(always=("exp",), never=("exp",)),
            "'exp' is named 2 times, expected once",
        ),
        (ToMixedPrecisionPass(missing_op_mode=0), r"how many bits these operators need: cos \(1\)"),
    ],
)
def test_refusals(step: ToMixedPrecisionPass, message: str):
    g = Quantized()
    g.show(CosOp(g.x(2)))
    with pytest.raises(PassFailedException, match=message):
        step.apply(Context(), g.module())
