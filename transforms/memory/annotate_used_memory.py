"""
`annotate-used-memory`: how many bytes of tensors are alive while a primitive function runs.

    %0 = relay.fused %x : (tensor<4xf32>) -> tensor<4xf32> …   ──►   the same with {used_memory = [32 : i32]}

The function gets the attribute `io_used_memory`, the bytes of its parameters and results; each `relay.fused`, and each
`relay.closure` of a primitive function that is called, gets `used_memory`, a number for each call in the order of calls:
the bytes of all parameters and results that are computed before the call, or by it, and used by it or after it. Names
(`relay.let`) are no values of their own, a tuple takes the bytes of its fields beside them, and only tensors take any.

The functions are those of the module that are not for other compilers, of `functions`. Unknown dimensions, and calls
within branches, other functions or loops, are refused.

Source: Relay's AnnotateUsedMemory (TVM 0.11), which takes programs in A-normal form.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FixedBitwidthType,
    IntegerAttr,
    ModuleOp,
    TupleType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from xrelay.analysis.facts.suggestions import PassOptionError
from xrelay.analysis.facts.walking import walk
from xrelay.analysis.relay_pass import RelayPass
from xrelay.dialects.core.functional import LetOp
from xrelay.dialects.shapes import inner_tuples_first, is_tensor_type
from xrelay.transforms.rules.called_bodies import called_primitive, named

USED, IO_USED = "used_memory", "io_used_memory"
"""The attributes, as Relay names them."""


_BYTES = "xrelay.bytes"
"""What is kept with a tuple type, as tuples of shared tuples have very many parts."""


def number(count: int) -> IntegerAttr:
    """A number of bytes as an attribute, of 32 bits where they hold it."""
    return IntegerAttr(count, i32 if count < 2**31 else i64)


def bytes_of(type_: Attribute, what: str) -> int:
    """
    The bytes of a tensor, or of the tensors of a tuple; 0 of other values.

    Raises PassFailedException where dimensions are unknown.
    """

    def size(part: Attribute) -> int:
        if isinstance(part, TupleType):
            return vars(part)[_BYTES]
        if not is_tensor_type(part) or not isinstance(part.element_type, FixedBitwidthType):
            return 0
        if not part.has_static_shape():
            raise PassFailedException(f"{what} has type {part}, expected known dimensions")
        return prod(part.get_shape()) * part.element_type.size

    for each in inner_tuples_first((type_,), lambda each: _BYTES in vars(each)):
        vars(each)[_BYTES] = sum(map(size, each.types.data))
    return size(type_)


class Lifetimes:
    """From which operation of a block to which one each value lives, and how much there is at once."""

    def __init__(self, block: Block):
        self.ops = tuple(block.ops)
        first: dict[SSAValue, int] = dict.fromkeys(block.args, 0)
        last: dict[SSAValue, int] = {}
        for place, op in enumerate(self.ops):
            for inner in walk(op):
                if not isinstance(inner, LetOp):
                    last.update((named(operand), place) for operand in inner.operands)
            if not isinstance(op, LetOp):
                first.update((result, place) for result in op.results)
        change = [0] * (len(self.ops) + 1)
        for value, begin in first.items():
            if value in last:
                size = bytes_of(value.type, "a value")
                change[begin] += size
                change[last[value] + 1] -= size
        self.alive = list(accumulate(change[:-1]))
        """The bytes at each operation."""


def annotate(function: func.FuncOp) -> None:
    """Annotates a function and the primitive functions that it calls."""
    block = function.body.block
    returned = block.last_op
    assert returned is not None
    types = (*function.function_type.inputs, *returned.operand_types)
    io_bytes = sum(bytes_of(type_, f"@{function.sym_name.data}") for type_ in types)
    _refuse_calls_within(block, function.sym_name.data)
    lifetimes = Lifetimes(block)
    used: dict[Operation, list[IntegerAttr]] = defaultdict(list)
    for op, alive in zip(lifetimes.ops, lifetimes.alive, strict=True):
        called = called_primitive(op)
        if called is not None:
            used[called].append(number(alive))
    for called, numbers in used.items():
        called.attributes[USED] = ArrayAttr(numbers)
    function.attributes[IO_USED] = number(io_bytes)


def _refuse_calls_within(block: Block, name: str) -> None:
    others = (op for op in block.ops if called_primitive(op) is not op)
    inner = (each for op in others for region in op.regions for each in walk(region))
    if any(called_primitive(each) is not None for each in inner):
        raise PassFailedException(
            f"@{name} calls a primitive function within another "
            "operation, expected calls one after the other"
        )


@dataclass(frozen=True)
class AnnotateUsedMemoryPass(RelayPass):
    """Says how many bytes are alive at calls of primitive functions."""

    name = "annotate-used-memory"

    functions: tuple[str, ...] = ("main",)
    """The functions of the module whose calls are annotated."""

    def rewrite(self, op: ModuleOp) -> None:
        found = {each.sym_name.data: each for each in op.body.ops if isinstance(each, func.FuncOp)}
        for name in self.functions:
            if name not in found or not found[name].body.blocks:
                raise PassOptionError(
                    f"the module has no function @{name} with a body, "
                    f"it has {', '.join(f'@{each}' for each in found) or 'none'}"
                )
            if len(found[name].body.blocks) > 1:
                raise PassFailedException(
                    f"@{name} has {len(found[name].body.blocks)} blocks, expected one"
                )
            annotate(found[name])
