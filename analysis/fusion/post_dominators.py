"""
Post-dominators of a forward graph, and the highest kind on the way to them (rules 12, 13).

One sweep backwards builds the tree: the post-dominator of a node is the lowest common ancestor of
its users. Besides its parent every node has a *jump*, an ancestor further up, and keeps the
highest kind on both ways. A search for an ancestor takes the jump when it does not lead too far:
O(log n) steps, however long a skip connection is.

Source: Relay's FuseOps (DominatorTree), which climbs step by step; the jumps are those of E. Myers,
"An applicative random-access stack", Information Processing Letters 17 (1983).
"""

from collections.abc import Sequence

from xrelay.analysis.fusion.graph import ELEMWISE, OPAQUE, FusionNode
from xrelay.dialects.traits import OpPatternKind

_PLACES = 40
"""Bits of a step that hold the place of its culprit."""
_LAST = (1 << _PLACES) - 1


def find_post_dominators(nodes: Sequence[FusionNode]) -> None:
    """Sets `dominator`, `depth`, `path_kind` and `path_culprit` of every node."""
    tree = _Tree(len(nodes))
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


class _Tree:
    """
    A tree that grows downwards from a root that stands for no node. A *step* is what counts on
    the way from a node to its parent; for several steps their maximum counts.
    """

    def __init__(self, root: int):
        self.root = root
        self.depths = [0] * (root + 1)
        self.parents = [root] * (root + 1)
        self.steps = [0] * (root + 1)
        """The step from each node to its parent."""
        self.jumps = [root] * (root + 1)
        self.jump_steps = [0] * (root + 1)
        """The maximum of the steps from each node to its jump."""

    def add(self, index: int, parent: int, step: int) -> None:
        """Adds a leaf under `parent`."""
        depths, jumps = self.depths, self.jumps
        depths[index] = depths[parent] + 1
        self.parents[index] = parent
        self.steps[index] = step
        middle = jumps[parent]
        far = jumps[middle]
        if depths[parent] - depths[middle] == depths[middle] - depths[far]:
            jumps[index] = far
            step = max(step, self.jump_steps[parent], self.jump_steps[middle])
        else:
            jumps[index] = parent
        self.jump_steps[index] = step

    def common_ancestor(self, lhs: int, rhs: int) -> tuple[int, int]:
        """The lowest common ancestor, and the maximum of the steps from both up to it."""
        depths, parents, jumps = self.depths, self.parents, self.jumps
        if depths[lhs] < depths[rhs]:
            lhs, rhs = rhs, lhs
        step, depth = 0, depths[rhs]
        while depths[lhs] > depth:
            if depths[jumps[lhs]] >= depth:
                step = max(step, self.jump_steps[lhs])
                lhs = jumps[lhs]
            else:
                step = max(step, self.steps[lhs])
                lhs = parents[lhs]
        while lhs != rhs:  # At the same depth jumps lead to the same depth.
            if jumps[lhs] != jumps[rhs]:
                step = max(step, self.jump_steps[lhs], self.jump_steps[rhs])
                lhs, rhs = jumps[lhs], jumps[rhs]
            else:
                step = max(step, self.steps[lhs], self.steps[rhs])
                lhs, rhs = parents[lhs], parents[rhs]
        return lhs, step
