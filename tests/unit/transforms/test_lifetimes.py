"""Lifetimes in random programs: what is killed is not used any more, and all that is used is killed but the results."""

import pytest
from attribute_programs import THEMES, random_program
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xrelay.dialects.core.functional import ClosureOp, LetOp
from xrelay.dialects.core.memory import KillOp
from xrelay.transforms.functional.to_a_normal_form import ToANormalFormPass
from xrelay.transforms.fuse_ops import FuseOpsPass
from xrelay.transforms.memory.manifest_alloc import ManifestAllocPass
from xrelay.transforms.memory.manifest_lifetimes import ManifestLifetimesPass


def check(module: ModuleOp) -> int:
    """How many names end in the main function, where each has to end as it should."""
    (main,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    used: set[SSAValue] = set()
    killed: set[SSAValue] = set()
    for op in main.body.block.ops:
        assert killed.isdisjoint(op.operands), op
        if isinstance(op, KillOp):
            killed.add(op.to_free)
        elif isinstance(op, ClosureOp):
            outside = [value for inner in op.walk() for value in inner.operands]
            assert killed.isdisjoint(outside), op
            used.update(outside)
        else:
            used.update(op.operands)
    end = main.get_return_op()
    assert end is not None
    names = {
        *main.body.block.args,
        *(op.result for op in main.body.block.ops if isinstance(op, LetOp)),
    }
    assert killed == (used & names) - set(end.arguments)
    return len(killed)


@pytest.mark.parametrize("passes", [(), (FuseOpsPass(),), (FuseOpsPass(), ManifestAllocPass(True))])
def test_names_end_behind_their_last_use(passes: tuple[FuseOpsPass | ManifestAllocPass, ...]):
    ended = 0
    for seed, theme in enumerate(3 * tuple(THEMES)):
        module = random_program(seed, theme, "float32").module().clone()
        for each in (*passes, ToANormalFormPass(), ManifestLifetimesPass()):
            each.apply(Context(), module)
        module.verify()
        ended += check(module)
    assert ended > 100
