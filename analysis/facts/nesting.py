"""Which blocks are within which, in constant time for each question however deep they nest."""

from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from xrelay.analysis.facts.walking import blocks_in


@dataclass(frozen=True)
class Nesting:
    """The blocks within an operation, for as long as none is added or moved."""

    depths: dict[Block, int] = field(default_factory=dict[Block, int])
    """How many others are around each."""
    numbers: dict[Block, int] = field(default_factory=dict[Block, int])
    """Each block comes before those within it, and after these come the others."""
    sizes: dict[Block, int] = field(default_factory=dict[Block, int])
    """How many blocks there are within each, itself included."""

    @classmethod
    def of(cls, scope: Operation) -> "Nesting":
        """The blocks within `scope`."""
        found = cls()
        pending: list[tuple[Block | None, Block]] = [(None, block) for block in blocks_in(scope)]
        order: list[tuple[Block | None, Block]] = []
        while pending:
            around, block = pending.pop()
            order.append((around, block))
            found.depths[block] = 0 if around is None else found.depths[around] + 1
            found.numbers[block] = len(found.numbers)
            for op in block.ops:
                pending.extend((block, inner) for inner in blocks_in(op))
        for around, block in reversed(order):
            size = found.sizes[block] = found.sizes.get(block, 0) + 1
            if around is not None:
                found.sizes[around] = found.sizes.get(around, 0) + size
        return found

    def __contains__(self, block: Block) -> bool:
        """Whether a block is within the operation."""
        return block in self.numbers

    def encloses(self, outer: Block, inner: Block) -> bool:
        """Whether `inner` is `outer` or within one of its operations."""
        return 0 <= self.numbers[inner] - self.numbers[outer] < self.sizes[outer]


def block_of(value: SSAValue) -> Block:
    """The block in which a value of a program is defined."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    return block
