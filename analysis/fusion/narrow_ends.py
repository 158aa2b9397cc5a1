"""
Rule 44: a kernel that hands its result to another one with an anchor ends with what is smallest in memory.

    conv2d ─► round ─► cast ui8 ─┤44├─► cast f32 ─► multiply ─┐
    conv2d ──────────────────────────────────────────────────┴► add ─► relu

By Relay's rules the first group has all up to the multiply: `add` is in the group of the other convolution, which has
an anchor already. What only follows its result element by element belongs to that group as well, so that a value of
fewer bytes is written and read. Where groups end is found by fusing once; then all is fused again with these ends.
"""

from collections.abc import Iterator, Mapping

from xdsl.ir import Attribute, Operation

from xrelay.analysis.fusion.graph import BROADCAST, FusionNode, Refusal
from xrelay.analysis.fusion.groups import Partition
from xrelay.dialects.core.blob import element_bytes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import is_tensor_type, same_shape

ATTEMPTS = 2
"""So often all is fused again; then no group ends early."""


def narrowed(partition: Partition) -> Partition:
    """A partition of the same nodes, in which groups with anchors end as rule 44 says."""
    nodes, options = partition.nodes, partition.options
    found: Mapping[int, Refusal] = _ends(partition)
    if not found:
        return partition
    attempts = 0
    while True:
        ends = found if attempts < ATTEMPTS else dict[int, Refusal]()
        partition = Partition(nodes, options, ends)
        partition.sweep()
        # Limits may keep what follows out of the group that uses it: it would be a kernel of its own.
        found = {index: why for index, why in ends.items() if _is_taken(partition, nodes[index])}
        if len(found) == len(ends):
            return partition
        attempts += 1


def _ends(partition: Partition) -> Mapping[int, Refusal]:
    """The nodes with which groups end, and why no more joins them."""
    ends: dict[int, Refusal] = {}
    by_op = {node.op: node for node in partition.nodes}
    for root in partition.nodes:
        if _meets_an_anchor(partition, root):
            smallest = min((root, *_chain(partition, root, by_op)), key=_bytes)
            if smallest is not root:
                (edge,) = smallest.edges
                sentence = f"{edge.consumer.op.name} makes more bytes of it, and follows in the kernel that needs it"
                ends[smallest.index] = Refusal(44, sentence, culprit=edge.consumer.op)
    return ends


def _meets_an_anchor(partition: Partition, root: FusionNode) -> bool:
    """Whether a node ends a group with an anchor, and only another group with an anchor uses it."""
    refusal, dominator = root.refusal, root.dominator
    return (
        partition.root(root.index) == root.index
        and partition.anchors[root.index] is not None
        and refusal is not None
        and refusal.rule == 21
        and dominator is not None
        and len(root.edges) == 1
        and partition.anchors[partition.root(dominator.index)] is not None
        and is_tensor_type(root.op.results[0].type)
    )


def _chain(
    partition: Partition, root: FusionNode, by_op: Mapping[Operation, FusionNode]
) -> Iterator[FusionNode]:
    """The values of a group from which only what works element by element leads to its result, the last ones first."""
    node = root
    while node.kind <= BROADCAST:
        data = [value for value in node.op.operands if not isinstance(value.owner, ConstantOp)]
        if len(data) != 1 or not _are_alike(data[0].type, node.op.results[0].type):
            return
        owner = data[0].owner
        before = by_op.get(owner) if isinstance(owner, Operation) else None
        if before is None or len(before.edges) != 1 or before.extern is not None:
            return
        if partition.root(before.index) != root.index:
            return
        yield before
        node = before


def _are_alike(one: Attribute, other: Attribute) -> bool:
    """Whether two types are those of tensors of the same shape."""
    return (
        is_tensor_type(one)
        and is_tensor_type(other)
        and same_shape(one.get_shape(), other.get_shape())
    )


def _bytes(node: FusionNode) -> int:
    """What an element takes in memory."""
    type_ = node.op.results[0].type
    assert is_tensor_type(type_)
    return element_bytes(type_.element_type)


def _is_taken(partition: Partition, node: FusionNode) -> bool:
    """Whether what follows a node is in a group with an anchor."""
    (edge,) = node.edges
    return partition.anchors[partition.root(edge.consumer.index)] is not None
