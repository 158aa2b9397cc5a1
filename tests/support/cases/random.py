"""Cases of random numbers from keys: words and indices are equal to the last bit."""

import numpy as np
from graphs import Graph
from xdsl.dialects.builtin import f32, f64

from cases.kernel import CaseTable
from xrelay.dialects.tensor import random
from xrelay.interpreters.arrays import Array

TABLE = CaseTable()

FULL = 2**64 - 1


def keys(g: Graph) -> list[Array]:
    """A new key, one in use, those whose counters have no room, and those whose paths are full."""
    start = [*map(int, g.rng.integers(0, 2**64, 4, np.uint64)), 0, 0, 0, 0, 1 << 63, 0]
    used = [*start[:4], 1 << 63 | 5 << 30, 0, 0, 4096, 1 << 29, 0]
    states = [
        start,
        used,
        [*used[:7], FULL - 20, *used[8:]],
        [*used[:7], FULL, 1, 0],
        [*used[:7], FULL, 0, 1 << 40],
        [*used[:7], FULL, 0, 1],
        [*used[:7], FULL - 3, 0, 0],
        [*used[:7], 17, 0, 0],
    ]
    return [np.array(state, np.uint64) for state in states]


SHAPES = ((), (1,), (4,), (5,), (3, 7), (2, 0), (257,))


@TABLE.case(random.ThreefryGenerateOp, random.ThreefrySplitOp)
def words(g: Graph) -> None:
    for i, key in enumerate(keys(g)):
        for shape in SHAPES[i % 3 :: 3]:
            g.show(random.ThreefryGenerateOp(g.input(key), shape))
        g.show(random.ThreefrySplitOp(g.input(key)))


@TABLE.case(random.UniformOp, random.NormalOp)
def distributions(g: Graph) -> None:
    for i, (dtype, kind) in enumerate((("float32", f32), ("float64", f64))):
        first, second = g.input(np.asarray(-1.5, dtype)), g.input(np.asarray(2.25, dtype))
        for key in keys(g)[i::3]:
            for shape in SHAPES[i % 2 :: 2]:
                g.show(random.UniformOp(g.input(key), first, second, out_shape=shape))
                g.show(
                    random.NormalOp(g.input(key), first, second, out_shape=shape, out_dtype=kind),
                    32,
                )


@TABLE.case(random.MultinomialOp)
def samples(g: Graph) -> None:
    for i, key in enumerate(keys(g)[:4]):
        for shape in ((5,), (3, 1), (2, 3, 17), (2, 0), (0, 4)):
            dtype = ("float32", "float64", "float16")[i % 3]
            probs = np.asarray(g.rng.integers(-1, 4, shape)).astype(dtype)
            g.show(random.MultinomialOp(g.input(key), g.input(probs), num_samples=19 - 6 * i))
    for number in (np.nan, np.inf, -np.inf):
        probs = np.array([[1, 2, number, 3], [0, 0, 0, 0]], np.float32)
        g.show(random.MultinomialOp(g.input(keys(g)[1]), g.input(probs), num_samples=8))
