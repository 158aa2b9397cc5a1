"""How operands are exchanged. Light: passes that need no arrays use it."""

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation, SSAValue


def exchange_operands(ops: Iterable[Operation], replaced: Mapping[SSAValue, SSAValue]) -> None:
    """
    Puts values in the place of others, for all operands of an operation at once: a single new operand
    costs xDSL a pass over all of them, and a tuple may have thousands.
    """
    for op in ops:
        if any(operand in replaced for operand in op.operands):
            op.operands = [replaced.get(operand, operand) for operand in op.operands]
