"""What does not change in a loop is computed before it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from xrelay.lowering.emit.builder import KernelBuilder
from xrelay.lowering.emit.index import Index, Sum


@contextmanager
def before_loops(b: KernelBuilder, known: Sequence[Index]) -> Generator[None]:
    """
    Appends before as many of the open loops as leave the indices `known` visible, meanwhile. Not
    before a condition: what it guards may not be computed without.
    """
    values = [index.base if isinstance(index, Sum) else index for index in known]
    blocks = list(b.open_blocks)
    while len(blocks) > 1 and blocks[-1].args and not any(_is_in(v, blocks[-1]) for v in values):
        blocks.pop()
    with b.inside(blocks[-1]):
        yield


def _is_in(value: SSAValue | int, block: Block) -> bool:
    """Whether a block defines a value."""
    if isinstance(value, int):
        return False
    owner = value.owner
    return owner is block if isinstance(owner, Block) else owner.parent is block
