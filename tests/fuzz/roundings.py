"""
How far results may be apart because of roundings: what the interpreter gives when every operation
rounds differently.

Errors grow and are amplified in a graph, and where a number is rounded, compared or sorted a difference
in its last place becomes one that is arbitrarily large; no tolerance separates these from mistakes. So the
program is interpreted several times with small random errors in the operands and results of each
operation. A result that differs from the interpreter's has to lie in the range that these runs span.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ml_dtypes import finfo
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.interpreter import Interpreter
from xdsl.ir import Block, Operation, Region

from tests.fuzz.onnx.values import Array
from xrelay.analysis.facts.ports import entry_function
from xrelay.dialects.conv.conv import Conv2DOp, LaidOutConvolutionOp, TransposedConvolutionOp
from xrelay.dialects.core.functional import ClosureOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.nn.dense import DenseOp, MatrixProductOp
from xrelay.dialects.nn.norm import BatchNormOp, LogSoftmaxOp, SoftmaxOp
from xrelay.dialects.pool.adaptive import (
    AdaptiveAvgPool1DOp,
    AdaptiveAvgPool2DOp,
    AdaptiveAvgPool3DOp,
)
from xrelay.dialects.pool.pool import AvgPoolOp, GlobalAvgPool2DOp
from xrelay.dialects.shapes import is_float
from xrelay.dialects.tensor.binary import PowerOp
from xrelay.dialects.tensor.bits import ReinterpretOp
from xrelay.dialects.tensor.reduce import MeanOp, ProdOp, SumOp
from xrelay.dialects.tensor.unary import CastOp
from xrelay.interpreters import numerics
from xrelay.interpreters.core.functional import FunctionValue
from xrelay.interpreters.relay import program_interpreter

CLOSE = 8
"""Units of the last place within which numbers are the same without further ado."""
ROUNDS = (
    (4.0, 1.0, 10),
    (4.0, 1.0, 20),
    (32.0, 1.0, 40),
    (32.0, 0.2, 100),
    (4.0, 1.0, 200),
    (32.0, 1.0, 200),
)
"""
Errors in units of the last place, the share of values that have them, and the runs with them; the later only where
still in doubt. Where all values have errors, most runs of acosh(1) are NaN, and so is the maximum of some.
"""
PRODUCTS = (DenseOp, LaidOutConvolutionOp, MatrixProductOp, TransposedConvolutionOp)
"""Sums of products of the elements of two operands."""
AVERAGES = (
    *(AdaptiveAvgPool1DOp, AdaptiveAvgPool2DOp, AdaptiveAvgPool3DOp),
    *(AvgPoolOp, GlobalAvgPool2DOp, MeanOp),
)
SUMS = (*PRODUCTS, *AVERAGES, SumOp)
"""
Sums of what is proportional to the first operand. In another order of the terms parts may be infinite that are not, and
nothing may be left where large terms cancel.
"""
SMALL = 2.0**-8
"""A factor that makes numbers smaller, and changes nothing else of them."""
MARGIN = 2.0
"""By how many widths the range of the runs is widened."""


@dataclass
class Noise:
    """Random errors."""

    rng: np.random.Generator
    units: float
    share: float = 1.0
    """Of the values that have errors."""

    def on(self, value: Any, of_largest: bool = False, least: float = 0.0) -> Any:
        """A value with errors relative to each element, but to `least` at least, or to the largest."""
        if isinstance(value, tuple):
            fields: tuple[Any, ...] = value
            return tuple(self.on(field, of_largest, least) for field in fields)
        if (
            not isinstance(value, np.ndarray)
            or not numerics.is_float(value.dtype)
            or not value.size
            or (self.share < 1 and self.rng.random() >= self.share)
        ):
            return value
        info = finfo(value.dtype)
        wide = value.astype(np.float64)
        errors = self.units * self.rng.uniform(-1, 1, value.shape)
        size = np.maximum(np.abs(wide), least)
        if of_largest:
            size = np.full_like(wide, np.max(size[np.isfinite(size)], initial=0.0))
        subnormal = np.where(wide == 0, 0.0, float(info.smallest_subnormal))
        moved = wide + errors * np.maximum(float(info.eps) * size, subnormal)
        return np.where(np.isfinite(wide), moved, wide).astype(value.dtype)

    def flushed(self, array: Array) -> Array:
        """An array in which some numbers below twice the least normal one are zeros."""
        small = np.abs(array) < 2 * finfo(array.dtype).tiny
        return np.where(small & (self.rng.random(array.shape) < 0.5), array.dtype.type(0), array)

    def cancelled(self, array: Array, size: Array) -> Array:
        """
        Sums of numbers whose sizes add up to `size`, in which some of what errors may have left of them is nothing: a
        zero of either sign, as quotients by ever less than that have either sign.
        """
        wide = np.where(np.isfinite(size), size, 0).astype(np.float64)
        small = np.abs(array.astype(np.float64)) < self.units * float(finfo(array.dtype).eps) * wide
        zeros = self.rng.choice(np.array([0.0, -0.0], array.dtype), array.shape)
        return np.where(small & (self.rng.random(array.shape) < 0.5), zeros, array)

    def split(self, factors: Array) -> tuple[tuple[Array], tuple[Array]]:
        """
        Factors in two parts, with ones in the place of the others: some large ones, whose product may be
        infinite, and the rest, whose product may be zero.
        """
        large = (np.abs(factors) > 1) & (self.rng.random(factors.shape) < self.rng.random())
        return (np.where(large, factors, 1).astype(factors.dtype),), (
            np.where(large, 1, factors).astype(factors.dtype),
        )

    def wide(self, factors: Array) -> tuple[tuple[Array], tuple[Array]]:
        """Factors such that no part of their product is infinite or zero if it is not, and ones."""
        return (factors.astype(np.float64),), (np.ones_like(factors),)

    def signed_nan(self, array: Array) -> Array:
        """An array in which half of the NaNs have the other sign: docs/numerics.md leaves it open."""
        flipped = np.isnan(array) & (self.rng.random(array.shape) < 0.5)
        return np.where(flipped, -array, array)

    def whole(self, array: Array) -> Array:
        """
        An array in which the numbers that errors moved off a whole one are whole again: half of them, or all. A sum of
        many powers of negative numbers is a number in the latter case only.
        """
        near, info = np.rint(array), finfo(array.dtype)
        least = np.maximum(info.eps * np.abs(near), info.smallest_subnormal)
        moved = np.abs(array - near) <= 2 * self.units * least
        share = self.rng.choice((0.5, 1.0))
        return np.where(moved & (self.rng.random(array.shape) < share), near, array)


def noisy_results(module: ModuleOp, inputs: Sequence[Array], noise: Noise) -> tuple[Any, ...]:
    """What the main function of a program gives when its operations have errors."""
    block = entry_function(module).body.block
    values: dict[Any, Any] = dict(zip(block.args, inputs, strict=True))
    with np.errstate(all="ignore"):
        return noisy_block(program_interpreter(module), block, values, noise)


def noisy_block(
    interpreter: Interpreter, block: Block, values: dict[Any, Any], noise: Noise
) -> tuple[Any, ...]:
    """What the end of a block gets."""
    for op in block.ops:
        operands = tuple(values[operand] for operand in op.operands)
        if op is block.last_op:
            return operands
        if isinstance(op, scf.IfOp | scf.ForOp | scf.WhileOp):
            results = noisy_region(interpreter, op, values, noise)
        elif isinstance(op, ClosureOp):
            results = (noisy_function(interpreter, op, values, noise),)
        elif op.dialect_name() in ("arith", "tensor"):
            results = interpreter.run_op(op, operands)
        else:
            results = noisy_operation(interpreter, op, operands, noise)
        values.update(zip(op.results, results, strict=True))
    raise AssertionError("a block has no end")


def noisy_function(
    interpreter: Interpreter, op: ClosureOp, values: dict[Any, Any], noise: Noise
) -> FunctionValue:
    """A function value, whose operations have errors, too."""
    captured = dict(values)

    def call(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        given = (function, *inputs) if op.recursive else inputs
        known = captured | dict(zip(op.body.block.args, given, strict=True))
        return noisy_block(interpreter, op.body.block, known, noise)

    function = FunctionValue(call)
    return function


def noisy_region(
    interpreter: Interpreter,
    op: scf.IfOp | scf.ForOp | scf.WhileOp,
    values: dict[Any, Any],
    noise: Noise,
) -> tuple[Any, ...]:
    """What a branch or a loop gives."""

    def run(region: Region, *given: Any) -> tuple[Any, ...]:
        values.update(zip(region.block.args, given, strict=True))
        return noisy_block(interpreter, region.block, values, noise)

    operands = tuple(values[operand] for operand in op.operands)
    match op:
        case scf.IfOp():
            return run(op.true_region if operands[0] else op.false_region)
        case scf.ForOp():
            first, end, step, *carried = operands
            for count in range(first, end, step):
                carried = run(op.body, count, *carried)
            return tuple(carried)
        case scf.WhileOp():
            while True:
                goes_on, *passed = run(op.before_region, *operands)
                if not goes_on:
                    return tuple(passed)
                operands = run(op.after_region, *passed)


def noisy_operation(
    interpreter: Interpreter, op: Operation, operands: tuple[Any, ...], noise: Noise
) -> tuple[Any, ...]:
    """What an operator gives."""
    noisy = noisy_operands(op, operands, noise)
    if isinstance(op, ProdOp):
        parts = noise.split(*noisy) if noise.rng.random() < 0.7 else noise.wide(*noisy)
        (one,), (other,) = (interpreter.run_op(op, each) for each in parts)
        results = (np.asarray(one * other).astype(noisy[0].dtype),)
    else:
        results = interpreter.run_op(op, noisy)
    if isinstance(op, SUMS) and not are_finite(results) and noise.rng.random() < 0.5:
        # No part of the sum of smaller numbers is infinite.
        results = tuple(
            each * each.dtype.type(1 / SMALL)
            for each in interpreter.run_op(op, (noisy[0] * noisy[0].dtype.type(SMALL), *noisy[1:]))
        )
    if not is_exact(op):
        # docs/numerics.md: the logarithm of a sum that is nearly 1 has the errors of the sum.
        least = 1.0 if isinstance(op, LogSoftmaxOp) else 0.0
        results = tuple(noise.on(value, least=least) for value in results)
    if isinstance(op, BatchNormOp):
        # The compiler multiplies by a factor and adds a number, both rounded: what they leave may be exactly zero.
        ((data, *statistics),) = results
        data_size, scale, shift, mean = map(np.abs, noisy[:4])
        ((size, *_),) = interpreter.run_op(op, (data_size, scale, shift, -mean, noisy[4]))
        results = ((noise.cancelled(data, size), *statistics),)
    if isinstance(op, SUMS) and numerics.is_float(results[0].dtype):
        # The logarithm of nothing is minus infinity, and its powers may be infinite.
        (size,) = interpreter.run_op(op, tuple(map(np.abs, noisy)))
        results = (noise.cancelled(results[0], size),)
    if isinstance(op, SoftmaxOp):
        # docs/numerics.md: weights below twice the least normal number are zeros.
        results = tuple(map(noise.flushed, results))
    return results


def are_finite(arrays: Sequence[Array]) -> bool:
    """Whether all elements are numbers."""
    return all(np.isfinite(array).all() for array in arrays)


def noisy_operands(op: Operation, values: Sequence[Any], noise: Noise) -> tuple[Any, ...]:
    """
    The operands of an operation with errors. Constants of one number have none, nor exponents beyond
    those of what computes them. Other constants have: the compiler multiplies weights together.
    """
    # Winograd's algorithm has errors relative to the largest of a tile.
    of_largest = isinstance(op, Conv2DOp)
    exact = [
        isinstance(operand.owner, ConstantOp) and np.size(value) == 1
        for operand, value in zip(op.operands, values, strict=True)
    ]
    if isinstance(op, ReinterpretOp) and numerics.is_float(values[0].dtype):
        return (noise.signed_nan(noise.on(values[0])),)
    if isinstance(op, PowerOp):
        base, exponent = values
        if numerics.is_float(exponent.dtype) and not exact[1]:
            exponent = noise.whole(exponent)  # A negative number has whole powers only.
        return base if exact[0] else noise.on(base), exponent
    return tuple(
        value if is_constant else noise.on(value, of_largest)
        for value, is_constant in zip(values, exact, strict=True)
    )


def is_exact(op: Operation) -> bool:
    """Whether the results of an operation have no errors: constants, and integers as floats."""
    if isinstance(op, CastOp):
        type_ = op.data.type
        return isinstance(type_, TensorType) and not is_float(type_.element_type)
    return isinstance(op, ConstantOp)


def differing(found: Array, expected: Array, units: float = CLOSE) -> Array:
    """Where two arrays of a shape and dtype differ in more than the last places."""
    if not numerics.is_float(found.dtype):
        return found != expected
    info = finfo(found.dtype)
    with np.errstate(all="ignore"):
        wide, wanted = found.astype(np.float64), expected.astype(np.float64)
        bound = units * np.maximum(float(info.eps) * np.abs(wanted), float(info.smallest_subnormal))
        near = np.isfinite(wanted) & (np.abs(wide - wanted) <= bound)
        return ~(near | (wide == wanted) | (np.isnan(wide) & np.isnan(wanted)))


class Range:
    """What several runs span, element by element: integers exactly, and finite numbers apart from others."""

    def __init__(self, expected: Array):
        self.is_exact = not numerics.is_float(expected.dtype)
        wide = self._wide(expected)
        nothing = np.full(wide.shape, np.inf, wide.dtype)
        self.low, self.high = nothing, -nothing
        self.some_nan = self.some_high = self.some_low = np.zeros(wide.shape, bool)
        self.add(expected)

    def _wide(self, array: Array) -> Array:
        """The numbers as floats, or as Python's integers, which are of any size."""
        return array.astype(object if self.is_exact else np.float64)

    def add(self, array: Array) -> None:
        """Includes the result of a run."""
        wide = self._wide(array)
        if self.is_exact:
            self.low, self.high = np.minimum(self.low, wide), np.maximum(self.high, wide)
            return
        finite = np.isfinite(wide)
        self.low = np.where(finite, np.minimum(self.low, wide), self.low)
        self.high = np.where(finite, np.maximum(self.high, wide), self.high)
        self.some_nan = self.some_nan | np.isnan(wide)
        self.some_high = self.some_high | np.isposinf(wide)
        self.some_low = self.some_low | np.isneginf(wide)

    def has(self, found: Array) -> Array:
        """Where an array lies in the range."""
        wide = self._wide(found)
        if self.is_exact:
            margin = 0 if found.dtype.kind == "b" else int(MARGIN) * (self.high - self.low)
            inside = (wide >= self.low - margin) & (wide <= self.high + margin)
            return np.asarray(inside, bool)
        with np.errstate(all="ignore"):
            margin = np.where(self.high >= self.low, MARGIN * (self.high - self.low), 0.0)
            # Where a run overflows, or divides by zero, any large number of that sign is possible.
            low = np.where(self.some_low, -np.inf, self.low - margin)
            high = np.where(self.some_high, np.inf, self.high + margin)
            inside = (wide >= low) & (wide <= high)
        infinite = (np.isposinf(wide) & self.some_high) | (np.isneginf(wide) & self.some_low)
        return inside | infinite | (np.isnan(wide) & self.some_nan)


def unexplained(
    found: Sequence[Array],
    expected: Sequence[Array],
    run: Callable[[Noise], Sequence[Array]],
    units: float = CLOSE,
) -> Iterator[tuple[int, Array]]:
    """
    The results, and where in them, that roundings do not explain. `run` gives what is expected
    with errors. `units` of the last place are no difference.
    """
    wrong = {
        i: mask
        for i, pair in enumerate(zip(found, expected, strict=True))
        if (mask := differing(*pair, units)).any()
    }
    if not wrong:
        return
    ranges = {i: Range(expected[i]) for i in wrong}
    rng = np.random.default_rng(0)
    for errors, share, runs in ROUNDS:
        for _ in range(runs):
            results = run(Noise(rng, errors, share))
            for i, each in ranges.items():
                each.add(results[i])
        wrong = {i: wrong[i] & ~ranges[i].has(found[i]) for i in wrong}
        wrong = {i: mask for i, mask in wrong.items() if mask.any()}
        if not wrong:
            return
    yield from wrong.items()
