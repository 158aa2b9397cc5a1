"""Operators on constants are computed by the interpreter, as long as what they give is not too large."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.interpreter import Interpreter
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import InterpretationError, PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.base import RelayOp
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.lengths import is_open_type
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.shapes import is_addressable
from xrelay.interpreters.arrays import Array, held_elements, type_bytes
from xrelay.interpreters.constants import constant_value
from xrelay.interpreters.relay import program_interpreter, relay_interpreter

REPEATED_BYTES = 1 << 28
"""Constants that repeat one number are stored as one; as operands they may be up to this large."""
_PARTIAL = (
    *(arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp),
    *(arith.CeilDivSIOp, arith.CeilDivUIOp, arith.FloorDivSIOp),
)
"""Arithmetic that has no result for some operands."""
MOST_BYTES = 1 << 31
"""Larger results are left to the running program, whatever they are computed from."""


@dataclass(frozen=True)
class Evaluator:
    """What computes constants."""

    max_bytes: int
    """Results up to this size are always computed, larger ones if their operands are as large."""
    limits: Limits = DEFAULT_LIMITS
    """Raises PassFailedException rather than compute what is larger."""
    interpreter: Interpreter = field(default_factory=relay_interpreter)

    def result(self, op: RelayOp, values: Sequence[Any]) -> Any | None:
        """What `op` gives for arrays, or tuples of them; None when that is left to the running program."""
        if op.undefined() is not None:
            return None
        operands = sum(map(byte_size, values))
        if operands > REPEATED_BYTES:
            held = sum(map(held_bytes, values))
            if operands - held > MOST_BYTES:
                return None  # Most operators would visit each repetition.
            operands = max(REPEATED_BYTES, held)
        limit = max(self.max_bytes, operands)
        # The operands may decide the shape, which the stated type need not say.
        result_type = op.infer_type()
        if is_open_type(result_type):
            return None
        needed = type_bytes(result_type)
        if needed > min(limit, MOST_BYTES) or not is_addressable(result_type):
            return None
        excess = self.limits.bytes_excess(needed)
        if excess is not None:
            raise PassFailedException(
                f"{operation_text(op)}: the constant that it gives has {excess}"
            )
        (result,) = self.interpreter.run_op(op, tuple(values))
        return None if byte_size(result) > limit else result


def byte_size(value: Any) -> int:
    """The bytes of an array, or of all arrays in a tuple."""
    if isinstance(value, tuple):
        return sum(map(byte_size, cast(tuple[Any, ...], value)))
    return cast(Array, value).nbytes


def held_bytes(value: Any) -> int:
    """`byte_size` of what is in memory: a constant of one number keeps a single element."""
    if isinstance(value, tuple):
        return sum(map(held_bytes, cast(tuple[Any, ...], value)))
    return held_elements(cast(Array, value)).nbytes


def known_scalar(value: SSAValue) -> int | float | None:
    """What a scalar of a program is that `arith` computes of constants, and of elements of these; None for others."""
    known: dict[SSAValue, Any] = {}
    stack = [value]
    while stack:
        each = stack[-1]
        op = each.owner
        if each in known:
            stack.pop()
        elif isinstance(op, ConstantOp):
            known[each] = constant_value(each)
            if known[each] is None:
                return None  # Its elements did not come with the text.
        elif not isinstance(op, Operation) or not _is_of_scalars(op):
            return None
        elif missing := [operand for operand in op.operands if operand not in known]:
            stack += missing
        else:
            results = _scalars(op, tuple(known[operand] for operand in op.operands))
            if results is None:
                return None
            known.update(zip(op.results, results, strict=True))
    return known[value]


def _scalars(op: Operation, operands: tuple[Any, ...]) -> Sequence[Any] | None:
    """What an operation gives; None where it gives nothing, as for an element that is not there."""
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return (op.value.value.data,)
    if isinstance(op, tensor.ExtractOp):
        array, *indices = operands
        is_there = all(0 <= i < length for i, length in zip(indices, array.shape, strict=True))
        return (array[tuple(indices)].item(),) if is_there else None
    try:
        return program_interpreter(ModuleOp([])).run_op(op, operands)
    except InterpretationError:
        return None  # The interpreter knows no such operation.


def _is_of_scalars(op: Operation) -> bool:
    """Whether an operation computes a scalar, whatever its operands are."""
    if isinstance(op, _PARTIAL):
        return False
    is_arithmetic = Dialect.split_name(op.name)[0] == arith.Arith.name
    return isinstance(op, tensor.ExtractOp) or (is_arithmetic and is_side_effect_free(op))
