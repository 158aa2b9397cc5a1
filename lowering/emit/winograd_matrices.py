"""
The matrices of Winograd's minimal filtering F(m, 3), built from interpolation points.

    result = A^T [(G taps) * (B^T data)]

m outputs from m + 2 inputs by m + 2 multiplications: both factors are evaluated as polynomials at
m + 1 points and infinity, multiplied there, and interpolated.

Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015; the construction
is that of Toom and Cook.
"""

from functools import cache
from math import prod

Matrix = tuple[tuple[float, ...], ...]

POINTS = {2: (0.0, 1.0, -1.0), 4: (0.0, 1.0, -1.0, 2.0, -2.0)}
"""The finite points for each m. Small ones of both signs keep the rounding errors small."""


def _polynomial(roots: tuple[float, ...], length: int) -> tuple[float, ...]:
    """The coefficients of the polynomial with these roots, from the constant one on."""
    coefficients = [1.0]
    for root in roots:
        shifted = [0.0, *coefficients]
        scaled = [*(root * each for each in coefficients), 0.0]
        coefficients = [a - b for a, b in zip(shifted, scaled, strict=True)]
    return tuple(coefficients + [0.0] * (length - len(coefficients)))


@cache
def weight_matrix(outputs: int) -> Matrix:
    """G, [m + 2, 3]: the taps' polynomial at every point, scaled for the interpolation."""
    points = POINTS[outputs]
    rows: list[tuple[float, ...]] = []
    for i, point in enumerate(points):
        scale = prod(point - other for j, other in enumerate(points) if j != i)
        rows.append(tuple(point**power / scale for power in range(3)))
    return (*rows, (0.0, 0.0, 1.0))


@cache
def data_matrix(outputs: int) -> Matrix:
    """B^T, [m + 2, m + 2]."""
    points, size = POINTS[outputs], outputs + 2
    rows = [_polynomial((*points[:i], *points[i + 1 :]), size) for i in range(len(points))]
    return (*rows, _polynomial(points, size))


@cache
def result_matrix(outputs: int) -> Matrix:
    """A^T, [m, m + 2]."""
    return tuple(
        (*(point**i for point in POINTS[outputs]), 1.0 if i == outputs - 1 else 0.0)
        for i in range(outputs)
    )
