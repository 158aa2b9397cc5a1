"""
Lowest common ancestors in a tree that grows.

Besides its parent every node has a *jump*, an ancestor further up, and keeps the maximum on both ways. A search for an
ancestor takes the jump when it does not lead too far: O(log n) steps, however deep the tree is.

Source: E. Myers, "An applicative random-access stack", Information Processing Letters 17 (1983).
"""


class AncestorTree:
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
