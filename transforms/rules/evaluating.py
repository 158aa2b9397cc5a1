"""Operators on constants are computed by the interpreter, as long as what they give is not too large."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, i1
from xdsl.interpreter import Interpreter
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

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


def known_scalar(value: SSAValue) -> int | None:
    """
    An integer that `arith` computes of constants, and of elements of these, as machine code would; None for others, and for what
    does not fit in its type.
    """
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
        elif not isinstance(op, _FOLDED) or not _is_integer(each.type):
            return None
        elif missing := [operand for operand in op.operands if operand not in known]:
            stack += missing
        else:
            found = _integer(op, [known[operand] for operand in op.operands])
            if found is None:
                return None
            known[each] = found
    return known[value]


_FOLDED = (
    *(tensor.ExtractOp, arith.ConstantOp, arith.IndexCastOp, arith.CmpiOp, arith.SelectOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
)
"""What machine code computes of numbers. Predicates without signs, and results that wrap around, are left to that."""
_EQUALITY, _SIGNED = 2, 6
"""Predicates of `arith.cmpi` below are of equality, and also of numbers with signs, which bools have, too."""


def _is_integer(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType | IndexType)


def _is_plain(op: arith.CmpiOp) -> bool:
    """Whether a comparison is that of the numbers as they are."""
    return op.predicate.value.data < (_EQUALITY if op.lhs.type == i1 else _SIGNED)


def _integer(op: Operation, operands: Sequence[Any]) -> int | None:
    """What an operation gives; None for an element that is not there, and for what is left to machine code."""
    type_ = op.results[0].type
    width = type_.bitwidth if isinstance(type_, IntegerType) else 64
    if isinstance(op, tensor.ExtractOp):
        array, *indices = operands
        if not all(0 <= i < length for i, length in zip(indices, array.shape, strict=True)):
            return None
        found = array[tuple(indices)].item()
    elif isinstance(op, arith.ConstantOp):
        assert isinstance(op.value, IntegerAttr)
        found = op.value.value.data
    elif isinstance(op, arith.CmpiOp) and not _is_plain(op):
        return None
    else:
        (found,) = program_interpreter(ModuleOp([])).run_op(op, tuple(operands))
    # A bool that is true is -1 in attributes.
    number = int(found) & 1 if width == 1 else int(found)
    return number if width == 1 or -(1 << width - 1) <= number < 1 << width - 1 else None
