"""A relay function under construction, compiled and compared with the NumPy interpreter."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
from guard_pages import guarded_run
from raw_calls import RawCode
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xrelay.analysis.facts.ports import entry_function
from xrelay.collector import collector_paused
from xrelay.compiler import build, kernel_options, run_passes
from xrelay.dialects.core.values import CompositeOp, FusedOp, YieldOp
from xrelay.dialects.shapes import leaf_count
from xrelay.interpreters.arrays import Array, type_of
from xrelay.interpreters.constants import constant_op
from xrelay.interpreters.numerics import is_float
from xrelay.interpreters.relay import interpret
from xrelay.lowering.program.program import Program, lower_function
from xrelay.options import CompileOptions
from xrelay.runtime.code import ModelCode
from xrelay.runtime.model import Model
from xrelay.transforms.dynamic_to_static import DynamicToStaticPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.legalize.legalize import LegalizePass
from xrelay.transforms.legalize.legalize_convolutions import LegalizeConvolutionsPass
from xrelay.transforms.legalize.legalize_layouts import LegalizeLayoutsPass
from xrelay.transforms.legalize.legalize_quantized_products import LegalizeQuantizedProductsPass

LEGALIZATION = (
    DynamicToStaticPass(),
    LegalizeQuantizedProductsPass(),
    LegalizeLayoutsPass(),
    LegalizePass(),
    LegalizeConvolutionsPass(unsafe=True),
)
"""The passes that replace operators without kernels."""

BITS = -1
"""The tolerance of operators that move elements: not even -0 becomes 0."""


@dataclass(frozen=True)
class Output:
    """A value that a graph returns."""

    value: SSAValue
    label: str
    tolerance: float
    """In units of the last place of the larger of 1 and the expected value; 0: equal numbers."""


class Graph:
    """A relay function that is built operator by operator, and its inputs."""

    def __init__(self, seed: int = 0):
        self.rng = np.random.default_rng(seed)
        self.block = Block()
        self.inputs: list[Any] = []
        self.outputs: list[Output] = []

    # -- values -------------------------------------------------------------------------------

    def numbers(self, dtype: Any, *shape: int) -> Array:
        """Random elements of all magnitudes, with the special ones of the dtype among them."""
        dtype, rng = np.dtype(dtype), self.rng
        if dtype.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            wide = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
            narrow = rng.integers(0 if info.min == 0 else -9, 10, shape).astype(dtype)
            special = rng.choice(np.array([0, 1, info.min, info.max, info.max // 2], dtype), shape)
            choice = rng.integers(0, 3, shape)
            return np.choose(choice, [wide, narrow, special]).astype(dtype).reshape(shape)
        info = ml_dtypes.finfo(dtype)
        special = np.array(
            [
                np.nan,
                np.inf,
                -np.inf,
                0.0,
                -0.0,
                1,
                -1,
                0.5,
                -2.5,
                3.5,
                float(info.max),
                float(info.min),
            ]
            + [float(info.smallest_subnormal), -float(info.tiny), float(info.eps), 1e4],
            dtype,
        )
        normal = (4 * rng.standard_normal(shape)).astype(dtype)
        return np.asarray(np.where(rng.random(shape) < 0.6, normal, rng.choice(special, shape)))

    def small(self, dtype: Any, *shape: int, low: int = -3, high: int = 4) -> Array:
        """Small whole numbers, of which sums of products are exact in every order."""
        dtype = np.dtype(dtype)
        low = 0 if dtype.kind in "ub" else low
        return np.asarray(self.rng.integers(low, high, shape)).astype(dtype)

    def input(self, value: Any) -> SSAValue:
        """A parameter with a value: an array, or a tuple of such values."""
        value = value if isinstance(value, tuple) else np.asarray(value)
        self.inputs.append(value)
        return self.block.insert_arg(value_type(value), len(self.block.args))

    def constant(self, array: Array) -> SSAValue:
        """A constant."""
        return self.op(constant_op(np.asarray(array)))

    # -- operators ----------------------------------------------------------------------------

    def op(self, op: Operation) -> SSAValue:
        """Adds an operation with one result."""
        self.block.add_op(op)
        return op.results[0]

    def returns(self, value: SSAValue, tolerance: float = 0) -> None:
        """Makes a value a result of the function."""
        owner = value.owner
        name = owner.name if isinstance(owner, Operation) else "argument"
        self.outputs.append(Output(value, f"{len(self.outputs)}: {name}", tolerance))

    def show(self, op: Operation, tolerance: float = 0) -> SSAValue:
        """Adds an operation whose result the function returns."""
        value = self.op(op)
        self.returns(value, tolerance)
        return value

    def fused(
        self,
        args: Sequence[SSAValue],
        build: Callable[..., SSAValue],
        *options: Any,
        reshape_only: bool = False,
        composite: str | None = None,
    ) -> SSAValue:
        """
        A `relay.fused`, or a `relay.composite` of that name, whose body
        `build(graph, *parameters, *options)` fills.
        """
        body, block = Block(arg_types=[arg.type for arg in args]), self.block
        self.block = body
        result = build(self, *body.args, *options)
        body.add_op(YieldOp(result))
        self.block = block
        if composite is not None:
            return self.op(CompositeOp(composite, args, Region(body), result.type))
        return self.op(FusedOp(args, Region(body), result.type, reshape_only=reshape_only))

    # -- comparison ---------------------------------------------------------------------------

    def module(self) -> ModuleOp:
        """The finished function as a module."""
        results = [output.value for output in self.outputs]
        if self.block.last_op is None or not isinstance(self.block.last_op, func.ReturnOp):
            self.block.add_op(func.ReturnOp(*results))
        type_ = FunctionType.from_lists(
            [arg.type for arg in self.block.args], [value.type for value in results]
        )
        if self.block.parent is None:
            self._module = ModuleOp([func.FuncOp("main", type_, Region(self.block))])
            self._module.verify()
        return self._module

    def check(self, target: str, threads: int = 1, *, optimized: bool = True) -> None:
        """
        Compiles once and compares every result with the interpreter's: by a team of all threads, and
        by one of a thread less, whose bits are the same. All buffers lie between pages that fault on
        access, flush with the one after them, then with the one before. See RawCode for `optimized`.
        """
        code = RawCode(self.code(target, threads), optimized=optimized)
        arrays = [array for value in self.inputs for array in leaves(value)]
        found = guarded_run(code, arrays, threads, at_end=True)
        problems = self.problems(self.expected(), found)
        assert not problems, f"target {target}\n{problems}"
        smaller = guarded_run(code, arrays, max(1, threads - 1), at_end=False)
        for output, one, other in zip(self.flat_outputs(), found, smaller, strict=True):
            assert one.tobytes() == other.tobytes(), f"target {target}\n{output.label}: other bits"

    def compile(self, target: str, threads: int = 1) -> Model:
        """The fused graph as machine code."""
        return Model.from_code(self.code(target, threads))

    @collector_paused()
    def code(
        self, target: str, threads: int = 1, excluded: frozenset[str] = frozenset()
    ) -> ModelCode:
        """The code of the fused graph, without the implementations that `excluded` names."""
        program = self.program(target, threads, excluded)
        return build(program, "test", CompileOptions(threads, target))

    def program(
        self, target: str, threads: int = 1, excluded: frozenset[str] = frozenset()
    ) -> Program:
        """
        The kernels of the fused graph. The passes that simplify programs do not run: they would
        replace the operators under test. Operators without kernels are replaced, though; layouts
        stay as they are when something is excluded, because implementations are chosen by them.
        """
        module = self.module().clone()
        legalization = [
            each
            for each in LEGALIZATION
            if not (excluded and isinstance(each, LegalizeLayoutsPass))
        ]
        run_passes(module, [*legalization, FuseOpsPass()])
        options = kernel_options(CompileOptions(threads, target))
        # Graphs of tests are small, and their kernels are to be shared.
        options = replace(options, excluded=excluded, shares_all=True)
        return lower_function(entry_function(module), options)

    def flat_outputs(self) -> list[Output]:
        """The outputs, one for each tensor of a tuple."""
        return [output for output in self.outputs for _ in range(leaf_count(output.value.type))]

    def expected(self) -> list[tuple[Output, Array]]:
        """What the interpreter computes, tuples flattened."""
        results = interpret(self.module(), self.inputs)
        return [
            (output, array)
            for output, value in zip(self.outputs, results, strict=True)
            for array in leaves(value)
        ]

    def problems(self, expected: list[tuple[Output, Array]], found: list[Array]) -> str:
        """What differs, a line for each result."""
        assert len(found) == len(expected)
        return "\n".join(
            f"{output.label} {[str(operand.type) for operand in _operands(output)]}: {problem}"
            for (output, array), other in zip(expected, found, strict=True)
            if (problem := difference(other, array, output.tolerance))
        )


def _operands(output: Output) -> Sequence[SSAValue]:
    owner = output.value.owner
    return owner.operands if isinstance(owner, Operation) else ()


def value_type(value: Any) -> Attribute:
    """The type of an array or of a tuple."""
    if isinstance(value, tuple):
        return TupleType(tuple(map(value_type, value)))
    return type_of(value)


def leaves(value: Any) -> Iterator[Array]:
    """The arrays in a value, from the left."""
    if isinstance(value, tuple):
        for field in value:
            yield from leaves(field)
    else:
        yield value


def difference(found: Array, expected: Array, tolerance: float) -> str | None:
    """What is wrong with `found`; None when it is right. See `Output.tolerance`."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
    if tolerance == BITS:
        bits = f"u{found.dtype.itemsize}"
        wrong = found.view(bits) != np.ascontiguousarray(expected).reshape(found.shape).view(bits)
    elif not is_float(found.dtype):
        wrong = (
            found.view(np.uint8) != expected.view(np.uint8)
            if found.dtype == bool
            else (found != expected)
        )
    else:
        with np.errstate(all="ignore"):
            wide = expected.astype(np.float64)
            unit = float(ml_dtypes.finfo(found.dtype).eps) * np.maximum(1, np.abs(wide))
            off = np.abs(found.astype(np.float64) - wide)
            same = (found == expected) | (np.isnan(found) & np.isnan(expected))
            wrong = ~(same | (np.isfinite(wide) & (off <= tolerance * unit)))
    if not wrong.any():
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return (
        f"{wrong.sum()} of {wrong.size} elements differ, at {where}: "
        f"{found[where]} instead of {expected[where]}"
    )
