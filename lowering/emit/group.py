"""The operators that one kernel computes, whichever way the program states them."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.analysis.facts.names import fused_name
from xrelay.dialects.core.values import CalledBodyOp, CompositeOp, ConstantOp


@dataclass(frozen=True)
class Group:
    """Operators in program order that compute `result` from `params`."""

    params: tuple[SSAValue, ...]
    """The values that the operators use from outside, as they see them."""
    args: tuple[SSAValue, ...]
    """The same values as the surrounding program sees them."""
    ops: tuple[Operation, ...]
    result: SSAValue

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The values that the operators use from outside, and those that they compute."""
        return (*self.params, *(result for op in self.ops for result in op.results))

    @property
    def constants(self) -> tuple[ConstantOp, ...]:
        """Constants among the operators that need memory: further inputs of the kernel."""
        return tuple(
            op for op in self.ops if isinstance(op, ConstantOp) and number_of(op.result) is None
        )

    @cached_property
    def known(self) -> dict[SSAValue, ConstantOp]:
        """
        The constants in memory that exactly one operator of the group uses, as the operators see
        them: a kernel can ask for their elements in another order.
        """
        uses = Counter(operand for op in self.ops for operand in op.operands)
        sources = {
            **{op.result: op for op in self.constants},
            **dict(zip(self.params, map(constant_source, self.args), strict=True)),
        }
        return {value: op for value, op in sources.items() if op is not None and uses[value] == 1}

    def name(self) -> str:
        """`fused_` and the names of the operators, as Relay names kernels."""
        return fused_name(self.ops)

    def key(self) -> Hashable:
        """Equal for groups that the same kernel computes."""
        numbers = {value: number for number, value in enumerate(self.params)}
        ops = tuple(_op_key(op, numbers) for op in self.ops)
        types = tuple(value.type for value in numbers)
        known = tuple(numbers[value] for value in self.known)
        return types, ops, known, numbers[self.result]


def body_digest(op: CompositeOp) -> str:
    """The same for composites of the same operators, whatever their values are called."""
    numbers: dict[SSAValue, int] = {}
    lines: list[str] = []
    for value in op.block.args:
        numbers[value] = len(numbers)
    for inner in op.block.ops:
        operands = [numbers[operand] for operand in inner.operands]
        properties = [f"{name} = {value}" for name, value in sorted(inner.properties.items())]
        for result in inner.results:
            numbers[result] = len(numbers)
        lines.append(f"{inner.name} {operands} {properties}")
    types = [str(value.type) for value in numbers]
    text = "\n".join((*lines, *types))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def constant_source(value: SSAValue) -> ConstantOp | None:
    """The constant that a value is, also seen from inside of composites."""
    while isinstance(value, BlockArgument):
        op = value.owner.parent_op()
        if not isinstance(op, CompositeOp):
            return None
        value = op.args[value.index]
    return value.owner if isinstance(value.owner, ConstantOp) else None


def _op_key(op: Operation, numbers: dict[SSAValue, int]) -> Hashable:
    """Numbers what the operator computes, and inside of composites what their operators do."""
    operands = tuple(numbers[operand] for operand in op.operands)
    for result in op.results:
        numbers[result] = len(numbers)
    if isinstance(op, ConstantOp) and number_of(op.result) is None:
        # The kernel gets its elements as an argument.
        return (op.name, operands, None)
    properties: Sequence[tuple[str, Attribute]] = sorted(op.properties.items())
    if not isinstance(op, CompositeOp):
        return (op.name, operands, tuple(properties))
    for parameter in op.block.args:
        numbers[parameter] = len(numbers)
    body = tuple(_op_key(inner, numbers) for inner in op.block.ops)
    return (op.name, operands, tuple(properties), body)


def group_of(op: Operation) -> Group:
    """The group of a fused or composite operator, or of any other operator alone."""
    if isinstance(op, CalledBodyOp):
        inner = tuple(inner for inner in op.block.ops if inner is not op.block.last_op)
        return Group(tuple(op.block.args), tuple(op.args), inner, op.yielded)
    args = tuple(dict.fromkeys(op.operands))
    return Group(args, args, (op,), op.results[0])
