"""
What the functions of a fusion plan take: the values that each group gets from outside.

    %2 = add %x, %1 ─┐
    %3 = exp %2     ─┴► one group: takes %x and %1, returns %3, which is 3 arguments

A merge adds the smaller set of values to the larger one, so that all merges together take
O(n log n).

Source: CountArgs of Relay's FuseOps (TVM 0.14). It counts in the order in which it visits nodes and
errs upwards; this count is that of the groups as they are.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType
from xdsl.ir import Attribute, OpResult, SSAValue

from xrelay.analysis.fusion.graph import FusionNode
from xrelay.dialects.core.values import ConstantOp


def argument_count(type_: Attribute, *, strides: bool) -> int:
    """
    How many arguments of a function a value is: one for each tensor, and of dynamic tensors one for
    each unknown dimension and, with `strides`, for each stride.
    """
    count = 0
    pending = [type_]
    while pending:
        each = pending.pop()
        if isinstance(each, TupleType):
            pending.extend(each.types.data)
            continue
        count += 1
        if isinstance(each, TensorType):
            shape = each.get_shape()
            unknown = shape.count(DYNAMIC_INDEX)
            count += unknown + (len(shape) if unknown and strides else 0)
    return count


class Arguments:
    """
    The values that the groups of a partition get from outside, by the index of the group's root;
    constants are none with `link_params`. `root` finds the root of a node's group.
    """

    def __init__(self, nodes: Sequence[FusionNode], link_params: bool, root: Callable[[int], int]):
        self.nodes = nodes
        self.root = root
        self.index = {node.op: node.index for node in nodes}
        self.link_params = link_params
        self.inputs = [
            dict.fromkeys(each for each in node.op.operands if self._is_input(each))
            for node in nodes
        ]
        """The values that each group gets, in no order that means something."""
        self.sizes = [sum(map(_taken, inputs)) for inputs in self.inputs]
        """How many arguments they are."""
        self.returned = [
            sum(argument_count(each.type, strides=False) for each in node.op.results)
            for node in nodes
        ]
        """How many arguments the results of each group are."""

    def _is_input(self, value: SSAValue) -> bool:
        return not (self.link_params and isinstance(value.owner, ConstantOp))

    def source(self, value: SSAValue) -> int | None:
        """The root of the group that computes a value, None when it comes from another block."""
        index = self.index.get(value.op) if isinstance(value, OpResult) else None
        return None if index is None else self.root(index)

    def after_merge(self, parts: Sequence[int], sink: int, *, returned: int = 0) -> int:
        """
        How many arguments the group `sink` would have with the groups `parts` in it; `returned` is
        what it returns then besides its own result. Takes time in proportion to what `parts` take.
        """
        inside = {*parts, sink}
        size, known = self.sizes[sink] + self.returned[sink] + returned, self.inputs[sink]
        added: set[SSAValue] = set()
        for part in parts:
            for value in self.inputs[part]:
                if value not in known and value not in added and self.source(value) not in inside:
                    added.add(value)
                    size += _taken(value)
            size -= sum(_taken(each) for each in self.nodes[part].op.results if each in known)
        return size

    def merge(self, part: int, sink: int) -> None:
        """
        The group `part` joins `sink`, which nothing in `part` uses. Where several groups join, the
        last in program order comes first.
        """
        small, large, size = self.inputs[part], self.inputs[sink], self.sizes[sink]
        if len(small) > len(large):
            small, large, size = large, small, self.sizes[part]
        for value in small:
            if value not in large:
                large[value] = None
                size += _taken(value)
        for value in self.nodes[part].op.results:
            if value in large:
                del large[value]
                size -= _taken(value)
        self.inputs[sink], self.sizes[sink] = large, size
        self.inputs[part] = {}

    def copy(self, index: int, sink: int) -> None:
        """The group `sink` computes a node itself, of which it used the value."""
        inputs, op = self.inputs[sink], self.nodes[index].op
        for value in op.results:
            if value in inputs:
                del inputs[value]
                self.sizes[sink] -= _taken(value)
        for value in op.operands:
            if self._is_input(value) and value not in inputs and self.source(value) != sink:
                inputs[value] = None
                self.sizes[sink] += _taken(value)


def _taken(value: SSAValue) -> int:
    return argument_count(value.type, strides=True)
