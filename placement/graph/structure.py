"""
What a function computes, as text without names: equal for functions that compute the same in the same way.

Operators, attributes, types, and constants by value or digest are in it; names of values, functions and
places in models are not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from math import prod

from xdsl.dialects import func
from xdsl.ir import Operation, Region, SSAValue

from xrelay.dialects.core.values import ConstantOp

NAMES = ("global_symbol", "sym_name", "sym_visibility", "onnx.name")
"""Attributes that name things."""


SMALL_CONSTANT = 64
"""Constants of at most this many elements may be shapes and the like, which decide what is computed."""


def structure(function: func.FuncOp, *, all_constants: bool = True) -> str:
    """The text of a function. Without `all_constants`, large ones count by their types only."""
    return "\n".join(_Text(all_constants).of(function.body))


def structure_digest(function: func.FuncOp) -> str:
    """A digest of the text of a function."""
    return blake2b(structure(function).encode(), digest_size=16).hexdigest()


@dataclass
class _Text:
    all_constants: bool
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def of(self, region: Region) -> Iterator[str]:
        for block in region.blocks:
            for arg in block.args:
                self.numbers[arg] = len(self.numbers)
            yield f"({', '.join(str(arg.type) for arg in block.args)})"
            for op in block.ops:
                yield self.operation(op)
                for result in op.results:
                    self.numbers[result] = len(self.numbers)
                for inner in op.regions:
                    yield "{"
                    yield from self.of(inner)
                    yield "}"

    def operation(self, op: Operation) -> str:
        stated = sorted({**op.attributes, **op.properties}.items())
        if not self.all_constants and isinstance(op, ConstantOp) and _is_large(op):
            stated = []
        attributes = ", ".join(f"{name}={value}" for name, value in stated if name not in NAMES)
        operands = ", ".join(str(self.numbers[value]) for value in op.operands)
        types = ", ".join(str(result.type) for result in op.results)
        return f"{op.name}({operands}) [{attributes}] : {types}"


def _is_large(op: ConstantOp) -> bool:
    return prod(op.result.type.get_shape()) > SMALL_CONSTANT
