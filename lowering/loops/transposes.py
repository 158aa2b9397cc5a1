"""Transposes of square blocks of elements in registers."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xrelay.lowering.emit.builder import KernelBuilder


def transposed(b: KernelBuilder, vectors: Sequence[SSAValue]) -> list[SSAValue]:
    """
    Lane i of vector j becomes lane j of vector i, for as many vectors as lanes, a power of two:
    in step s, the two numbers exchange bit s.
    """
    result = list(vectors)
    count = len(result)
    step = 1
    while step < count:
        low = [k if not k & step else count + k - step for k in range(count)]
        high = [k + step if not k & step else count + k for k in range(count)]
        for i in range(count):
            if not i & step:
                pair = result[i], result[i + step]
                result[i], result[i + step] = b.merge(*pair, low), b.merge(*pair, high)
        step *= 2
    return result
