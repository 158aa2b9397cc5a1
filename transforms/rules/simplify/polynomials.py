"""Rules on polynomials of two values."""

from fractions import Fraction
from math import inf, isfinite, sqrt
from typing import NamedTuple

from xdsl.ir import SSAValue

from xrelay.analysis.facts.constants import number_of
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.interpreters.arrays import DType, dtype_of
from xrelay.interpreters.numerics import highest, is_float, lowest, quiet
from xrelay.transforms.rules.rewriting import Emitter


class Term(NamedTuple):
    """A number times a product of two values."""

    number: float
    factors: tuple[SSAValue, SSAValue]


def factored(op: AddOp, emit: Emitter) -> SSAValue | None:
    """
    a * x * x + b * x * y + c * y * y ──► a * (x + p * y) * (x + q * y), with numbers p and q of the
    same type for which this holds exactly
    """
    terms = _terms(op)
    if terms is None:
        return None
    squares = [term for term in terms if term.factors[0] is term.factors[1]]
    mixed = [term for term in terms if term.factors[0] is not term.factors[1]]
    if len(mixed) != 1 or {term.factors[0] for term in squares} != {*mixed[0].factors}:
        return None
    dtype = dtype_of(op.result.type.element_type)
    for first, last in (squares, squares[::-1]):
        roots = _roots(first.number, mixed[0].number, last.number, dtype)
        if roots is not None:
            x, y = first.factors[0], last.factors[0]
            # One sum is a square.
            sums = [emit(AddOp(x, _times(emit, root, y))) for root in dict.fromkeys(roots)]
            return _times(emit, first.number, emit(MultiplyOp(sums[0], sums[-1])))
    return None


def _terms(op: AddOp) -> list[Term] | None:
    """The three terms of a sum, when nothing else uses them."""
    for inner, last in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(inner.owner, AddOp) and inner.has_one_use():
            terms = [_term(value) for value in (*inner.owner.operands, last)]
            known = [term for term in terms if term is not None]
            if len(known) == len(terms):
                return known
    return None


def _term(value: SSAValue) -> Term | None:
    """x * y, n * (x * y) or x * (n * y) with a number n."""
    op = value.owner
    if not isinstance(op, MultiplyOp) or not value.has_one_use():
        return None
    for other, inner in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        product = inner.owner
        if other is inner or not isinstance(product, MultiplyOp) or not inner.has_one_use():
            continue
        number = number_of(other)
        if number is not None:
            return Term(number, (product.lhs, product.rhs))
        for factor, rest in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
            number = number_of(factor)
            if number is not None:
                return Term(number, (other, rest))
    return Term(1, (op.lhs, op.rhs))


def _roots(a: float, b: float, c: float, dtype: DType) -> tuple[float, float] | None:
    """Numbers p and q of a type for which a * (x + p * y) * (x + q * y) has the coefficients a, b and c."""
    discriminant = b * b - 4 * a * c
    if not a or not c or not 0 <= discriminant < inf:
        return None
    root = sqrt(discriminant)
    p, q = ((b + sign * root) / (2 * a) for sign in (1, -1))
    if not all(_is_number(each, dtype) for each in (p, q)):
        return None
    exact = tuple(map(Fraction, (p, q)))
    holds = Fraction(a) * sum(exact) == b and Fraction(a) * exact[0] * exact[1] == c
    return (p, q) if holds else None


@quiet
def _is_number(value: float, dtype: DType) -> bool:
    """Whether a type has a number, which is finite."""
    if not isfinite(value):
        return False
    if is_float(dtype):
        return float(dtype.type(value)) == value
    return value.is_integer() and lowest(dtype) <= value <= highest(dtype)


def _times(emit: Emitter, number: float, value: SSAValue) -> SSAValue:
    return value if number == 1 else emit(MultiplyOp(emit.scalar(number, value), value))
