"""Where a program is wrong: the operation that does not verify, and its place in the text."""

from dataclasses import replace
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.lexer import Span

from xrelay.analysis.facts.dominance import DominanceError
from xrelay.analysis.facts.symbols import Symbols
from xrelay.analysis.facts.verification import verify_alone
from xrelay.analysis.facts.walking import walk

MOST_SHOWN = 200
"""Characters of an operation in a message."""

Places = dict[Operation, Span[str]]
"""Where operations begin in the text that they were read from."""


def invalid_operation(
    module: Operation, error: DiagnosticException
) -> tuple[Operation | None, DiagnosticException]:
    """
    The operation at which the verifier stopped with `error`, and what it says of that alone; None
    for what no single operation finds.
    """
    if isinstance(error, DominanceError):
        return error.operation, error
    symbols = Symbols()
    # The verifier's own order.
    for op in walk(module, region_first=True):
        try:
            verify_alone(op, symbols)
        except DiagnosticException as found:
            return op, found
    return None, error


def verify_failure(
    module: Operation,
    error: DiagnosticException,
    places: Places | None = None,
    line_offset: int = 0,
) -> str:
    """
    What the verifier says of a module, with the place of the operation: the line of the text that
    it was read from, or else the function and the operation itself. `line_offset` is how many
    lines of the file come before the text.
    """
    op, error = invalid_operation(module, error)
    message = f"operation does not verify: {str(error).strip()}"
    if op is None:
        return message
    if places and op in places:
        return replace(places[op], line_offset=line_offset).print_with_context(message).strip()
    return f"{message}\n  {_shown(op)}{_surroundings(op)}"


def _shown(op: Operation) -> str:
    text = StringIO()
    # An operation's own format may rely on what the verifier has just denied.
    Printer(text, print_generic_format=True).print_op(op)
    line = text.getvalue().partition("\n")[0]
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]} …"


def _surroundings(op: Operation) -> str:
    """The symbol, usually of a function, that an operation is in."""
    around = op.parent_op()
    while around is not None:
        if "sym_name" in around.properties:
            return f"\n  in {around.name} {around.properties['sym_name']}"
        around = around.parent_op()
    return ""
