"""
Where the tensors of random programs lie: the entry function is run step by step on memory that is full of
garbage, with NumPy for the kernels. So nothing that a step reads may have been written over, by whatever
shares memory with it.

The kernels themselves are left out: a step reads its operands, spoils its scratch memory, and writes its results.
"""

import numpy as np
import pytest
from entry_runs import simulated
from graphs import leaves
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import BLOCKED, IMAGES, RandomProgram, programs
from tiers import examples

from xrelay.compiler import context
from xrelay.interpreters.relay import interpret
from xrelay.transforms.fuse_ops import FuseOpsPass

KINDS = (
    *("unary", "unary", "binary", "binary", "binary", "softmax", "concatenate", "concatenate"),
    *("concatenate", "flatten", "tuple", "field", "expand", "slice", "transpose", "reduce", "cast"),
)
CONVOLUTIONS = ("conv", "conv", "conv", "pool", "pool")
SHAPES = {
    "rows": (KINDS, ((1, 3), (1, 3), (2, 3))),
    "sizes 0, 1 and 40": (KINDS, ((40, 1), (0, 1), (1,), ())),
    "images": ((*KINDS, *CONVOLUTIONS, *CONVOLUTIONS), IMAGES),
    "blocks": ((*KINDS[:12], *CONVOLUTIONS, *CONVOLUTIONS), BLOCKED),
}
"""Small programs of operators that write over others, and of those that are written into others."""


@pytest.mark.parametrize("shapes", SHAPES)
def test_nothing_that_is_read_was_written_over(
    shapes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds, types = SHAPES[shapes]

    @examples(25)
    @given(
        programs(kinds, size=12, reach=4, shapes=types),
        st.sampled_from(["relay", "cpu"]),
        st.sampled_from([0, 0, 2]),
        st.sampled_from([1, 1, 2, 3]),
    )
    def check(program: RandomProgram, rules: str, level: int, threads: int) -> None:
        expected = [np.asarray(x) for x in leaves(interpret(program.module, program.inputs))]
        FuseOpsPass(rules=rules, opt_level=level).apply(context(), program.module)
        found = simulated(program.main, program.inputs, threads, monkeypatch)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    check()
