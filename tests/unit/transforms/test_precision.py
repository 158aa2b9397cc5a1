"""Products with fewer bits: what programs become, and that rounded values are shared as the pass says."""

import ml_dtypes
import numpy as np
import pytest
from attribute_programs import THEMES, random_program
from graphs import Graph
from guards.passes import main_function, results_of, values_of
from xdsl.context import Context
from xdsl.dialects.builtin import bf16

from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.pool.pool import MaxPool2DOp
from xrelay.dialects.relay import Relay
from xrelay.dialects.shapes import is_tensor_type
from xrelay.dialects.tensor.binary import AddOp
from xrelay.dialects.tensor.reshape import ReshapeOp
from xrelay.dialects.tensor.unary import CastOp, ExpOp, LogOp
from xrelay.transforms.quantize.narrow_weights import NarrowWeightsPass
from xrelay.transforms.quantize.reduce_precision import ReducePrecisionPass
from xrelay.transforms.quantize.store_rounded import SHORT_TYPES, StoreRoundedPass
from xrelay.transforms.quantize.widen_floats import WidenFloatsPass
from xrelay.transforms.rules.quantize.cpu_precision import CPU_LISTS, MOVES, WIDE_LISTS
from xrelay.transforms.rules.quantize.mixed_precision import Category


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("products", [True, False])
def test_programs_verify_and_keep_their_types(dtype: str, products: bool):
    step, changed = ReducePrecisionPass(dtype, products), 0
    for seed in range(9):
        graph = random_program(seed, THEMES[seed % 3], "float32")
        module, types = graph.module(), graph.block.arg_types
        after = module.clone()
        step.apply(Context(), after)
        after.verify()
        changed += not module.is_structurally_equivalent(after)
        assert main_function(after).function_type == main_function(module).function_type
        inputs = [values_of(each, "numbers", np.random.default_rng(seed)) for each in types]
        for found, expected in zip(
            results_of(after, inputs), results_of(module, inputs), strict=True
        ):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        once = after.clone()
        step.apply(Context(), after)
        assert after.is_structurally_equivalent(once)
    assert changed


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_programs_of_16_bits_compute_in_f32(dtype: str):
    """All but what moves tables and parameters; the second time there is nothing to do."""
    step, narrow = WidenFloatsPass(dtypes=(dtype,)), NarrowWeightsPass()
    allowed = ("cast", "constant", "ref_read", *WIDE_LISTS[Category.FOLLOW])
    for seed in range(9):
        graph = random_program(seed, THEMES[seed % 3], dtype)
        module, types = graph.module(), graph.block.arg_types
        after = module.clone()
        step.apply(Context(), after)
        after.verify()
        assert main_function(after).function_type == main_function(module).function_type
        short = SHORT_TYPES[dtype]
        for op in main_function(after).walk():
            is_short = [is_tensor_type(r.type) and r.type.element_type == short for r in op.results]
            name = op.name.removeprefix("relay.")
            assert not any(is_short) or name in allowed, name
        once = after.clone()
        step.apply(Context(), after)
        assert after.is_structurally_equivalent(once)
        narrow.apply(Context(), after)
        after.verify()
        inputs = [values_of(each, "numbers", np.random.default_rng(seed)) for each in types]
        wide, narrowed, rounded = (results_of(each, inputs) for each in (once, after, module))
        for found, same, expected in zip(wide, narrowed, rounded, strict=True):
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(found.view(np.uint16), same.view(np.uint16))


def test_rounded_weights_and_operands_are_what_is_multiplied():
    """Against the formula: operands rounded once, sums in f32."""
    g = Graph(3)
    x, weight, bias = (
        g.rng.standard_normal(s).astype(np.float32) for s in ((5, 33), (7, 33), (7,))
    )
    g.show(AddOp(g.op(DenseOp(g.input(x), g.constant(weight))), g.constant(bias)))
    for dtype, short in (("bfloat16", ml_dtypes.bfloat16), ("float16", np.float16)):
        for products in (True, False):
            module = g.module().clone()
            ReducePrecisionPass(dtype, products).apply(Context(), module)
            (found,) = results_of(module, [x])
            left = x.astype(short) if products else x
            exact = left.astype(np.float64) @ weight.astype(short).astype(np.float64).T + bias
            np.testing.assert_allclose(found, exact, rtol=1e-5, atol=1e-5)
            assert np.abs(found - (x.astype(np.float64) @ weight.T + bias)).max() > 1e-4


def test_weights_beyond_the_range_of_f16_stay():
    for largest, expected in ((65504.0, "f16"), (65505.0, "f32"), (np.inf, "f16")):
        g = Graph()
        g.show(
            DenseOp(g.input(g.small("float32", 2, 3)), g.constant(np.full((4, 3), largest, "f4")))
        )
        module = g.module()
        ReducePrecisionPass("float16", products=False).apply(Context(), module)
        (product,) = [op for op in module.walk() if op.name == "relay.nn.dense"]
        assert str(product.operands[1].type) == f"tensor<4x3x{expected}>"


def test_values_are_rounded_once_and_moved_exactly():
    """To round in front of what moves elements, or picks the largest, is to round behind it."""
    g = Graph(5)
    image = g.input(g.numbers("float32", 1, 2, 6, 6))
    value = g.op(ExpOp(image))
    pooled = g.op(MaxPool2DOp(value, (2, 2), strides=(2, 2)))
    g.show(CastOp(g.op(ReshapeOp(pooled, [2, 9])), bf16))
    g.show(LogOp(value))
    module = g.module().clone()
    StoreRoundedPass().apply(Context(), module)
    module.verify()
    (picked, logarithm), (expected, exact) = (
        results_of(each, g.inputs) for each in (module, g.module())
    )
    np.testing.assert_array_equal(picked.view(np.uint16), expected.view(np.uint16))
    with np.errstate(all="ignore"):
        rounded = np.log(np.exp(g.inputs[0]).astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_allclose(logarithm, rounded, rtol=1e-5, atol=1e-6)
    assert not np.array_equal(logarithm, exact, equal_nan=True)


def test_a_long_row_of_operators_takes_no_deep_calls():
    g = Graph()
    value = g.op(ExpOp(g.input(g.small("float32", 4, 4))))
    for i in range(3000):
        value = g.op(ReshapeOp(value, [16] if i % 2 else [2, 8]))
    g.show(CastOp(value, bf16))
    module = g.module()
    StoreRoundedPass().apply(Context(), module)
    names = [op.name for op in main_function(module).body.block.ops]
    assert names[:2] == ["relay.exp", "relay.cast"]


def test_lists_name_operators():
    known = {op.name.removeprefix("relay.") for op in Relay.operations}
    for lists in (CPU_LISTS, WIDE_LISTS):
        named = [name for names in lists.values() for name in names]
        assert {*MOVES, *named} <= known
        assert len(named) == len(set(named))
