"""What computes products with matrices of few bits, and why something else does not."""

from itertools import pairwise

import pytest
from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, f32
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from xrelay.dialects.qnn.blocks import QnnDenseBlocksOp
from xrelay.lowering.emit.strategy import Selection, Site
from xrelay.lowering.emit.target import AVX2, AVX512, AVX512_VNNI, GENERIC, Target
from xrelay.lowering.operators.qnn.blocks_product import BlocksProduct
from xrelay.lowering.program.registry import explain_selection

ui8 = IntegerType(8, Signedness.UNSIGNED)
OPERANDS = ("data", "weight", "weight_scale", "weight_zero_point")


def selection(
    rows: int,
    depth: int = 1024,
    size: int = 32,
    target: Target = AVX512,
    *unknown: str,
    data_bits: int = 32,
) -> Selection:
    """For a product with a matrix of 1024 rows, all of which is constant but what is named."""
    blocks = -(-depth // size)
    types = [
        TensorType(f32, [rows, depth]),
        TensorType(ui8, [1024, -(-depth // 2)]),
        TensorType(f32, [1024, blocks]),
        TensorType(ui8, [1024, blocks]),
    ]
    args = Block(arg_types=types).args
    op = QnnDenseBlocksOp(*args, block_size=size, data_bits=data_bits)
    constants: list[SSAValue] = [
        value for name, value in zip(OPERANDS, args, strict=True) if name not in ("data", *unknown)
    ]
    return explain_selection(Site(op, target, constants=frozenset(constants)))


@pytest.mark.parametrize("target", [GENERIC, AVX2, AVX512])
@pytest.mark.parametrize("rows", [1, 2, 8])
def test_few_rows_are_unpacked_in_registers(target: Target, rows: int) -> None:
    assert selection(rows, 1024, 32, target).chosen.name == "streamed-blocks"


def test_many_rows_are_unpacked_into_memory_where_that_takes_many_instructions() -> None:
    assert selection(512, 1024, 32, AVX2).chosen.name == "unpacked-blocks"


@pytest.mark.parametrize("target", [GENERIC, AVX2, AVX512_VNNI])
@pytest.mark.parametrize("rows", [0, 1, 8, 512])
def test_products_of_data_of_8_bits_are_those_of_integers(target: Target, rows: int) -> None:
    found = selection(rows, 1024, 32, target, data_bits=8)
    assert found.chosen.name == "rounded-blocks"
    assert [each.reason for each in found.refusals] == ["data that are rounded to 8 bits"] * 2
    costs = [
        selection(rows, 1024, 32, target, data_bits=bits).candidates[0].cost for bits in (8, 32)
    ]
    assert costs[0] is not None and costs[1] is not None
    assert costs[0] < costs[1] or rows == 0 or not target.vnni


def test_estimates_grow_with_rows() -> None:
    costs = [selection(rows).candidates[0].cost for rows in (8, 16, 64, 512)]
    assert all(
        less is not None and more is not None and less < more for less, more in pairwise(costs)
    )


@pytest.mark.parametrize(
    ("depth", "size", "unknown", "reason"),
    [
        (1024, 20, (), "blocks of 20, words of 32 bits have 8 numbers"),
        (1024, 32, ("weight",), "weights that are computed, or used twice"),
        (1024, 32, ("weight_scale",), "weights that are computed, or used twice"),
        (1024, 32, ("weight_zero_point",), "weights that are computed, or used twice"),
        (0, 32, (), "rows without elements"),
    ],
)
def test_what_is_computed_number_by_number(
    depth: int, size: int, unknown: tuple[str, ...], reason: str
) -> None:
    found = selection(1, depth, size, AVX512, *unknown)
    assert found.chosen.name == "each-number"
    other = "data that are not rounded to 8 bits"
    assert [each.reason for each in found.refusals] == [reason, reason, other]


def test_one_block_need_not_be_whole_words() -> None:
    assert selection(1, 20, 30).chosen.name == "streamed-blocks"


@pytest.mark.parametrize(("size", "problem"), [(1, None), (0, "'block_size' is 0"), (-1, "is -1")])
def test_sizes_of_blocks(size: int, problem: str | None) -> None:
    blocks = 16 // max(size, 1)
    types = [
        TensorType(f32, [2, 16]),
        TensorType(ui8, [3, 8]),
        TensorType(f32, [3, blocks]),
        TensorType(ui8, [3, blocks]),
    ]
    args = Block(arg_types=types).args
    if problem is None:
        QnnDenseBlocksOp(*args, block_size=size).verify()
    else:
        with pytest.raises(VerifyException, match=problem):
            QnnDenseBlocksOp(*args, block_size=size).verify()


@pytest.mark.parametrize("target", [GENERIC, AVX2, AVX512])
def test_no_rows_cost_nothing(target: Target) -> None:
    costs = {
        each.implementation.name: each.cost for each in selection(0, 64, 32, target).candidates
    }
    assert costs["streamed-blocks"] == costs["unpacked-blocks"] == 0.0


@pytest.mark.parametrize("target", [GENERIC, AVX2, AVX512])
def test_weights_beyond_the_near_cache_arrive_from_memory(target: Target) -> None:
    """One row takes as long as they need to arrive, and many rows as long as the arithmetic does."""
    seconds: list[float] = []
    for rows, depth in ((1, 64), (1, 2**16), (2**12, 2**16)):
        found = selection(rows, depth, 32, target)
        (cost,) = (
            each.cost
            for each in found.candidates
            if each.implementation.name == "streamed-blocks" and each.cost is not None
        )
        arrival = BlocksProduct.of(found.site.op, target).packed_bytes / target.memory_bandwidth
        seconds.append(cost / arrival)
    near, far, many = seconds
    assert near != 1.0
    assert far >= 1.0
    assert many > 100 * far
