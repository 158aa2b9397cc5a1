"""The memory plan: buffers that live together never overlap, and others share memory."""

import sys
from types import FrameType
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from xrelay.analysis.facts.memory_plan import ALIGNMENT, Lifetime, MemoryPlan, plan_memory

LIFETIMES = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(size, first, first + length),
        st.sampled_from([0, 1, 63, 64, 65, 100, 128, 1000]) | st.integers(0, 5000),
        st.integers(0, 30),
        st.integers(0, 8),
    ),
    max_size=40,
)


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def check(lifetimes: list[Lifetime], plan: MemoryPlan) -> None:
    assert len(plan.offsets) == len(lifetimes)
    buffers = list(zip(lifetimes, plan.offsets, strict=True))
    for lifetime, offset in buffers:
        assert offset % ALIGNMENT == 0
        assert 0 <= offset and offset + lifetime.size <= plan.size
    for i, (one, start) in enumerate(buffers):
        for other, other_start in buffers[:i]:
            if one.first <= other.last and other.first <= one.last:
                apart = start + one.size <= other_start or other_start + other.size <= start
                assert apart, f"{one} at {start} overlaps {other} at {other_start}"


@given(LIFETIMES)
@settings(deadline=None, derandomize=True, max_examples=400)
def test_buffers_that_live_together_do_not_overlap(lifetimes: list[Lifetime]):
    plan = plan_memory(lifetimes)
    check(lifetimes, plan)
    assert plan.size <= sum(aligned(max(1, lifetime.size)) for lifetime in lifetimes)
    steps = {step for lifetime in lifetimes for step in (lifetime.first, lifetime.last)}
    needed = (sum(x.size for x in lifetimes if x.first <= step <= x.last) for step in steps)
    assert plan.size >= max(needed, default=0)
    assert plan == plan_memory(lifetimes)


def test_nothing_needs_nothing():
    assert plan_memory([]) == MemoryPlan((), 0)


def test_a_chain_takes_the_memory_of_two_buffers():
    chain = [Lifetime(1000, step, step + 1) for step in range(20)]
    plan = plan_memory(chain)
    check(chain, plan)
    assert plan.size == 2 * aligned(1000)


def test_a_freed_buffer_is_used_again_by_smaller_ones():
    lifetimes = [Lifetime(1024, 0, 0), Lifetime(64, 0, 3), *[Lifetime(256, 1, 2)] * 4]
    plan = plan_memory(lifetimes)
    check(lifetimes, plan)
    assert plan.size == 1024 + 64


def test_neighbouring_holes_are_joined():
    lifetimes = [*[Lifetime(64, 0, 0)] * 4, Lifetime(256, 1, 1)]
    plan = plan_memory(lifetimes)
    check(lifetimes, plan)
    assert plan.size == 256


def test_a_hole_at_the_end_grows():
    lifetimes = [Lifetime(64, 0, 2), Lifetime(64, 0, 0), Lifetime(640, 1, 1)]
    plan = plan_memory(lifetimes)
    check(lifetimes, plan)
    assert plan.size == 64 + 640


def test_the_last_step_of_one_buffer_is_not_shared_with_the_first_of_another():
    plan = plan_memory([Lifetime(64, 0, 1), Lifetime(64, 1, 2)])
    assert plan.offsets[0] != plan.offsets[1]


def test_buffers_of_no_bytes_take_no_place():
    lifetimes = [Lifetime(0, 0, 9), Lifetime(64, 3, 4), Lifetime(0, 3, 3)]
    assert plan_memory(lifetimes) == MemoryPlan((0, 0, 0), 64)


@given(LIFETIMES)
@settings(deadline=None, derandomize=True, max_examples=50)
def test_with_many_pairs_the_order_of_the_steps_decides(lifetimes: list[Lifetime]):
    with patch("xrelay.analysis.facts.memory_plan.MOST_PAIRS", 0):
        check(lifetimes, plan_memory(lifetimes))


def test_work_grows_no_faster_than_the_steps():
    counts = [calls(count) for count in (250, 500, 1000)]
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])


def calls(count: int) -> int:
    """How many functions are called, those of C as well, to plan a chain of steps beside a long life."""
    chain = [Lifetime(64 + 64 * (step % 7), step, step + 1) for step in range(count)]
    found = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        plan_memory([Lifetime(64, 0, count), *chain])
    finally:
        sys.setprofile(before)
    return found


def test_the_smallest_gap_that_is_large_enough_is_taken() -> None:
    """The largest one would leave no room for what comes later: this takes 27 lines of memory then 30."""
    lines = [(7, 1, 2), (3, 2, 3), (7, 0, 0), (6, 0, 1), (6, 2, 4), (6, 1, 3), (5, 2, 3), (8, 1, 1)]
    lifetimes = [Lifetime(size * ALIGNMENT, first, last) for size, first, last in lines]
    plan = plan_memory(lifetimes)
    check(lifetimes, plan)
    assert plan.size == 27 * ALIGNMENT
