"""
Rule 44: a kernel that hands its result to another one with an anchor ends with what is smallest in memory.

    conv2d ─► round ─► cast ui8 ─┤44├─► cast f32 ─► multiply ─┐
    conv2d ──────────────────────────────────────────────────┴► add ─► relu

By Relay's rules the first group has all up to the multiply: `add` is in the group of the other convolution, which has
an anchor already. What only follows its result element by element belongs to that group as well, so that a value of
fewer bytes is written and read. Where groups end is found by fusing once; then all is fused again with these ends.
"""

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import Operation

from xrelay.analysis.fusion.graph import BROADCAST, ELEMWISE, FusionNode, Refusal, have_one_shape
from xrelay.analysis.fusion.groups import FusionOptions, Partition
from xrelay.dialects.core.blob import element_bytes
from xrelay.dialects.core.values import ConstantOp
from xrelay.dialects.shapes import element_type_of, is_tensor_type

ATTEMPTS = 2
"""So often all is fused with ends, of which some may be of no use; then no group ends early."""


def narrowed(partition: Partition) -> Partition:
    """A partition of the same nodes, in which groups with anchors end as rule 44 says."""
    nodes, options = partition.nodes, partition.options
    ends = _ends(partition)
    if not ends:
        return partition
    for _ in range(ATTEMPTS):
        found = _swept(nodes, options, ends)
        # Limits may keep what follows out of the group that uses it: it would be a kernel of its own.
        left = {index: why for index, why in ends.items() if _is_taken(found, nodes[index])}
        if len(left) == len(ends):
            return found
        ends = left
    return _swept(nodes, options, {})


def _swept(
    nodes: Sequence[FusionNode], options: FusionOptions, ends: Mapping[int, Refusal]
) -> Partition:
    partition = Partition(nodes, options, ends)
    partition.sweep()
    return partition


def _ends(partition: Partition) -> dict[int, Refusal]:
    """The nodes with which groups end, and why no more joins them."""
    ends: dict[int, Refusal] = {}
    assert partition.arguments is not None
    for root in partition.nodes:
        if _meets_an_anchor(partition, root):
            smallest = min((root, *_chain(partition, root)), key=_bytes)
            if smallest is not root:
                (edge,) = smallest.edges
                sentence = (
                    f"{edge.consumer.op.name} makes more bytes of it, and follows in the kernel that "
                    "needs it"
                )
                ends[smallest.index] = Refusal(44, sentence, culprit=edge.consumer.op)
    return ends


def _meets_an_anchor(partition: Partition, root: FusionNode) -> bool:
    """
    Whether a node ends a group with an anchor, and one operator alone uses it, element by element, in another group
    with an anchor.
    """
    refusal, dominator = root.refusal, root.dominator
    return (
        partition.root(root.index) == root.index
        and partition.anchors[root.index] is not None
        and refusal is not None
        and refusal.rule == 21
        and root.path_kind is ELEMWISE
        and dominator is not None
        and len(root.edges) == 1
        and partition.anchors[partition.root(dominator.index)] is not None
        and is_tensor_type(root.op.results[0].type)
    )


def _chain(partition: Partition, root: FusionNode) -> Iterator[FusionNode]:
    """The values of a group from which only what works element by element leads to its result, the last ones first."""
    assert partition.arguments is not None
    node = root
    while node.kind <= BROADCAST:
        data = [value for value in node.op.operands if not isinstance(value.owner, ConstantOp)]
        if len(data) != 1 or not have_one_shape(data[0].type, node.op.results[0].type):
            return
        # The anchor is in front of all others: what leads to it stays in the group.
        owner = data[0].owner
        assert isinstance(owner, Operation)
        node = partition.nodes[partition.arguments.index[owner]]
        assert len(node.edges) == 1 and partition.root(node.index) == root.index
        yield node


def _bytes(node: FusionNode) -> int:
    """What an element takes in memory."""
    return element_bytes(element_type_of(node.op.results[0]))


def _is_taken(partition: Partition, node: FusionNode) -> bool:
    """Whether what follows a node is in a group with an anchor."""
    (edge,) = node.edges
    return partition.anchors[partition.root(edge.consumer.index)] is not None
