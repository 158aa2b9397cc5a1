"""Random numbers from keys in NumPy."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.interpreter import InterpreterFunctions, register_impls

from xrelay.dialects.tensor import random
from xrelay.dialects.tensor.random import BLOCK, PARITY, ROTATIONS, ROUNDS
from xrelay.interpreters.arrays import Array, DType
from xrelay.interpreters.base import meaning
from xrelay.interpreters.numerics import quiet

ONES = 2**64 - 1


def _word(value: int) -> np.uint64:
    return np.uint64(value & ONES)


def key_words(key: Sequence[np.uint64]) -> list[np.uint64]:
    """The four words of a key, and the fifth."""
    return [*key[:4], np.bitwise_xor.reduce(np.array([*key[:4], PARITY], np.uint64))]


def encrypted(key: Sequence[np.uint64], counter: Sequence[Array]) -> list[Array]:
    """The blocks of the four words `counter` of each block under the first words of `key`."""
    schedule, words = key_words(key), list(counter)
    for turn in range(ROUNDS):
        if turn % 4 == 0:
            added = turn // 4
            words = [word + schedule[(added + i) % 5] for i, word in enumerate(words)]
            words[3] = words[3] + _word(added)
        for i, bits in zip((0, 2), ROTATIONS[turn % len(ROTATIONS)], strict=True):
            total, other = words[i] + words[i + 1], words[i + 1]
            rotated = (other << np.uint64(bits)) | (other >> np.uint64(64 - bits))
            words[i], words[i + 1] = total, rotated ^ total
        words[1], words[3] = words[3], words[1]
    return words


def _next_place(high: np.uint64, low: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The place of the step after that at a place in the path."""
    if high == 1:
        return _word(0), _word(1 << 63)
    if high == 0:
        return _word(0), low >> np.uint64(1)
    return high >> np.uint64(1), _word(0)


def _with_room(key: Array, count: int) -> list[np.uint64]:
    """The key itself, or the one that follows it when its counter has no room for more."""
    words = [np.uint64(word) for word in key]
    if int(words[7]) < ONES - count:
        return words
    zero = _word(0)
    if words[8] == 0 and words[9] == 0:
        ones = [np.full((1,), ONES, np.uint64)] * 4
        new = [np.uint64(word[0]) for word in encrypted(words, ones)]
        return [*new, zero, zero, zero, zero, _word(1 << 63), zero]
    path = words[4] | words[8], words[5] | words[9]
    return [*words[:4], *path, zero, zero, *_next_place(words[8], words[9])]


@quiet
def generated(key: Array, shape: Sequence[int]) -> tuple[Array, Array]:
    """The next key, and random words."""
    count = prod(shape)
    words = _with_room(key, count)
    blocks, rest = divmod(count, BLOCK)
    numbers = np.arange(blocks, dtype=np.uint64)
    parts = [np.stack(encrypted(words, [word + numbers for word in words[4:8]]), 1).reshape(-1)]
    if rest:
        last = [np.full((1,), word, np.uint64) for word in words[4:8]]
        last[3] = last[3] + _word(BLOCK * blocks)
        parts.append(np.concatenate(encrypted(words, last))[:rest])
    words[6], words[7] = _word(0), words[7] + _word(-(-count // BLOCK) * BLOCK)
    return np.array(words, np.uint64), np.concatenate(parts).reshape(shape)


@quiet
def split(key: Array) -> tuple[Array, Array]:
    """Two keys for one."""
    words = [np.uint64(word) for word in key]
    if words[8] == 0 and words[9] == 0:
        new = encrypted(words, [word.reshape(1) for word in map(np.asarray, words[4:8])])
        rest = [0, 0, 0, 1 << 62, 0]
        start = [int(word[0]) for word in new]
        return (
            np.array([*start, 0, *rest], np.uint64),
            np.array([*start, 1 << 63, *rest], np.uint64),
        )
    place = _next_place(words[8], words[9])
    path = words[4] | words[8], words[5] | words[9]
    return (
        np.array([*words[:8], *place], np.uint64),
        np.array([*words[:4], *path, *words[6:8], *place], np.uint64),
    )


@quiet
def standard_uniform(key: Array, shape: Sequence[int], dtype: DType) -> tuple[Array, Array]:
    """The next key, and numbers between 0 and 1."""
    key, words = generated(key, shape)
    if dtype == np.float32:
        bits = words.astype(np.uint32) >> np.uint32(9) | np.uint32(0x3F800000)
    else:
        bits = words >> np.uint64(12) | np.uint64(0x3FF0000000000000)
    return key, np.asarray(np.asarray(bits).view(dtype) - dtype.type(1))


@register_impls
class RandomFunctions(InterpreterFunctions):
    """One method for each operator of `xrelay.dialects.tensor.random`."""

    @meaning
    def run_threefry_generate(self, op: random.ThreefryGenerateOp, key: Array) -> tuple[Array, ...]:
        return generated(key, op.out_shape.get_values())

    @meaning
    def run_threefry_split(self, op: random.ThreefrySplitOp, key: Array) -> tuple[Array, ...]:
        return split(key)

    @meaning
    def run_uniform(
        self, op: random.UniformOp, key: Array, low: Array, high: Array
    ) -> tuple[Array, ...]:
        key, numbers = standard_uniform(key, op.out_shape.get_values(), low.dtype)
        return (key, np.asarray(numbers * (high - low) + low))

    @meaning
    def run_normal(
        self, op: random.NormalOp, key: Array, mean: Array, scale: Array
    ) -> tuple[Array, ...]:
        real = mean.dtype.type
        key, (u, v) = standard_uniform(key, (2, *op.out_shape.get_values()), mean.dtype)
        size = np.sqrt(real(-2) * np.log(real(1) - u))
        return (key, np.asarray(size * np.sin(real(2 * np.pi) * v) * scale + mean))

    @meaning
    def run_multinomial(
        self, op: random.MultinomialOp, key: Array, probs: Array
    ) -> tuple[Array, ...]:
        shape = (*probs.shape[:-1], op.num_samples.value.data)
        key, numbers = standard_uniform(key, shape, np.dtype(np.float32))
        weights = probs.astype(np.float64)
        sums = np.cumsum(np.where(weights > 0, weights, 0), -1)
        if not probs.shape[-1]:
            return (key, np.zeros(shape, np.int32))
        bounds = numbers.astype(np.float64) * sums[..., -1:]
        above = sums[..., None, :] > bounds[..., None]
        return (key, np.argmax(above, -1).astype(np.int32))
