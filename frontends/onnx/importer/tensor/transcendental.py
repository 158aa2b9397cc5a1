"""Trigonometric and hyperbolic functions, and their inverses."""

from xrelay.dialects.tensor.transcendental import (
    AcoshOp,
    AcosOp,
    AsinhOp,
    AsinOp,
    AtanhOp,
    AtanOp,
    CoshOp,
    SinhOp,
    TanOp,
)
from xrelay.frontends.onnx.importer.node import ConverterTable
from xrelay.frontends.onnx.importer.tensor.unary import unary

CONVERTERS: ConverterTable = {
    "Acos": {7: unary(AcosOp)},
    "Acosh": {9: unary(AcoshOp)},
    "Asin": {7: unary(AsinOp)},
    "Asinh": {9: unary(AsinhOp)},
    "Atan": {7: unary(AtanOp)},
    "Atanh": {9: unary(AtanhOp)},
    "Cosh": {9: unary(CoshOp)},
    "Sinh": {9: unary(SinhOp)},
    "Tan": {7: unary(TanOp)},
}
