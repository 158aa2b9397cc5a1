"""Which dot product computes what, and how weights are packed for it."""

from dataclasses import replace

import numpy as np
import pytest
from xdsl.dialects.builtin import (
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)

from xrelay.lowering.emit.elements import element
from xrelay.lowering.emit.packing import ConvolutionPanels, DepthwiseBlocks, MatrixPanels
from xrelay.lowering.emit.target import TARGETS
from xrelay.lowering.loops.dots import channel_dot, dot_of
from xrelay.lowering.loops.tile_registers import (
    TileRegisters,
    choose_tiles,
    most_vectors_of_tiles,
    tile_dot_of,
)

u8 = IntegerType(8, Signedness.UNSIGNED)
u16 = IntegerType(16, Signedness.UNSIGNED)
TARGETS_ELSEWHERE = {**TARGETS, "arm": replace(TARGETS["x86-64"], triple="aarch64-linux-gnu")}
CASES = (
    # target, elements of image, weights and result, the dot product
    ("x86-64-v4", f32, f32, f32, "MultiplyAdd"),
    ("x86-64-v4", f64, f64, f64, "MultiplyAdd"),
    ("x86-64-v4", f16, f16, f16, "MultiplyAdd"),
    ("x86-64-v4", bf16, bf16, bf16, "MultiplyAdd"),
    ("x86-64-v4-bf16", bf16, bf16, bf16, "BfloatDot"),
    ("x86-64-v4-bf16", bf16, bf16, f32, "BfloatDot"),
    ("x86-64-v4-bf16", f32, bf16, f32, "MultiplyAdd"),
    ("x86-64-v4-bf16", u8, i8, i32, "ByteDot"),
    ("x86-64-v4-vnni", i8, i8, i32, "ByteDot"),
    ("x86-64-v3-vnni", u8, u8, i16, "ByteDot"),
    ("x86-64-v3-vnni", i16, i8, i32, "ShortDot"),
    ("x86-64-v3", u8, i8, i32, "ShortDot"),
    ("x86-64", i16, i16, i32, "ShortDot"),
    ("x86-64", u16, i8, i32, "MultiplyAdd"),
    ("arm", u8, i8, i32, "MultiplyAdd"),
    # Operands would have to be rounded first, and sums have 32 bits.
    ("x86-64-v4", f32, f32, f16, None),
    ("x86-64-v4", f16, bf16, f16, None),
    ("x86-64-v4", i8, i8, i64, None),
    ("x86-64-v4", i8, i8, f32, None),
    ("x86-64-v4", i1, i8, i32, None),
)


TILE_CASES = (
    # target, elements of image, weights and result, what multiplies their tiles
    ("x86-64-v4-amx", bf16, bf16, bf16, "tdpbf16ps"),
    ("x86-64-v4-amx", bf16, bf16, f32, "tdpbf16ps"),
    ("x86-64-v4-amx", u8, i8, i32, "tdpbusd"),
    ("x86-64-v4-amx", i8, u8, i32, "tdpbsud"),
    ("x86-64-v4-amx", i8, i8, i32, "tdpbssd"),
    ("x86-64-v4-amx", u8, u8, i16, "tdpbuud"),
    ("x86-64-v4-amx", f32, f32, f32, None),
    ("x86-64-v4-amx", f32, bf16, f32, None),
    ("x86-64-v4-amx", i16, i8, i32, None),
    ("x86-64-v4-bf16", bf16, bf16, f32, None),
    ("x86-64-v4-vnni", u8, i8, i32, None),
)


@pytest.mark.parametrize("case", TILE_CASES, ids=lambda case: "-".join(map(str, case)))
def test_which_product_of_tiles(case: tuple[str, *tuple[object, ...]]) -> None:
    target, *types, expected = case
    dot = tile_dot_of(TARGETS[target], *map(element, types))
    assert (dot and dot.instruction.removeprefix("llvm.x86.")) == expected


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("columns", [1, 7, 16, 17, 32, 48])
@pytest.mark.parametrize("steps", [16, 8])
def test_tile_registers_suffice(rows: int, columns: int, steps: int) -> None:
    """As many vectors as there may be have registers of their own, of the right sizes."""
    vectors = most_vectors_of_tiles(rows, columns)
    registers = TileRegisters(rows, columns, columns, vectors, steps)
    heights = registers.heights
    assert (vectors > 0) == (len(heights) <= 3)
    if not vectors:
        return
    assert sum(heights) == rows * columns
    assert len(registers.firsts) == len(heights)
    places = range(len(heights))
    sums = {registers.sums(i, v): heights[i] for i in places for v in range(vectors)}
    image = {registers.image(i): heights[i] for i in places}
    weights = {registers.weights(v): steps for v in range(vectors)}
    sizes = {**sums, **image, **weights}
    assert len(sizes) == len(sums) + len(image) + len(weights)
    assert max(sizes) < 8
    numbers = registers.configuration
    assert len(numbers) == 64
    assert numbers[0] == 1
    for register in range(8):
        assert numbers[48 + register] == sizes.get(register, 0)
        length = 4 * steps if register in image else 64
        assert numbers[16 + 2 * register] == (length if sizes.get(register) else 0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_which_dot_product(case: tuple[str, *tuple[object, ...]]) -> None:
    target, *types, expected = case
    dot = dot_of(TARGETS_ELSEWHERE[target], *map(element, types))
    assert (dot and type(dot).__name__) == expected


def test_lanes_with_elements_of_their_own() -> None:
    kinds = [
        type(channel_dot(TARGETS_ELSEWHERE[target], *map(element, types))).__name__
        for target, *types in (
            ("x86-64-v4-vnni", u8, i8, i32),
            ("x86-64", i16, i8, i32),
            ("arm", u8, i8, i32),
            ("x86-64-v4", bf16, bf16, bf16),
            ("x86-64-v4-bf16", bf16, bf16, bf16),
        )
    ]
    expected = ["ShortChannelDot", "ShortChannelDot", "ChannelDot", "ChannelDot"]
    assert kinds == [*expected, "BfloatChannelDot"]


# -- packings ---------------------------------------------------------------------------------------


def test_matrix_panels_in_groups() -> None:
    """[columns / panel, 1 + depth / group, panel, group], with what undoes a shift first."""
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (5, 7)).astype(np.int8)
    packing = MatrixPanels(4, False, 4, 128)
    packed = packing.pack(weights)
    assert packed.shape == packing.packed_shape(weights.shape) == (2, 3, 16)
    padded = np.zeros((8, 8), np.int8)
    padded[:5, :7] = weights
    for column in range(8):
        panel, inside = divmod(column, 4)
        first = packed[panel, 0].view(np.int32)[inside]
        assert first == -128 * int(padded[column].sum(dtype=np.int32))
        groups = packed[panel, 1:].reshape(2, 4, 4)[:, inside]
        assert (groups.reshape(-1) == padded[column]).all()


def test_matrix_panels_of_whole_tiles() -> None:
    """As many groups as are multiplied at once."""
    weights = np.random.default_rng(0).standard_normal((2, 5, 7)).astype(np.float32)
    packing = MatrixPanels(4, False, 2, together=16)
    packed = packing.pack(weights)
    assert packed.shape == packing.packed_shape(weights.shape) == (2, 2, 16, 8)
    fewer = MatrixPanels(4, False, 2).pack(weights)
    np.testing.assert_array_equal(packed[..., :4, :], fewer)
    assert not packed[..., 4:, :].any()


def test_depthwise_blocks_in_groups() -> None:
    """[channels / lanes, rows / group, columns, lanes, group]: neighbours are in a column of the filter."""
    weights = np.random.default_rng(1).standard_normal((5, 1, 3, 2)).astype(np.float32)
    packing = DepthwiseBlocks(4, 2)
    packed = packing.pack(weights)
    assert packed.shape == packing.packed_shape(weights.shape) == (2, 2, 2, 8)
    padded = np.zeros((8, 4, 2), np.float32)
    padded[:5, :3] = weights[:, 0]
    for channel, row, column in np.ndindex(padded.shape):
        found = packed[channel // 4, row // 2, column].reshape(4, 2)[channel % 4, row % 2]
        assert found == padded[channel, row, column]


@pytest.mark.parametrize("lanes", [1, 8])
def test_convolution_panels_in_groups(lanes: int) -> None:
    """Neighbours are channels of a block, or taps of a row."""
    rng = np.random.default_rng(lanes)
    weights = rng.integers(0, 256, (6, 5, 2, 3)).astype(np.uint8)
    packing = ConvolutionPanels(4, lanes, 1, 4, -128)
    packed = packing.pack(weights)
    assert packed.shape == packing.packed_shape(weights.shape)
    starts, steps = packed[0, :, 0].view(np.int32), packed[0, :, 1:].reshape(2, -1, 4, 4)
    for channel in range(6):
        panel, inside = divmod(channel, 4)
        own = weights[channel]
        assert starts[panel, inside] == 128 * int(own.sum(dtype=np.int32))
        groups = steps[panel, :, inside].reshape(-1)
        if lanes == 1:
            expected = np.pad(own, ((0, 0), (0, 0), (0, 1))).reshape(-1)
        else:
            expected = np.pad(own, ((0, 3), (0, 0), (0, 0))).transpose(1, 2, 0).reshape(-1)
        assert (groups == expected).all()


def test_names_of_packings_say_what_is_unusual() -> None:
    assert str(MatrixPanels(16, True)) == "matrix_panels<16, True>"
    assert str(MatrixPanels(16, True, 4)) == "matrix_panels<16, True, 4>"
    assert str(MatrixPanels(16, True, 4, together=16)) == "matrix_panels<16, True, 4, 0, 16>"
    assert str(ConvolutionPanels(16, 8, 1, 4, 128)) == "convolution_panels<16, 8, 1, 4, 128>"


@pytest.mark.parametrize(("in_block", "vectors"), [(1, 3), (2, 2), (3, 3), (4, 2), (6, 3)])
def test_tiles_have_a_whole_part_of_a_block_of_several_vectors(in_block: int, vectors: int) -> None:
    """Of one vector they may have more blocks."""
    assert choose_tiles(1, 12, 12, 4, in_block=in_block).vectors == vectors
