"""The checks of a program that comes from outside."""

from xdsl.ir import Operation

from xrelay.analysis.dominance import check_dominance, check_resolved


def verify_program(op: Operation) -> None:
    """
    What xDSL's verifier checks, and that values are defined before they are used.

    Raises VerifyException.
    """
    check_resolved(op)
    op.verify()
    check_dominance(op)
