"""What the hooks of compilers may do to functions that they are given."""

from collections.abc import Callable
from typing import TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import DiagnosticException, VerifyException

_ResultT = TypeVar("_ResultT")


def rewritten_by(
    compiler: str, function: func.FuncOp, hook: Callable[[ModuleOp], _ResultT]
) -> tuple[func.FuncOp, _ResultT]:
    """
    What a hook makes of a function that belongs to no module, and what it returns.

    Raises DiagnosticException when it removes the function, changes its type, adds other functions or leaves what does
    not verify.
    """
    symbol, type_ = function.sym_name.data, function.function_type
    module = ModuleOp([function])
    returned = hook(module)
    found = SymbolTable.lookup_symbol(module, symbol)
    if not isinstance(found, func.FuncOp) or found.function_type != type_:
        what = "removed" if found is None else "changed the type of"
        raise DiagnosticException(f"compiler '{compiler}' has {what} @{symbol}")
    if len(module.ops) > 1:
        raise DiagnosticException(
            f"compiler '{compiler}' has added functions to @{symbol}, which has to stay one"
        )
    try:
        module.verify()
    except VerifyException as error:
        raise DiagnosticException(
            f"compiler '{compiler}' has made @{symbol} wrong: {error}"
        ) from error
    found.detach()
    return found, returned
