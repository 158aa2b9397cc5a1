"""
What the code generator takes of a function beside operators on tensors: branches, and loops that carry tensors and
single numbers, and calls of functions with tensors. It takes no functions as values, data types, or references that branches
give.
"""

from math import prod

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, TupleType
from xdsl.dialects.scf import Scf
from xdsl.ir import Attribute, Operation

from xrelay.analysis.facts.names import operation_text
from xrelay.analysis.facts.scopes import SKIPPED_FUNCTIONS, has_flag
from xrelay.analysis.facts.symbols import Symbols
from xrelay.dialects.branches import handed_over
from xrelay.dialects.core.functional import AdtType, FnType, ForallType, TypeVarType
from xrelay.dialects.core.references import RefType
from xrelay.dialects.lengths import is_open_type
from xrelay.dialects.shapes import (
    HasNoCode,
    is_dynamic,
    is_integer_type,
    is_tensor_type,
    leaf_types,
    types_within,
)
from xrelay.lowering.program.operations import (
    CONTROL_FLOW,
    TERMINATORS,
    constant_number,
    is_scalar,
    program_ops,
)
from xrelay.lowering.program.registry import FUNCTIONS, INTERPRETER_ONLY

_NO_CODE = frozenset(Scf.operations) - {*CONTROL_FLOW, *TERMINATORS}


def check_flow(function: func.FuncOp) -> None:
    """
    Raises HasNoCode, with the place, for a function that is more than operators on tensors, branches and
    loops with types that stay.
    """
    _check_parameters(function)
    symbols = Symbols()
    for op in program_ops(function.body.block):
        _require(function, op, _why_no_code(op, symbols))


def called_functions(function: func.FuncOp) -> list[func.FuncOp]:
    """The functions with code that a function calls, and those that these call, in the order of the first call."""
    symbols = Symbols()
    found: dict[func.FuncOp, None] = {}
    pending = [function]
    for each in pending:
        for op in (op for block in each.body.blocks for op in program_ops(block)):
            called = _called(op, symbols) if isinstance(op, func.CallOp) else None
            if called is not None and called not in found:
                found[called] = None
                pending.append(called)
    return list(found)


def _called(op: func.CallOp, symbols: Symbols) -> func.FuncOp | None:
    """The function that is called and lowered with its caller, if it has code here."""
    called = symbols.lookup(op, op.callee.string_value())
    if not isinstance(called, func.FuncOp) or called.is_declaration:
        return None
    return None if has_flag(called, SKIPPED_FUNCTIONS) else called


def _calls_itself(op: func.CallOp, symbols: Symbols) -> bool:
    """Whether a call is of a function that calls itself, through others or not."""
    called = _called(op, symbols)
    return called is not None and called in called_functions(called)


def check_straight(function: func.FuncOp) -> None:
    """
    Raises HasNoCode, with the place, for a function of which engines run parts, and which is more than operators
    on tensors and calls of these parts.
    """
    _check_parameters(function)
    symbols = Symbols()
    for op in function.body.block.ops:
        reason = None
        if isinstance(op, CONTROL_FLOW):
            reason = "programs of which engines run parts take no control flow"
        elif isinstance(op, func.CallOp) and _calls_itself(op, symbols):
            reason = "programs of which engines run parts take no functions that call themselves"
        elif not isinstance(op, func.CallOp):
            reason = _why_no_code(op, symbols)
        _require(function, op, reason)


def _check_parameters(function: func.FuncOp) -> None:
    for arg in function.args:
        if _holds(arg.type, _FUNCTION_TYPES):
            raise HasNoCode(
                f"function '{function.sym_name.data}': parameter %{arg.name_hint or arg.index} is of "
                f"type {arg.type}, which has no code: {FUNCTIONS}"
            )


def _require(function: func.FuncOp, op: Operation, reason: str | None) -> None:
    """Raises HasNoCode when there is a reason why an operation has no code."""
    if reason is not None:
        raise HasNoCode(
            f"function '{function.sym_name.data}': {operation_text(op)} has no code: {reason}"
        )


def _why_no_code(op: Operation, symbols: Symbols) -> str | None:
    """Why an operation of a function cannot be lowered, as far as its kind and its types say."""
    match op:
        case scf.IfOp() | scf.ForOp() | scf.WhileOp():
            return _why_not(op)
        case func.CallOp():
            return _why_not_called(op, symbols)
        case tensor.ExtractOp():
            return _why_not_extracted(op)
        case tensor.FromElementsOp() if len(op.elements) != 1 or not is_scalar(op.elements[0].type):
            return "only a tensor of one integer is made of numbers"
        case tensor.InsertSliceOp():
            return None if _is_row(op) else "only one of the rows of a tensor can be replaced"
        case _ if type(op) in _NO_CODE:
            return (
                "the code generator takes no other control flow than scf.if, scf.for and scf.while"
            )
        case _:
            return FUNCTIONS if INTERPRETER_ONLY.get(type(op)) == FUNCTIONS else None


def _why_not(op: scf.IfOp | scf.ForOp | scf.WhileOp) -> str | None:
    """Why a branch or a loop cannot be lowered."""
    for what, expected, found in handed_over(op):
        if len(expected) != len(found):
            return f"{what} gives {len(found)} values, expected {len(expected)}"
        for i, (type_, value) in enumerate(zip(expected, found, strict=True)):
            if type_ != value.type:
                return f"value {i} that {what} gives is {value.type}, expected {type_}"
            if not is_scalar(type_) and not _holds_tensors(type_):
                return f"value {i} that {what} gives is {type_}, expected tensors or an integer"
    if isinstance(op, scf.ForOp):
        step = constant_number(op.step)
        if step is None or step < 1:
            return f"its step is {'not a constant' if step is None else step}, expected 1 or more"
    return None


def _why_not_called(op: func.CallOp, symbols: Symbols) -> str | None:
    """Why a call cannot be lowered."""
    if _called(op, symbols) is None:
        return "the function that it calls has no body here, or is for another compiler"
    for value in (*op.operands, *op.results):
        if not _holds_tensors(value.type):
            return f"a call takes or gives {value.type}, expected tensors"
        if any(is_dynamic(each) or is_open_type(each) for each in leaf_types(value.type)):
            return f"a call takes or gives {value.type}, which has a dimension that is not known"
    return None


def _why_not_extracted(op: tensor.ExtractOp) -> str | None:
    type_ = op.tensor.type
    if not is_tensor_type(type_) or not is_integer_type(type_.element_type):
        return f"the tensor is {type_}, expected one of integers"
    if is_dynamic(type_):
        return f"the tensor is {type_}, which has an unknown dimension"
    shape = type_.get_shape()
    for axis, (index, length) in enumerate(zip(op.indices, shape, strict=True)):
        number = constant_number(index)
        if number is None:
            return f"index {axis} is not a constant"
        if not 0 <= number < length:
            return f"index {axis} is {number}, expected 0 to {length - 1}"
    return None


def _is_row(op: tensor.InsertSliceOp) -> bool:
    """Whether a tensor of some rows gets another row, at an index."""
    source, target = op.source.type, op.dest.type
    if not is_tensor_type(source) or not is_tensor_type(target):
        return False
    if is_dynamic(source) or is_dynamic(target) or not target.get_shape():
        return False
    shape = target.get_shape()
    whole = (1, *shape[1:])
    return (
        len(op.offsets) == 1
        and not op.strides
        and tuple(op.static_offsets.get_values())[1:] == (0,) * (len(shape) - 1)
        and _sizes(op) == whole
        and set(op.static_strides.get_values()) == {1}
        and prod(source.get_shape()) == prod(whole)
    )


def _sizes(op: tensor.InsertSliceOp) -> tuple[int | None, ...]:
    """How much of each axis is written; None where that is not known."""
    computed = map(constant_number, op.sizes)
    return tuple(
        next(computed) if size == DYNAMIC_INDEX else size for size in op.static_sizes.get_values()
    )


_FUNCTION_TYPES = (AdtType, FnType, ForallType, TypeVarType)


def _holds(type_: Attribute, kinds: tuple[type[Attribute], ...]) -> bool:
    """Whether a type is one of some kinds, or a tuple with such a field."""
    return any(isinstance(part, kinds) for part in types_within(type_))


def _holds_tensors(type_: Attribute) -> bool:
    """Whether a type is that of a tensor, or of a tuple of such."""
    if isinstance(type_, TupleType):
        return not _holds(type_, (*_FUNCTION_TYPES, RefType))
    return is_tensor_type(type_)
