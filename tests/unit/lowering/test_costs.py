"""What implementations estimate of themselves."""

import pytest
from xdsl.dialects.builtin import TensorType, bf16, f32, i8, i32
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Operation, SSAValue

from xrelay.dialects.conv.conv import Conv2DOp
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.sort import TopkOp
from xrelay.lowering.emit.strategy import Site
from xrelay.lowering.emit.target import AVX2, AVX512_BF16, AVX512_VNNI, Target
from xrelay.lowering.loops.tiling import converts_ahead
from xrelay.lowering.program.registry import explain_selection


def values(*types: tuple[Attribute, tuple[int, ...]]) -> tuple[SSAValue, ...]:
    return TestOp(result_types=[TensorType(dtype, shape) for dtype, shape in types]).results


def estimate(op: Operation, name: str, target: Target) -> float:
    """The seconds of an implementation, where all operands but the first are constant."""
    site = Site(op, target, constants=frozenset(op.operands[1:]))
    found = {each.implementation.name: each for each in explain_selection(site).candidates}
    cost = found[name].cost
    assert cost is not None
    return cost


def test_a_left_operand_that_is_copied_is_little_of_a_product() -> None:
    """Pairs of bf16 are multiplied at once: rows of an odd length are copied to even ones."""
    seconds: list[float] = []
    for depth in (64, 63):
        data, weight = values((bf16, (256, depth)), (bf16, (256, depth)))
        seconds.append(estimate(DenseOp(data, weight), "panels", AVX512_BF16))
    ready, copied = seconds
    assert ready < copied < 1.5 * ready


@pytest.mark.parametrize("target", [AVX512_VNNI, AVX512_BF16], ids=lambda target: target.name)
def test_taps_of_a_row_are_multiplied_at_once_like_channels_of_a_block(target: Target) -> None:
    """4 channels with 4 taps of a row take as many steps as 16 channels with one."""
    plain = values((i8, (1, 4, 9, 11)), (i8, (16, 4, 2, 4)))
    blocked = values((i8, (1, 1, 9, 8, 16)), (i8, (16, 16, 2, 1)))
    taps, channels = (
        estimate(
            Conv2DOp(*both, data_layout=layout, out_layout="NCHW16c", out_dtype=i32),
            "blocked",
            target,
        )
        for both, layout in ((plain, "NCHW"), (blocked, "NCHW16c"))
    )
    assert taps == channels


@pytest.mark.parametrize("beyond", [0, 1])
def test_rows_that_are_too_long_to_number_their_elements_are_sorted_by_merging(beyond: int) -> None:
    (data,) = values((f32, (2**31 - 1 + beyond,)))
    selection = explain_selection(Site(TopkOp(data, 5), AVX2))
    chosen = "merge sort" if beyond else "selection"
    assert selection.chosen.name == chosen
    reasons = [each.reason for each in selection.refusals]
    assert reasons == ["rows of more than 2147483647 elements"] * beyond


@pytest.mark.parametrize(
    ("threads", "tiles", "panels", "share", "expected"),
    [
        (1, 3, 1, 0.25, True),
        (1, 2, 9, 0.25, False),
        # 128 tasks, of which each panel has 32.
        (16, 65, 4, 0.25, True),
        (16, 64, 4, 0.25, False),
        # There are panels enough.
        (16, 3, 128, 0.25, True),
        (1, 30, 1, 0.5, True),
        (1, 30, 1, 0.51, False),
    ],
)
def test_weights_are_converted_where_many_tiles_of_a_task_read_a_near_panel(
    threads: int, tiles: int, panels: int, share: float, expected: bool
) -> None:
    size = int(share * AVX512_VNNI.l2_bytes)
    assert converts_ahead(AVX512_VNNI, threads, tiles, panels, size) == expected
