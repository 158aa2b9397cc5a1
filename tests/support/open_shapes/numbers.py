"""Random computations on lengths, and what a program knows that has their results."""

from collections.abc import Callable
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub
from random import Random

from xrelay.dialects.length_scope import Scope
from xrelay.dialects.lengths import larger, polynomial, smaller
from xrelay.runtime.lengths import OpenLengths

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "//": floordiv,
    "%": mod,
    "smaller": smaller,
    "larger": larger,
}
RELATIONS = (eq, ne, lt, le, gt, ge)


def program(scope: Scope, *values: int) -> OpenLengths:
    """What a program with the values in its table knows about the lengths of a scope."""
    symbols = len(scope.symbols)
    atoms = tuple((each.operation, each.left, each.right) for each in scope.atoms[symbols:])
    return OpenLengths(
        tuple(scope.symbols),
        tuple((0, i) for i in range(symbols)),
        tuple((scope.empty.least(i), int(scope.atoms[i].bounds[1])) for i in range(symbols)),
        atoms,
        tuple((each.value, each.relation) for each in scope.conditions()),
        tuple(map(polynomial, values)),
        (tuple((((i,), 1),) for i in range(symbols)),),
        (),
        (),
    )


def built(random: Random, a: int, b: int, size: int) -> list[int]:
    """What a random computation on two numbers comes by, the result last."""
    values = [a, b, random.randint(0, 40), 1]
    for _ in range(size):
        operation = random.choice(list(OPERATIONS))
        left, right = random.choice(values), random.choice(values)
        if operation in ("//", "%"):
            # Programs divide by numbers and by lengths, which are positive.
            right = random.choice([random.randint(1, 20), a, b, a + 1, 2 * a + b])
        values.append(OPERATIONS[operation](left, right))
    return values
