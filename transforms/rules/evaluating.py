"""Operators on constants are computed by the interpreter, as long as what they give is not too large."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.interpreter import Interpreter
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.names import operation_text
from xrelay.dialects.base import RelayOp
from xrelay.dialects.lengths import is_open_type
from xrelay.dialects.limits import DEFAULT_LIMITS, Limits
from xrelay.dialects.shapes import is_addressable
from xrelay.interpreters.arrays import Array, held_elements, type_bytes
from xrelay.interpreters.relay import relay_interpreter

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
