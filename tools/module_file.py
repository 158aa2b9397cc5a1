"""Programs as files: text, with the weights in another file beside it."""

from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute
from xdsl.printer import Printer
from xdsl.targets.mlir import MLIRTarget

from xrelay.analysis.facts.program_size import check_text
from xrelay.program_weights import supplied_weights
from xrelay.runtime.files import whole_file
from xrelay.tools.weights import keep_weights


@dataclass(eq=False, repr=False)
class TupleTypePrinter(Printer):
    """
    A printer that works the text of a tuple type out once. Tuples in tuples are spelled with all that is in them
    at each operation.
    """

    _texts: dict[int, tuple[TupleType, str]] = field(
        default_factory=dict[int, tuple[TupleType, str]]
    )
    """By identity, as comparing types recurses as deep; a type that is kept keeps its identity."""

    def print_attribute(self, attribute: Attribute) -> None:
        if not isinstance(attribute, TupleType):
            super().print_attribute(attribute)
            return
        if id(attribute) not in self._texts:
            text = StringIO()
            attribute.print_builtin(TupleTypePrinter(text, _texts=self._texts))
            self._texts[id(attribute)] = attribute, text.getvalue()
        self.print_string(self._texts[id(attribute)][1])


@dataclass(frozen=True)
class TextTarget(MLIRTarget):
    """xDSL's target `mlir`, in linear time."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """As in xDSL, with another printer unless colours are asked for."""
        if self.syntax_highlight:
            super().emit(ctx, module, output)
            return
        printer = TupleTypePrinter(
            output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)


def write_module(module: ModuleOp, path: Path) -> None:
    """
    Writes a module as text, and the bytes of its large constants into a file beside it.

    Raises DiagnosticException when the text would be too long: see `check_text`.
    """
    check_text(module)
    text = StringIO()
    TupleTypePrinter(text).print_op(module)
    text.write("\n")
    weights = supplied_weights(module)
    with whole_file(path) as temporary:
        temporary.write_text(text.getvalue())
        keep_weights(weights, path)
