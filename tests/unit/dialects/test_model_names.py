"""What operations are called in the model that they come from, those that stand for several of its nodes too."""

from placed import program
from xdsl.dialects.builtin import FusedLoc, NameLoc, NoneAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation

from xrelay.dialects.model_names import joint_location, model_name, model_names
from xrelay.transforms.combine.combine_parallel_dense import CombineParallelDensePass


def located(**names: str) -> list[Operation]:
    """The operators of two parallel branches, of which some have names of nodes."""
    module = program(
        "a = nn.dense x x\nb = nn.dense x x\nc = nn.relu a\nd = nn.relu b\ne = add c d\nreturn e"
    )
    for op in module.walk():
        name = names.get(op.results[0].name_hint or "") if op.results else None
        if name is not None:
            op.location = NameLoc(StringAttr(name), UnknownLoc())
    CombineParallelDensePass(to_batch=False, min_num_branches=2).rewrite(module)
    return [op for op in module.walk() if op.name in ("relay.nn.dense", "relay.nn.relu")]


def test_combined_operators_stand_for_all_their_nodes() -> None:
    dense, relu = located(a="query", b="key", c="one", d="two")
    assert model_names(dense) == ("query", "key") and model_name(dense) == "query"
    assert model_names(relu) == ("one", "two")


def test_nodes_without_names_are_left_out() -> None:
    dense, relu = located(b="key")
    assert model_names(dense) == ("key",) and model_names(relu) == ()
    assert model_name(dense) == "key" and model_name(relu) is None


def test_equal_locations_are_one() -> None:
    (dense, _) = located(a="same", b="same", c="same", d="same")
    assert dense.location == NameLoc(StringAttr("same"), UnknownLoc())
    assert joint_location([dense, dense]) == dense.location
    inner = FusedLoc((dense.location, UnknownLoc()), NoneAttr())
    dense.location = FusedLoc((inner, NameLoc(StringAttr("other"), inner)), NoneAttr())
    assert model_names(dense) == ("same", "other")
