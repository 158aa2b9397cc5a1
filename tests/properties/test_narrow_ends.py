"""
Rule 44 of fusion on random programs: products that meet element by element, behind casts to fewer bits and back, with
constants that several of them use.
"""

from random import Random

import numpy as np
import pytest
from graphs import Graph
from xdsl.dialects.builtin import bf16, f32, f64, i8
from xdsl.ir import SSAValue

from xrelay.analysis.fusion.plan import FusionOptions, FusionPlan, plan_fusion
from xrelay.dialects.nn.dense import DenseOp
from xrelay.dialects.tensor.binary import AddOp, MultiplyOp
from xrelay.dialects.tensor.unary import CastOp, ReluOp

PROGRAMS = 100


class Branches:
    """A program: some products, what becomes of each, and where they meet."""

    def __init__(self, random: Random):
        self.random = random
        self.graph = Graph(0)
        self.inputs = [self.graph.input(np.zeros((4, 4), np.float32)) for _ in range(2)]
        self.row = self.graph.input(np.zeros((1, 4), np.float32))
        self.constants: list[SSAValue] = []
        self.others = list(self.inputs)
        """What a value may be multiplied by, some of which others use as well."""

    def constant(self) -> SSAValue:
        """A number, perhaps one that is there."""
        if not self.constants or self.random.random() < 0.6:
            self.constants.append(self.graph.constant(np.array(0.5, np.float32)))
        return self.random.choice(self.constants)

    def chain(self, value: SSAValue) -> SSAValue:
        """What becomes of a value."""
        g, random = self.graph, self.random
        for _ in range(random.randrange(5)):
            match random.choice(("cast", "cast", "number", "number", "relu", "row", "other")):
                case "cast":
                    value = g.op(CastOp(value, random.choice((i8, i8, bf16, f64))))
                    value = g.op(CastOp(value, f32))
                case "number":
                    value = g.op(random.choice((MultiplyOp, AddOp))(value, self.constant()))
                case "relu":
                    value = g.op(ReluOp(value))
                case "row":
                    value = g.op(AddOp(value, self.row))
                case _:
                    value = g.op(MultiplyOp(value, random.choice(self.others)))
            if random.random() < 0.1:
                self.others.append(value)
        return value

    def build(self) -> Graph:
        """The program."""
        g, random, value = self.graph, self.random, self.inputs[0]
        if random.random() < 0.5:
            self.constant()
        for _ in range(random.randrange(1, 4)):
            products = [
                g.op(DenseOp(value, random.choice(self.inputs)))
                for _ in range(random.randrange(2, 4))
            ]
            value, *rest = map(self.chain, products)
            for other in rest:
                pair = random.sample((value, other), 2)
                value = self.chain(g.op(random.choice((AddOp, MultiplyOp))(*pair)))
        g.returns(value)
        g.module()
        return g


def cuts(plan: FusionPlan) -> int:
    """How often a group ends as rule 44 says, and what follows is in a group with an anchor."""
    count = 0
    for op, node in plan.nodes.items():
        if node.refusal is not None and node.refusal.rule == 44:
            assert node.dominator is not None
            group, behind = plan.group_of[op], plan.group_of[node.dominator.op]
            assert group is not behind
            # What both groups use merges across no end either.
            if group.anchor is not None:
                assert group.root is op and behind.anchor is not None
                count += 1
    return count


@pytest.mark.parametrize("rules", ["cpu", "extended"])
def test_what_follows_is_in_the_other_group(rules: str) -> None:
    found = 0
    for seed in range(PROGRAMS):
        random = Random(seed)
        block = Branches(random).build().block
        depth, most = random.choice((256, 256, 9, 7, 6, 5)), random.choice((0, 0, 4, 6))
        plan = plan_fusion(block, FusionOptions(2, depth, max_function_args=most, rules=rules))
        for node in plan.nodes.values():
            is_merged = (
                node.dominator is not None
                and plan.group_of[node.op] is plan.group_of[node.dominator.op]
            )
            assert not is_merged or node.refusal is None, f"seed {seed}: {node.op}"
        for group in plan.groups:
            assert group.anchor is None or len(plan.computed(group)) <= depth
        found += cuts(plan)
    assert found > PROGRAMS // 10
