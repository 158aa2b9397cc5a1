"""
How much arithmetic operators do. All who count it do so here: the estimates of kernels and backends, profiles,
`xrelay explain`, `xrelay partition` and the benchmarks.

Source: Relay's mac_count, which knows conv2d, conv2d_transpose, dense and batch_matmul, and takes the product of a
transposed convolution for one of as many elements as the result has.
"""

from collections import Counter
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xrelay.analysis.facts.call_graph import CallGraph
from xrelay.analysis.facts.ports import entry_function
from xrelay.analysis.facts.walking import walk
from xrelay.dialects.base import RelayOp
from xrelay.dialects.conv.conv import LaidOutConvolutionOp, TransposedConvolutionOp
from xrelay.dialects.conv.gradient import Conv2DBackwardWeightOp
from xrelay.dialects.conv.winograd import (
    ContribConv2DWinogradWithoutWeightTransformOp,
    ContribConv3DWinogradWithoutWeightTransformOp,
)
from xrelay.dialects.core.adt import ADT_OPS
from xrelay.dialects.core.failure import FAILURE_OPS
from xrelay.dialects.core.functional import FUNCTIONAL_OPS, GlobalVarOp
from xrelay.dialects.core.references import REFERENCE_OPS
from xrelay.dialects.core.values import (
    CORE_OPS,
    CalledBodyOp,
    ConstantOp,
    TupleGetItemOp,
    TupleOp,
    YieldOp,
)
from xrelay.dialects.lengths import is_open
from xrelay.dialects.nn.correlation import DeformableConv2DOp
from xrelay.dialects.nn.dense import ContribDensePackOp, DenseOp, MatrixProductOp
from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.dialects.qnn.conversion import QnnDequantizeOp, QnnQuantizeOp
from xrelay.dialects.qnn.products import QnnProductOp
from xrelay.dialects.shapes import leaf_types
from xrelay.dialects.tensor.layout import Layout

LANGUAGE = (*ADT_OPS, *CORE_OPS, *FAILURE_OPS, *REFERENCE_OPS, *FUNCTIONAL_OPS)
"""Operations that are no operators in Relay."""


def multiply_adds(op: Operation) -> int:
    """
    The products that a convolution, a transposed one, or a matrix product adds up, those with padding
    too; of `relay.fused` and `relay.composite` those of the body; 0 for other operators. Convolutions of
    transformed weights count as what they compute.

    Raises DiagnosticException for a shape that is not known.
    """
    match op:
        case CalledBodyOp():
            return sum(map(multiply_adds, op.block.ops))
        case LaidOutConvolutionOp():
            _, _, layout = op.layouts
            out_channels, *filters = op.weight_shape
            return _positions(op, layout) * out_channels * prod(filters)
        case DeformableConv2DOp():
            _, kernels, layout = op.layouts
            lengths = kernels.lengths(_shape(op, 2))
            return _positions(op, layout) * prod(lengths.values())
        case TransposedConvolutionOp():
            _, kernels, _ = op.layouts
            taken = kernels.lengths(_shape(op, 1))[op.KERNEL_LAYOUT[0]]
            return prod(_shape(op, 0)) * prod(_shape(op, 1)) // taken if taken else 0
        case (
            ContribConv2DWinogradWithoutWeightTransformOp()
            | ContribConv3DWinogradWithoutWeightTransformOp()
        ):
            images, _ = op.image_layouts
            return _results(op) * images.lengths(_shape(op, 0))["C"] * prod(op.taps())
        case Conv2DBackwardWeightOp():
            grads, _, _ = op.layouts
            lengths = grads.lengths(_shape(op, 0))
            return _results(op) * lengths["N"] * lengths["H"] * lengths["W"]
        case DenseOp() | ContribDensePackOp() | QnnDenseBlocksOp():
            return _results(op) * _shape(op, 0)[-1]
        case MatrixProductOp():
            return _results(op) * _shape(op, 0)[-2 if op.transpose_a.value.data else -1]
        case QnnProductOp():
            factors = Block(arg_types=op.operand_types[:2]).args
            return multiply_adds(op.integer_product(*factors))
        case _:
            return 0


def _shape(op: Operation, operand: int) -> tuple[int, ...]:
    return leaf_types(op.operand_types[operand])[0].get_shape()


def _results(op: Operation) -> int:
    """The elements of an operator's results."""
    return sum(prod(type_.get_shape()) for type_ in leaf_types(op.results[0].type))


def _positions(op: Operation, layout: Layout) -> int:
    """The positions of windows in all images, by the result of a convolution."""
    lengths = layout.lengths(leaf_types(op.results[0].type)[0].get_shape())
    return prod(length for name, length in lengths.items() if name != "C")


def operation_count(op: Operation) -> int:
    """
    The operations of an operator: of `multiply_adds` two for each; one for each element of the result
    of any other operator. `relay.fused` and `relay.composite` have those of the body.

    Raises DiagnosticException for a shape that is not known.
    """
    if isinstance(op, ConstantOp | YieldOp):
        return 0
    if isinstance(op, CalledBodyOp):
        return sum(map(operation_count, op.block.ops))
    count = multiply_adds(op)
    return 2 * count if is_open(count) or count else _results(op)


@dataclass
class OperatorUse:
    """The calls of an operator in a program."""

    name: str
    """As in Relay: nn.conv2d."""
    calls: int = 0
    multiply_adds: int | None = 0
    """Those of all calls; None when the shapes of one are not known."""
    fake_quantized: int = 0
    """The calls between `qnn.dequantize` and `qnn.quantize`."""


def operator_uses(module: ModuleOp) -> list[OperatorUse]:
    """
    The operators that one run of the entry function calls, those that other functions of the module do for
    it too, in the order of their first calls. Both branches of a conditional count, and the
    rounds of recursion and loops do not.

    Source: Relay's ExtractOperators, mac_count, and ExtractFakeQuantizedOps, which counts a call for each
    quantization that needs it.
    """
    graph = CallGraph.of_module(module)
    entry = entry_function(module).sym_name.data
    runs = Counter({entry: 1})
    found: dict[str, OperatorUse] = {}
    for name in reversed(graph.callees_first()):
        times = runs[name]
        if not times:
            continue
        fake = fake_quantized(graph.functions[name])
        for op in walk(graph.functions[name]):
            match op:
                case func.CallOp():
                    runs[op.callee.string_value()] += times
                case GlobalVarOp():
                    runs[op.function.string_value()] += times
                case _ if isinstance(op, LANGUAGE):
                    pass
                case RelayOp():
                    _add(found, op, times, op in fake)
                case _:
                    pass
    return list(found.values())


def _add(found: dict[str, OperatorUse], op: RelayOp, times: int, is_fake: bool) -> None:
    name = op.name.removeprefix("relay.")
    use = found.setdefault(name, OperatorUse(name))
    use.calls += times
    use.fake_quantized += times * is_fake
    try:
        if use.multiply_adds is not None:
            use.multiply_adds += times * multiply_adds(op)
    except DiagnosticException:
        use.multiply_adds = None


def fake_quantized(root: Operation) -> set[Operation]:
    """
    The operators that some `qnn.quantize` within an operation needs, down to dequantized values and constants. Of a
    quantization that needs anything else, as an input or a call, none count.
    """
    closed: set[SSAValue] = set()
    """Values that are computed of dequantized ones and constants alone."""
    needed: list[SSAValue] = []
    for op in walk(root):
        match op:
            case QnnDequantizeOp() | ConstantOp():
                closed.update(op.results)
            case QnnQuantizeOp(data=data):
                if data in closed:
                    closed.update(op.results)
                    needed.append(data)
            case _ if isinstance(op, LANGUAGE) and not isinstance(op, TupleOp | TupleGetItemOp):
                pass
            case RelayOp():
                if closed.issuperset(op.operands):
                    closed.update(op.results)
            case _:
                pass
    ends = QnnDequantizeOp | QnnQuantizeOp
    found: set[Operation] = set()
    while needed:
        op = needed.pop().owner
        if isinstance(op, Operation) and op not in found and not isinstance(op, ends):
            found.add(op)
            needed.extend(op.operands)
    return found
