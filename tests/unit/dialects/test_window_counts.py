"""
Sizes of the results of convolutions, pools, Fourier transforms and correlations, whose windows are counted one by one;
and of transposed convolutions and upsampled images.
"""

import numpy as np
import pytest
from bounds.operator import Subject, subject
from bounds.window import shape
from operator_oracles import ints, pick
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException


def window_starts(
    size: int, extent: int, stride: int, before: int, after: int, *, beyond: bool
) -> list[int]:
    """Where windows begin: all within the padded axis, with `beyond` one more that begins in it."""
    starts = [
        start for start in range(-before, size + after, stride) if start + extent <= size + after
    ]
    if beyond:
        following = starts[-1] + stride if starts else -before
        covered = starts and starts[-1] + extent == size + after
        if following < size and not covered:
            starts.append(following)
    return starts


def convolved(operator: str, sizes: list[int], taps: list[int], **numbers_: list[int]) -> Subject:
    """A convolution of an image of one channel."""
    data, weight = (shape(1, 1, *lengths) for lengths in (sizes, taps))
    return subject(f"nn.{operator}", f"{data} {weight}", **numbers_)


def test_counts_of_windows():
    rng = np.random.default_rng(22)
    refused = 0
    for i in range(400):
        axes = 1 + i % 3
        sizes, taps = ints(rng, 3, 12, axes), ints(rng, 1, 5, axes)
        strides, dilation = ints(rng, 1, 4, axes), ints(rng, 1, 4, axes)
        extents = [(n - 1) * gap + 1 for n, gap in zip(taps, dilation, strict=True)]
        before, after = ([pick(rng, 0, extent - 1) for extent in extents] for _ in range(2))
        each = list(zip(sizes, extents, strides, before, after, strict=True))
        counts = [len(window_starts(*numbers_, beyond=False)) for numbers_ in each]
        options = {"strides": strides, "dilation": dilation, "padding": before + after}
        pool = subject(f"nn.max_pool{axes}d", shape(1, 1, *sizes), pool_size=taps, **options)
        conv = convolved(f"conv{axes}d", sizes, taps, **options)
        if 0 in counts:
            refused += 1
            extent = extents[counts.index(0)]
            for row in (pool, conv):
                with pytest.raises(VerifyException, match=f"window covers {extent} elements"):
                    row.build()
            continue
        assert shape_of(pool.build()) == shape_of(conv.build()) == (1, 1, *counts)
        counts = [len(window_starts(*numbers_, beyond=True)) for numbers_ in each]
        assert shape_of(pool.build(ceil_mode=True)) == (1, 1, *counts), pool
    assert 20 < refused < 200


def test_lengths_of_transposed_convolutions():
    rng = np.random.default_rng(23)
    for i in range(200):
        axes = 1 + i % 3
        sizes, taps = ints(rng, 1, 6, axes), ints(rng, 1, 5, axes)
        strides, dilation = ints(rng, 1, 4, axes), ints(rng, 1, 4, axes)
        before, after, more = (ints(rng, 0, 3, axes) for _ in range(3))
        lengths = [
            max(i * stride + j * gap for i in range(size) for j in range(count)) + 1
            for size, count, stride, gap in zip(sizes, taps, strides, dilation, strict=True)
        ]
        lengths = [
            length - first - last + extra
            for length, first, last, extra in zip(lengths, before, after, more, strict=True)
        ]
        row = convolved(
            f"conv{axes}d_transpose",
            sizes,
            taps,
            strides=strides,
            dilation=dilation,
            padding=before + after,
            output_padding=more,
        )
        if min(lengths) > 0:
            assert shape_of(row.build()) == (1, 1, *lengths)
        else:
            wrong = next(length for length in lengths if length < 1)
            with pytest.raises(VerifyException, match=f"of the result is {wrong}, expected"):
                row.build()


def test_frames_of_short_time_fourier_transforms():
    rng = np.random.default_rng(24)
    for _ in range(60):
        size, hop, samples = pick(rng, 1, 9), pick(rng, 1, 4), pick(rng, 9, 30)
        frames = [start for start in range(0, samples, hop) if start + size <= samples]
        row = subject(
            "stft",
            f"2x{samples}xf32 {size}xf32",
            n_fft=size,
            hop_length=hop,
            win_length=size,
        )
        half = len(np.fft.rfft(np.zeros(size)))
        assert shape_of(row.build()) == (2, half, len(frames), 2)
        assert shape_of(row.build(onesided=False)) == (2, size, len(frames), 2)


def test_sizes_of_upsampled_images():
    for size in range(1, 8):
        for scale in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            row = subject("nn.upsampling", f"1x1x{size}x4xf32", scale_h=scale, scale_w=1.0)
            # Halves are rounded to even.
            assert shape_of(row.build()) == (1, 1, int(np.rint(size * scale)), 4)


def test_correlations_have_a_channel_for_each_displacement():
    for most in range(4):
        for stride in (1, 2, 3):
            shifts = [d for d in range(-most, most + 1) if d % stride == 0]
            row = subject(
                "nn.correlation",
                "1x2x9x9xf32 1x2x9x9xf32",
                max_displacement=most,
                stride2=stride,
            )
            assert shape_of(row.build()) == (1, len(shifts) ** 2, 9 - 2 * most, 9 - 2 * most)


def shape_of(op: Operation) -> tuple[int, ...]:
    """The shape of the result."""
    type_ = op.results[0].type
    assert isinstance(type_, TensorType)
    return type_.get_shape()
