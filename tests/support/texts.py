"""Programs that tests write as text."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xrelay.compiler import context


def parsed(text: str) -> ModuleOp:
    """A module in MLIR's text format, which verifies."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module
