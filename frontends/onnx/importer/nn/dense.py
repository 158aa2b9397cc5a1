"""Matrix products."""

from xdsl.ir import SSAValue

from xrelay.dialects.core.values import TupleOp
from xrelay.dialects.nn.dense import DenseOp, MatmulOp
from xrelay.dialects.nn.norm import BiasAddOp
from xrelay.dialects.shapes import is_float, same_shape
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.einsum import EinsumOp
from xrelay.frontends.onnx.errors import OnnxImportError, UnsupportedNode
from xrelay.frontends.onnx.importer.emitting import matrix_product
from xrelay.frontends.onnx.importer.node import ConverterTable, Node


def gemm(node: Node) -> SSAValue:
    """Gemm: alpha * A' * B' + beta * C, where C is optional and broadcasts."""
    node.ignore("broadcast")  # before operator set 7; C broadcasts wherever it can
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    transpose_a, transpose_b = node.flag("transA"), node.flag("transB")
    a, b, c = node.input(0), node.input(1), node.optional(2)
    if not is_float(node.element_type(a)) and not (alpha.is_integer() and beta.is_integer()):
        raise UnsupportedNode(f"'alpha' {alpha} or 'beta' {beta} is not whole, but the inputs are")
    if transpose_b and not transpose_a:
        result = node.emit(DenseOp(a, b))
    else:
        result = node.emit(MatmulOp(a, b, transpose_a=transpose_a, transpose_b=transpose_b))
    if alpha != 1:
        result = node.emit(MultiplyOp(result, node.scalar(alpha, result)))
    if c is None or beta == 0:
        return result
    if beta != 1:
        c = node.emit(MultiplyOp(c, node.scalar(beta, c)))
    if same_shape(node.shape_of(c), node.shape_of(result)[1:]):
        return node.emit(BiasAddOp(result, c))
    added = node.emit(AddOp(result, c))
    if not same_shape(node.shape_of(added), node.shape_of(result)):
        raise OnnxImportError(
            f"input 2 of type {c.type} does not broadcast to the product of type {result.type}"
        )
    return added


def matmul(node: Node) -> SSAValue:
    """MatMul, as in NumPy."""
    return matrix_product(node, node.input(0), node.input(1))


def einsum(node: Node) -> SSAValue:
    """Einsum: sums of products in Einstein's notation."""
    equation = node.string("equation", "")
    return node.emit(EinsumOp(node.emit(TupleOp(node.inputs())), equation))


CONVERTERS: ConverterTable = {
    "Einsum": {12: einsum},
    "Gemm": {1: gemm},
    "MatMul": {1: matmul},
}
