"""
Inputs and outputs that lie in larger arrays of the caller, and outputs that grow over an input.

    past     tensor<b×h×n×d>  ──► strides c·h·d, c·d, d, 1       the first n of c rows
    present  concatenate(past, new)  ──► the same memory         the kernel computes the rows from n on alone
    present  scatter_nd(past, …)  ──► the same memory            the kernel writes the updates alone

Kernels read and write tensors in any format. What else reads such a tensor (names in other shapes, control flow,
copies of bytes) reads a row-major copy of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.ports import Port
from xrelay.dialects.lengths import certainly
from xrelay.dialects.shapes import same_shape
from xrelay.dialects.tensor.indexing import ScatterFamilyOp
from xrelay.dialects.tensor.transform import ConcatenateOp
from xrelay.dialects.tensor.unary import CopyOp
from xrelay.lowering.emit.evaluate import Leaf, leaf_shape
from xrelay.lowering.emit.format import Format, row_major
from xrelay.lowering.emit.group import group_of
from xrelay.lowering.operators.core.values import source_leaf, source_leaves
from xrelay.lowering.operators.tensor.joining import ROWS
from xrelay.lowering.program.on_demand import Rest
from xrelay.lowering.program.operations import PASSING_ON, calls_kernel, program_ops
from xrelay.lowering.program.selection import Choices
from xrelay.lowering.program.storage import leaves_of, origin
from xrelay.runtime.layouts import Growth, Layouts


@dataclass(frozen=True)
class CallerMemory:
    """What is peculiar about the memory of inputs and outputs."""

    formats: Mapping[Leaf, Format]
    """Of the tensors that do not lie row-major."""
    rests: Mapping[Leaf, Rest]
    """The outputs whose beginning is there already."""

    @property
    def fixed(self) -> frozenset[Leaf]:
        """The tensors that lie where they do, and in no other way."""
        return frozenset((*self.formats, *self.rests))


PLAIN = CallerMemory({}, {})


def prepare(
    function: func.FuncOp, layouts: Layouts, inputs: Sequence[Port], outputs: Sequence[Port]
) -> None:
    """
    Puts copies of what does not lie row-major between it and what reads it otherwise than by a kernel.

    Raises DiagnosticException for programs that take or return tuples.
    """
    block = function.body.block
    end = block.last_op
    assert end is not None
    if (len(block.args), len(end.operands)) != (len(inputs), len(outputs)):
        raise DiagnosticException(
            "parts of larger arrays are for programs whose inputs and outputs are tensors; this one takes or returns tuples"
        )
    _keep_apart(end, [_number(outputs, growth.output) for growth in layouts.growing])
    for growth in layouts.growing:
        number, source = _number(outputs, growth.output), _input(block, inputs, growth.input)
        if growth.axis is None and not _replaces(origin((end.operands[number], 0)), source):
            # What the input held is read until all is computed.
            end.operands[number] = _copy_before(end, number)
    laid: set[Leaf] = {_input(block, inputs, rows.name) for rows in layouts.inputs}
    own = [_number(outputs, rows.name) for rows in layouts.outputs]
    for number in own:
        value = end.operands[number]
        source = origin((value, 0))
        owner = source[0].owner
        computed = _computes(owner) and isinstance(owner, Operation) and owner.parent is block
        if not computed or source in laid or leaf_shape(source) != leaf_shape((value, 0)):
            end.operands[number] = _copy_before(end, number)
            source = (end.operands[number], 0)
        laid.add(source)
    for op in list(program_ops(block)):
        if isinstance(op, PASSING_ON) or _computes(op):
            continue
        for number, operand in enumerate(op.operands):
            if op is end and number in own:
                continue
            if any(origin(leaf) in laid for leaf in leaves_of(operand)):
                op.operands[number] = _copy_before(op, number)


def _keep_apart(end: Operation, growing: Sequence[int]) -> None:
    """Gives copies to the other outputs that return what an output is that grows: that lies where it grows."""
    for number in growing:
        grown = origin((end.operands[number], 0))
        for other, value in enumerate(end.operands):
            if other != number and origin((value, 0)) == grown:
                end.operands[other] = _copy_before(end, other)


def caller_memory(
    function: func.FuncOp,
    layouts: Layouts,
    choices: Choices,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
) -> CallerMemory:
    """
    How inputs and outputs of a prepared function lie.

    Raises DiagnosticException for an output that grows over an input, and is computed otherwise than by appending to it.
    """
    block, end = function.body.block, function.body.block.last_op
    assert end is not None
    returned = list(leaves_of(*end.operands))
    formats = {
        leaf: _rows_of(leaf_shape(leaf), rows.axis, layouts.capacities[rows.capacity])
        for leaf, rows in (
            *((_input(block, inputs, rows.name), rows) for rows in layouts.inputs),
            *(
                (origin(returned[_number(outputs, rows.name)]), rows)
                for rows in layouts.outputs
            ),
        )
    }  # fmt: skip
    rests: dict[Leaf, Rest] = {}
    for growth in layouts.growing:
        leaf = origin(returned[_number(outputs, growth.output)])
        source = _input(block, inputs, growth.input)
        if growth.axis is not None:
            rests[leaf] = _rest(leaf, source, growth, choices, is_strided=source in formats)
        elif _replaces(leaf, source):
            rests[leaf] = Rest(0, leaf_shape(leaf)[0])
    return CallerMemory(formats, rests)


def _replaces(leaf: Leaf, source: Leaf) -> bool:
    """Whether a kernel replaces elements of a tensor that nothing else reads: it may do so in its place."""
    op = leaf[0].owner
    if not isinstance(op, Operation) or not calls_kernel(op):
        return False
    group = group_of(op)
    scatter = group.result.owner
    if not isinstance(scatter, ScatterFamilyOp):
        return False
    args = dict(zip(group.params, group.args, strict=True))
    is_data = args.get(scatter.data) is source[0]
    return is_data and source[0].has_one_use() and scatter.data.has_one_use()


def _rest(leaf: Leaf, source: Leaf, growth: Growth, choices: Choices, *, is_strided: bool) -> Rest:
    """What is to be computed of an output that begins with an input."""
    op = leaf[0].owner
    refusal = DiagnosticException(
        f"input '{growth.input}' and output '{growth.output}' share memory, but the program does not compute the output "
        f"by appending to the input along axis {growth.axis}; expected arrays apart"
    )
    if not isinstance(op, Operation) or not calls_kernel(op):
        raise refusal
    group = group_of(op)
    value, number = source_leaf((group.result, leaf[1]))
    chosen = choices.get(op, ())
    if not isinstance(value.owner, ConcatenateOp) or any(
        (choice.is_anchor or choice.op is value.owner) and choice.implementation is not ROWS
        for choice in chosen
    ):
        raise refusal
    assert number == 0
    axis, (field, i) = value.owner.normalized_axis, source_leaves(value.owner.data)[0]
    args = dict(zip(group.params, group.args, strict=True))
    if field not in args or origin((args[field], i)) != source:
        raise refusal
    shape = leaf_shape((field, i))
    is_same = axis == growth.axis and same_shape(shape, leaf_shape(source))
    if not is_same and (is_strided or not certainly(prod(shape[:axis]), 1)):
        raise refusal
    return Rest(axis, shape[axis])


def _rows_of(shape: Sequence[int], axis: int, capacity: int) -> Format:
    """The first rows of a tensor with more of them."""
    whole = row_major((*shape[:axis], capacity, *shape[axis + 1 :]))
    return Format(tuple(shape), whole.strides, 0, whole.size)


def _computes(op: Operation | Block) -> bool:
    """Whether an operation is the call of a kernel, and no other name of what it is given."""
    return isinstance(op, Operation) and calls_kernel(op) and all(
        origin(leaf) == leaf for leaf in leaves_of(*op.results)
    )  # fmt: skip


def _copy_before(op: Operation, number: int) -> SSAValue:
    """A copy of an operand."""
    copy = CopyOp(op.operands[number])
    Rewriter.insert_op(copy, InsertPoint.before(op))
    return copy.result


def _input(block: Block, inputs: Sequence[Port], name: str) -> Leaf:
    """The tensor of an input."""
    return list(leaves_of(*block.args))[_number(inputs, name)]


def _number(ports: Sequence[Port], name: str) -> int:
    """The number of an input or output."""
    return [port.name for port in ports].index(name)
