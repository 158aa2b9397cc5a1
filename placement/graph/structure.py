"""
What a function computes, as text without names: equal for functions that compute the same in the same way.

Operators, attributes, types, and constants by value or digest are in it; names of values, functions and
places in models are not.
"""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import count

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

NAMES = ("global_symbol", "sym_name", "sym_visibility", "onnx.name")
"""Attributes that name things."""


def structure(function: func.FuncOp) -> str:
    """The text of a function."""
    numbers: dict[SSAValue, int] = {}
    return "\n".join(line for block in function.body.blocks for line in _block(block, numbers))


def structure_digest(function: func.FuncOp) -> str:
    """A digest of the text of a function."""
    return blake2b(structure(function).encode(), digest_size=16).hexdigest()


def _block(block: Block, numbers: dict[SSAValue, int]) -> Iterator[str]:
    fresh = count(len(numbers))
    numbers.update(zip(block.args, fresh, strict=False))
    yield f"({', '.join(str(arg.type) for arg in block.args)})"
    for op in block.ops:
        yield _operation(op, numbers)
        for result in op.results:
            numbers[result] = len(numbers)
        for region in op.regions:
            for inner in region.blocks:
                yield "{"
                yield from _block(inner, numbers)
                yield "}"


def _operation(op: Operation, numbers: dict[SSAValue, int]) -> str:
    stated = sorted({**op.attributes, **op.properties}.items())
    attributes = ", ".join(f"{name}={value}" for name, value in stated if name not in NAMES)
    operands = ", ".join(str(numbers[value]) for value in op.operands)
    types = ", ".join(str(result.type) for result in op.results)
    return f"{op.name}({operands}) [{attributes}] : {types}"
