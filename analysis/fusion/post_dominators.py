"""
Post-dominators of a forward graph, and the highest kind on the way to them (rules 12, 13).

One sweep backwards builds the tree: the post-dominator of a node is the lowest common ancestor of
its users.

Source: Relay's FuseOps (DominatorTree), which climbs step by step.
"""

from collections.abc import Sequence

from xrelay.analysis.facts.ancestors import AncestorTree
from xrelay.analysis.fusion.graph import ELEMWISE, OPAQUE, FusionNode
from xrelay.dialects.traits import OpPatternKind

_PLACES = 40
"""Bits of a step that hold the place of its culprit."""
_LAST = (1 << _PLACES) - 1


def find_post_dominators(nodes: Sequence[FusionNode]) -> None:
    """Sets `dominator`, `depth`, `path_kind` and `path_culprit` of every node."""
    tree = AncestorTree(len(nodes))
    for node in reversed(nodes):
        parent, step = tree.root, 0
        if node.extern is not None:
            step = OPAQUE << _PLACES
        elif node.edges:
            parent = node.edges[0].consumer.index
            for consumer, kind in node.edges:
                # The greatest step has the highest kind, and the first place among equal ones.
                step = max(step, (kind << _PLACES) | (_LAST - consumer.index))
                parent, climbed = tree.common_ancestor(parent, consumer.index)
                step = max(step, climbed)
        tree.add(node.index, parent, step)
        node.depth = tree.depths[node.index]
        node.path_kind = OpPatternKind(step >> _PLACES) if step else ELEMWISE
        if parent != tree.root:
            node.dominator = nodes[parent]
            node.path_culprit = nodes[_LAST - (step & _LAST)]
