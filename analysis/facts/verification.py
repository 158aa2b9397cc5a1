"""
The checks of a program, without recursion and in time linear in its operations: xDSL's verifier calls itself for
every region, climbs from each operand to the function around it, and looks for functions one by one.
"""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from xrelay.analysis.facts.dominance import check_dominance, check_resolved
from xrelay.analysis.facts.scopes import Within
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.branches import check_handed_over


def verify_program(op: Operation) -> None:
    """
    What xDSL's verifier checks, and that values are defined before they are used: for programs that
    come from outside.

    Raises VerifyException.
    """
    check_resolved(op)
    verify(op)
    check_dominance(op)


def verify(op: Operation) -> None:
    """
    What xDSL's `op.verify()` checks, in its order: the operations within `op` before itself. And what
    branches and loops hand over, as MLIR does.

    Raises VerifyException.
    """
    symbols = Symbols()
    for each in walk(op, region_first=True):
        verify_alone(each, symbols)


def verify_alone(op: Operation, symbols: Symbols) -> None:
    """
    What xDSL's verifier checks of `op` and of its blocks, but not of the operations in these. `symbols` are
    those of the program.

    Raises VerifyException.
    """
    for region in op.regions:
        for block in region.blocks:
            if block.is_empty:
                block.verify()
    try:
        check_handed_over(op)
    except VerifyException as error:
        op.emit_error(str(error), error)
    if op.regions and op.has_trait(IsolatedFromAbove, value_if_unregistered=False):
        with _remembered_ancestors(op):
            op.verify(verify_nested_ops=False)
    elif op.has_trait(SymbolUserOpInterface, value_if_unregistered=False):
        with symbols.known_to(op):
            op.verify(verify_nested_ops=False)
    else:
        op.verify(verify_nested_ops=False)


@contextmanager
def _remembered_ancestors(op: Operation) -> Generator[None]:
    """
    Lets `op.is_ancestor`, which xDSL's IsolatedFromAbove asks about the owner of every operand, answer in constant
    time instead of climbing each time.
    """
    is_within = Within(lambda each: each is op)

    def is_ancestor(node: Operation | Block) -> bool:
        return node is op or is_within(node)

    vars(op)["is_ancestor"] = is_ancestor
    try:
        yield
    finally:
        vars(op).pop("is_ancestor", None)  # Another thread may verify the same program.
