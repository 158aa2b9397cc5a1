"""
Random numbers from keys: the cipher against the published vectors of Random123, keys against their
definition in Python's integers, distributions by their statistics.
"""

import numpy as np
import pytest
from evaluation import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, f64

from xrelay.dialects.tensor import random
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.tensor.random import (
    encrypted,
    generated,
    key_words,
    split,
    standard_uniform,
)

MASK = 2**64 - 1
words = st.one_of(st.integers(0, MASK), st.sampled_from([0, 1, MASK, MASK - 1, 1 << 63]))
run_settings = settings(deadline=None, derandomize=True, max_examples=40)


def key(*start: int) -> Array:
    """A new key."""
    return np.array([*start, 0, 0, 0, 0, 1 << 63, 0], np.uint64)


# The vectors of threefry4x64 with 20 rounds in `kat_vectors` of Random123.
PI = [0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89]
KNOWN = [
    (
        [0] * 4,
        [0] * 4,
        [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B],
    ),
    (
        [MASK] * 4,
        [MASK] * 4,
        [0x29C24097942BBA1B, 0x0371BBFB0F6F4E11, 0x3C231FFA33F83A1C, 0xCD29113FDE32D168],
    ),
    (
        PI,
        [0x452821E638D01377, 0xBE5466CF34E90C6C, 0xBE5466CF34E90C6C, 0xC0AC29B7C97C50DD],
        [0xA7E8FDE591651BD9, 0xBAAFD0C30138319B, 0x84A5C1A729E685B9, 0x901D406CCEBC1BA4],
    ),
]


@pytest.mark.parametrize(("counter", "start", "expected"), KNOWN)
def test_known_answers(counter: list[int], start: list[int], expected: list[int]):
    # Random123 adds the key once more after the last round, Relay's generator does not.
    state = [np.uint64(word) for word in start]
    with np.errstate(all="ignore"):
        block = encrypted(state, [np.array([word], np.uint64) for word in counter])
        schedule = key_words(state)
    found = [(int(block[i][0]) + int(schedule[(5 + i) % 5])) & MASK for i in range(4)]
    found[3] = (found[3] + 5) & MASK
    assert found == expected


# The definition in integers


def rotated(x: int, bits: int) -> int:
    return (x << bits | x >> (64 - bits)) & MASK


def block(start: list[int], counter: list[int]) -> list[int]:
    fifth = random.PARITY ^ start[0] ^ start[1] ^ start[2] ^ start[3]
    schedule, x = [*start[:4], fifth], list(counter)
    for turn in range(20):
        if turn % 4 == 0:
            step = turn // 4
            x = [
                (x[i] + schedule[(step + i) % 5] + (step if i == 3 else 0)) & MASK for i in range(4)
            ]
        first, second = random.ROTATIONS[turn % 8]
        # In odd rounds word 0 is mixed with word 3, and word 2 with word 1.
        a, b = (1, 3) if turn % 2 == 0 else (3, 1)
        x[0] = (x[0] + x[a]) & MASK
        x[a] = rotated(x[a], first) ^ x[0]
        x[2] = (x[2] + x[b]) & MASK
        x[b] = rotated(x[b], second) ^ x[2]
    return x


def following_place(state: list[int]) -> list[int]:
    place = (state[8] << 64 | state[9]) >> 1
    return [place >> 64, place & MASK]


def expected_words(state: list[int], count: int) -> tuple[list[int], list[int]]:
    if state[7] >= MASK - count:
        if state[8] == state[9] == 0:
            state = [*block(state, [MASK] * 4), 0, 0, 0, 0, 1 << 63, 0]
        else:
            path = [state[4] | state[8], state[5] | state[9]]
            state = [*state[:4], *path, 0, 0, *following_place(state)]
    found: list[int] = []
    for i in range(count // 4):
        found += block(state, [(word + i) & MASK for word in state[4:8]])
    if count % 4:
        last = (state[7] + count // 4 * 4) & MASK
        found += block(state, [*state[4:7], last])[: count % 4]
    used = -(-count // 4) * 4
    return [*state[:6], 0, (state[7] + used) & MASK, *state[8:]], found


# A place in the path is a single bit, or 0.
places = st.one_of(st.just(0), st.integers(0, 127).map(lambda bit: 1 << bit))
states = st.builds(
    lambda rest, last, place: [*rest, last, place >> 64, place & MASK],
    st.lists(words, min_size=7, max_size=7),
    words,
    places,
)


@run_settings
@given(states, st.lists(st.integers(0, 4), max_size=3))
def test_generate(state: list[int], shape: list[int]):
    following, numbers = evaluate(
        lambda operand: random.ThreefryGenerateOp(operand, shape), np.array(state, np.uint64)
    )
    expected = expected_words(state, int(np.prod(shape, dtype=int)))
    assert (following.tolist(), numbers.reshape(-1).tolist()) == expected
    assert numbers.shape == tuple(shape)


@run_settings
@given(states)
def test_split(state: list[int]):
    left, right = evaluate(random.ThreefrySplitOp, np.array(state, np.uint64))
    if state[8] == state[9] == 0:
        fresh = block(state, state[4:8])
        place = [1 << 62, 0]
        assert left.tolist() == [*fresh, 0, 0, 0, 0, *place]
        assert right.tolist() == [*fresh, 1 << 63, 0, 0, 0, *place]
    else:
        place = following_place(state)
        assert left.tolist() == [*state[:8], *place]
        path = [state[4] | state[8], state[5] | state[9]]
        assert right.tolist() == [*state[:4], *path, *state[6:8], *place]


def test_keys_in_sequence_give_what_one_key_gives():
    first, numbers = generated(key(1, 2, 3, 4), (64,))
    second, more = generated(first, (64,))
    assert int(second[7]) == 128
    assert not set(numbers.tolist()) & set(more.tolist())


def test_split_keys_are_unrelated():
    seen: set[int] = set()
    pending = [key(7, 0, 0, 0)]
    for _ in range(5):
        pending = [part for each in pending for part in split(each)]
    for each in pending:
        seen.update(generated(each, (8,))[1].tolist())
    assert len(seen) == 32 * 8


# Distributions


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64)])
def test_uniform_numbers_are_evenly_distributed(dtype: np.dtype[np.float32 | np.float64]):
    count, bins = 1 << 16, 64
    _, numbers = standard_uniform(key(11, 0, 0, 0), (count,), dtype)
    assert numbers.min() >= 0 and numbers.max() < 1
    found = np.histogram(numbers, bins, (0, 1))[0]
    chi_squared = np.sum((found - count / bins) ** 2) / (count / bins)
    # 63 degrees of freedom: six standard deviations of 11.2 about the mean.
    assert 63 - 6 * 11.2 < chi_squared < 63 + 6 * 11.2
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 6 / count**0.5


def test_every_bit_is_even():
    count = 1 << 16
    _, numbers = generated(key(5, 6, 7, 8), (count,))
    for bit in range(64):
        ones = int((numbers >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - count / 2) < 6 * (count / 4) ** 0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform(dtype: str):
    low, high = np.asarray(-2, dtype), np.asarray(3, dtype)
    start = key(1, 2, 3, 4)
    following, numbers = evaluate(lambda *args: random.UniformOp(*args, [3, 5]), start, low, high)
    same, unit = standard_uniform(start, (3, 5), np.dtype(dtype))
    np.testing.assert_array_equal(following, same)
    np.testing.assert_array_equal(numbers, unit * (high - low) + low)
    _, drawn = generated(start, (3, 5))
    exact = (drawn % 2**32 >> 9) / 2**23 if dtype == "float32" else (drawn >> 12) / 2**52
    np.testing.assert_array_equal(unit, exact.astype(dtype))


@pytest.mark.parametrize(("dtype", "kind"), [("float32", f32), ("float64", f64)])
def test_normal(dtype: str, kind: object):
    count = 1 << 16
    mean, scale = np.asarray(2, dtype), np.asarray(3, dtype)
    following, numbers = evaluate(
        lambda *args: random.NormalOp(*args, [count], out_dtype=kind), key(9, 9, 9, 9), mean, scale
    )
    assert int(following[7]) == 2 * count and numbers.dtype == dtype
    unit = (numbers.astype(np.float64) - 2) / 3
    moments = [(1, 0.0, 1), (2, 1.0, 2), (3, 0.0, 15), (4, 3.0, 96)]
    for power, expected, variance in moments:
        assert abs(np.mean(unit**power) - expected) < 6 * (variance / count) ** 0.5
    # The quantiles of the standard normal distribution.
    for bound, below in ((-1.6448536, 0.05), (0, 0.5), (1.2815516, 0.9)):
        assert abs(np.mean(unit < bound) - below) < 6 * (below * (1 - below) / count) ** 0.5


def test_multinomial_is_even_in_proportion():
    count = 1 << 14
    probs = np.array([[1, 0, 2, 5, -3], [0, 0, 1, 0, 0]], np.float32)
    _, samples = evaluate(
        lambda *args: random.MultinomialOp(*args, num_samples=count), key(3, 1, 4, 1), probs
    )
    assert samples.dtype == np.int32 and samples.shape == (2, count)
    assert np.all(samples[1] == 2)
    for index, part in enumerate((1 / 8, 0, 2 / 8, 5 / 8, 0)):
        found = np.mean(samples[0] == index)
        assert abs(found - part) <= 6 * (part * (1 - part) / count) ** 0.5


@run_settings
@given(st.integers(0, MASK), st.integers(1, 4), st.integers(1, 5))
def test_multinomial_is_the_inverse_of_the_cumulative_sum(seed: int, rows: int, length: int):
    probs = np.random.default_rng(seed).integers(-1, 4, (rows, length)).astype(np.float32)
    start = key(seed, 0, 0, 0)
    _, samples = evaluate(lambda *args: random.MultinomialOp(*args, num_samples=6), start, probs)
    _, numbers = standard_uniform(start, (rows, 6), np.dtype(np.float32))
    for row in range(rows):
        weights = np.maximum(probs[row], 0).astype(np.float64)
        for u, index in zip(numbers[row].tolist(), samples[row].tolist(), strict=True):
            below = [i for i in range(length) if weights[: i + 1].sum() > u * weights.sum()]
            assert index == (below[0] if below else 0)
