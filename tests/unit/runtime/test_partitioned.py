"""Models whose parts run in several engines: what steps read and write, and what a caller gets."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from xrelay.runtime.partitioned import Array, PartitionedModel, RegionStep, Slot
from xrelay.runtime.signature import Signature, TensorSpec

ONES = np.ones(3, np.float32)


def spec(name: str) -> TensorSpec:
    return TensorSpec(name, (3,), np.dtype(np.float32))


def model(
    outputs: Sequence[int], steps: Sequence[RegionStep], slots: Sequence[Slot]
) -> PartitionedModel:
    """A model of the input in slot 0 and a constant in slot 1."""
    names = tuple(spec(f"y{number}") for number in range(len(outputs)))
    signature = Signature("steps", (spec("x"),), names, 0, 128, "", (), 1)
    return PartitionedModel(signature, [0], outputs, slots, {1: 2 * ONES}, steps)


def test_each_result_has_memory_of_its_own() -> None:
    """One value twice, an input and a constant as outputs, and arrays that an engine keeps, which cannot be written."""
    kept = 7 * ONES
    kept.flags.writeable = False

    def region(reads: Sequence[Array], writes: Sequence[Array]) -> Sequence[Array]:
        assert not any(each.flags.writeable for each in reads)
        np.add(reads[0], reads[1], out=writes[0])
        return [writes[0], kept]

    step = RegionStep("both", "", "", region, (0, 1), (2, 3), 0)
    found = model([2, 2, 0, 1, 3, 3], [step], [Slot(spec(""))] * 4)
    given = ONES.copy()
    before: list[Any] = [given, kept]
    for _ in range(2):
        results = list(found.run({"x": given}).values())
        for result, expected in zip(results, (3, 3, 1, 2, 7, 7), strict=True):
            np.testing.assert_array_equal(result, expected * ONES)
            assert result.flags.writeable
            assert not any(np.shares_memory(result, other) for other in before)
            before.append(result)
        for result in results:
            result[...] = -1


def test_steps_read_what_earlier_ones_made() -> None:
    """In the workspace, in an array that an engine returns in its place, and in an output."""

    def add(reads: Sequence[Array], writes: Sequence[Array]) -> None:
        np.add(reads[0], reads[1], out=writes[0])

    def other(reads: Sequence[Array], writes: Sequence[Array]) -> Sequence[Array]:
        return [10 * reads[0]]

    slots = [
        Slot(spec("")),
        Slot(spec("")),
        Slot(spec(""), 0),
        Slot(spec(""), 64),
        Slot(spec("")),
        Slot(spec("")),
    ]
    steps = [
        RegionStep("first", "", "", add, (0, 1), (2,), 0),
        RegionStep("second", "", "", other, (2,), (3,), 1),
        RegionStep("third", "", "", add, (2, 3), (4,), 2),
        RegionStep("last", "", "", add, (3, 4), (5,), 3),
    ]
    found = model([4, 5], steps, slots)
    for factor in (1, 2, 3):
        third, last = found.run({"x": factor * ONES}).values()
        first = factor + 2
        np.testing.assert_array_equal(third, 11 * first * ONES)
        np.testing.assert_array_equal(last, 21 * first * ONES)


def test_lists_that_engines_change() -> None:
    """What they get is theirs: own code writes to what is in the lists behind them without a look."""
    sizes: list[int] = []

    def changes(reads: list[Any], writes: list[Any]) -> None:
        writes[0][...] = 5
        writes[0] = np.ones(1000, np.float64)
        reads.clear()

    def fails(reads: list[Any], writes: list[Any]) -> None:
        writes[0] = np.ones(1, np.float32)
        writes.pop()
        raise ValueError("it cannot")

    def own(reads: Sequence[Array], writes: Sequence[Array]) -> None:
        sizes.extend(each.size for each in (*reads, *writes))
        np.add(reads[0], 1, out=writes[0])

    steps: list[Any] = [
        RegionStep("a", "", "", changes, (0,), (2,), 0),
        RegionStep("b", "", "", fails, (2,), (3,), 1, lambda: own),
    ]
    found = model([3], steps, [Slot(spec(""))] * 4).run({"x": ONES})
    np.testing.assert_array_equal(found["y0"], 6 * ONES)
    assert sizes == [3, 3]
