"""Programs as files: text, with the weights in another file beside it."""

from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from xrelay.analysis.facts.program_size import check_text
from xrelay.program_weights import supplied_weights
from xrelay.runtime.files import whole_file
from xrelay.tools.weights import keep_weights


def write_module(module: ModuleOp, path: Path) -> None:
    """
    Writes a module as text, and the bytes of its large constants into a file beside it.

    Raises DiagnosticException when the text would be too long: see `check_text`.
    """
    check_text(module)
    text = StringIO()
    Printer(text).print_op(module)
    text.write("\n")
    weights = supplied_weights(module)
    with whole_file(path) as temporary:
        temporary.write_text(text.getvalue())
        keep_weights(weights, path)
