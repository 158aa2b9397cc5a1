"""Sub-graphs: what follows from the set of their nodes, which are valid, and what they become."""

import numpy as np
import pytest
from placed import T, graph_of, names, nodes, part, program
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from xrelay.dialects.traits import OpPatternKind
from xrelay.interpreters.arrays import Array
from xrelay.interpreters.relay import interpret
from xrelay.placement.graph import index_set as sets
from xrelay.placement.graph.extraction import extract
from xrelay.placement.graph.rewriting import remove_unused, rewrite
from xrelay.placement.graph.sub_graph import (
    Limits,
    SubGraph,
    are_touching,
    in_dependence_order,
    union,
)

DIAMOND = """
    a = nn.relu x
    b = exp a
    c = tanh a
    d = add b c
    return d
"""
TUPLES = f"""
    %s = relay.split %x {{indices_or_sections = 2 : i64}} : ({T}) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>>
    %p = relay.tuple_get_item %s[0] : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<2x4xf32>
    %q = relay.tuple_get_item %s[1] : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> tensor<2x4xf32>
    %t = relay.tuple %q, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>>
    %r = relay.concatenate %t : (tuple<tensor<2x4xf32>, tensor<2x4xf32>>) -> {T}
    return r
"""
X = np.linspace(-2, 2, 16, dtype=np.float32).reshape(4, 4)


def test_index_sets() -> None:
    found = sets.index_set([5, 2, 9])
    assert list(sets.members(found)) == [2, 5, 9]
    assert (sets.first_inside(found), sets.last_inside(found), sets.first_outside(found)) == (
        2,
        9,
        0,
    )
    assert sets.first_inside(0) == sets.last_inside(0) == -1
    assert sets.first_outside(sets.up_to(7)) == 7


def test_nodes_are_numbered_in_post_order() -> None:
    graph = graph_of(program("b = exp x\na = nn.relu x\ndead = tanh a\nd = subtract a b\nreturn d"))
    assert [node.label for node in graph.nodes] == [
        *("%x", "nn.relu", "tanh", "exp", "subtract", "func.return"),
    ]
    assert [names(graph, users) for users in graph.users[:4]] == ["a b", "d dead", "", "d"]


def test_dominators() -> None:
    graph = graph_of(program(DIAMOND))
    x, a, b, c, d, end = range(6)
    assert graph.post_dominators == [a, d, d, d, end, None]
    assert graph.dominators == [None, x, a, a, a, d]
    assert graph.downstream[b] == sets.index_set([d, end])
    assert graph.downstream[c] == sets.index_set([d, end])


def test_scalar_constants_are_no_nodes() -> None:
    graph = graph_of(
        program(f"""
            %k = relay.constant dense<2.0> : tensor<f32>
            %w = relay.constant dense<3.0> : {T}
            %a = relay.add %x, %k : ({T}, tensor<f32>) -> {T}
            b = add a w
            return b""")
    )
    assert [node.label for node in graph.nodes] == ["%x", "add", "constant", "add", "func.return"]
    assert graph[2].kind is OpPatternKind.ELEMWISE


def test_deep_graphs() -> None:
    lines = "\n".join(f"v{i + 1} = nn.relu v{i}" for i in range(3000))
    graph = graph_of(program(f"{lines}\nreturn v3000", f"%v0: {T}"))
    assert len(graph) == 3002
    assert part(graph, "v1 v2 v3000").depth == 2
    assert SubGraph(graph, graph.everything & ~1).depth == 3001


def test_what_follows_from_a_set() -> None:
    graph = graph_of(program(DIAMOND))
    found = part(graph, "a b")
    assert names(graph, found.entries) == "a"
    assert names(graph, found.exits) == "a b"
    assert names(graph, found.inputs) == "x"
    assert names(graph, found.outputs) == "c d"
    assert (found.depth, found.label) == (2, "nn.relu+exp")
    assert part(graph, "b c").depth == 1
    assert part(graph, "a b c d").depth == 3


def test_kind_is_the_highest() -> None:
    graph = graph_of(program("a = nn.relu x\nb = nn.dense a x\nc = nn.softmax b\nreturn c"))
    assert part(graph, "a").kind is OpPatternKind.ELEMWISE
    assert part(graph, "a b").kind is OpPatternKind.OUT_EWISE_FUSABLE
    assert SubGraph(graph, 1).kind is OpPatternKind.OPAQUE


ANY = Limits(max_exits=0, allow_taps=True)


@pytest.mark.parametrize(
    ("inside", "limits", "problem"),
    [
        ("a b c d", Limits(), None),
        ("b c d", Limits(), None),
        ("a b", Limits(), "it has 2 exits, at most 1 are allowed"),
        ("a b", Limits(max_exits=2), "node 1 is used inside and outside"),
        ("a b", Limits(max_exits=2, allow_taps=True), None),
        ("a d", ANY, "node 2 needs its results and is needed by it"),
        ("b c d", Limits(max_depth=2), None),
        ("a b c d", Limits(max_depth=2), "its depth is 3, at most 2 is allowed"),
        ("", ANY, "it has no node"),
    ],
)
def test_validity(inside: str, limits: Limits, problem: str | None) -> None:
    assert part(graph_of(program(DIAMOND)), inside).problem(limits) == problem


def test_nested_parts_are_disjoint_and_inside() -> None:
    graph = graph_of(program(DIAMOND))
    b, c, bd = (part(graph, names).wrapped({"Composite": names}) for names in ("b", "c", "b d"))
    both = SubGraph(graph, nodes(graph, "b c d"), (*b.nested, *c.nested))
    assert both.problem(Limits()) is None
    overlap = SubGraph(graph, nodes(graph, "b c d"), (*b.nested, *bd.nested))
    assert overlap.problem(Limits()) == "its nested parts overlap, or are not inside"
    outside = SubGraph(graph, nodes(graph, "c d"), b.nested)
    assert outside.problem(Limits()) == "its nested parts overlap, or are not inside"


def test_blocks_are_not_mixed() -> None:
    branches = (
        f"%b = relay.exp %a : ({T}) -> {T} scf.yield %b : {T} }} else {{ scf.yield %a : {T} }}"
    )
    text = f"a = nn.relu x\n%r = scf.if %flag -> ({T}) {{ {branches}\nd = tanh r\nreturn d"
    graph = graph_of(program(text, f"%x: {T}, %flag: i1"))
    assert part(graph, "a b").problem(ANY) == "its nodes are in several blocks"
    assert part(graph, "b").problem(ANY) is None
    assert names(graph, graph.blocks[0]) == "a d end flag r x"


def test_touching() -> None:
    graph = graph_of(program(DIAMOND))
    a, b, d, bc = (part(graph, each) for each in ("a", "b", "d", "b c"))
    assert are_touching(a, b) and are_touching(b, d) and are_touching(a, bc)
    assert not are_touching(b, a), "that way round nothing flows"
    assert not are_touching(a, d), "no output of a is in d"
    assert not are_touching(part(graph, "a b"), d), "c lies between them"
    assert not are_touching(b, part(graph, "b d")), "they overlap"
    chain = graph_of(program("a = nn.relu x\nb = exp a\nc = tanh b\nd = add c a\nreturn d"))
    assert are_touching(part(chain, "a c"), part(chain, "b d")), "no third node is between them"
    assert not are_touching(part(chain, "a d"), part(chain, "b")), "c leads back"


def test_union_joins_nested_functions_but_not_composites() -> None:
    graph = graph_of(program(DIAMOND))
    composites = [part(graph, each).wrapped({"Composite": "one"}) for each in ("b", "c")]
    assert len(union(composites).nested) == 2
    functions = [part(graph, each).wrapped({"Compiler": "one"}) for each in ("b", "c")]
    (joined,) = union(functions).nested
    assert names(graph, joined.sub_graph.inside) == "b c"
    with pytest.raises(ValueError, match="overlap"):
        union([part(graph, "a b"), part(graph, "b")])


def test_order_of_units() -> None:
    graph = graph_of(program(DIAMOND))
    units = [part(graph, each) for each in ("d", "c", "a", "b")]
    assert in_dependence_order(units) == [2, 3, 1, 0]
    assert in_dependence_order([part(graph, "a d"), part(graph, "b")]) is None


def test_substitution() -> None:
    graph, other = (graph_of(program(DIAMOND)) for _ in range(2))
    found = part(graph, "b d").wrapped({"Composite": "one"})
    moved = found.substituted(other, {i: i for i in range(len(graph))})
    assert moved.graph is other and moved.nested[0].sub_graph.graph is other
    assert names(other, moved.inside) == "b d"


# -- functions --------------------------------------------------------------------------------------


def run(module: ModuleOp) -> list[Array]:
    return list(interpret(module, [X]))


def rewritten(
    text: str, *parts: str, **attributes: str | int
) -> tuple[ModuleOp, list[func.FuncOp]]:
    """A program after some parts became functions, which computes what it did."""
    module = program(text)
    expected = run(module)
    graph = graph_of(module)
    made = rewrite(
        module, graph, [part(graph, each).wrapped(attributes) for each in parts]
    ).functions
    module.verify()
    for found, wanted in zip(run(module), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    return module, made


def operators(function: func.FuncOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in function.body.block.ops]


def test_a_part_becomes_a_call() -> None:
    module, (made,) = rewritten(DIAMOND, "b c", Compiler="one", Primitive=1)
    assert operators(made) == ["exp", "tanh", "tuple", "func.return"]
    assert len(made.body.block.args) == 1, "what several nodes need is passed once"
    assert {name: str(value) for name, value in made.attributes.items()} == {
        "Compiler": '"one"',
        "Primitive": "1 : i32",
        "Inline": "1 : i32",
        "global_symbol": '"tvmgen_default_one_main_0"',
    }
    main = next(op for op in module.ops if isinstance(op, func.FuncOp))
    wanted = ["nn.relu", "func.call", "tuple_get_item", "tuple_get_item", "add", "func.return"]
    assert operators(main) == wanted


def test_many_parts_at_once_and_equal_ones_once() -> None:
    text = "a = nn.relu x\nb = exp a\nc = nn.relu b\nd = exp c\ne = tanh d\nreturn e"
    _, made = rewritten(text, "a b", "c d", "e", Compiler="one")
    assert [operators(each)[:-1] for each in made] == [["nn.relu", "exp"], ["tanh"]]


def test_composites_and_fused_groups() -> None:
    module, made = rewritten(DIAMOND, "b c d", Composite="one.part")
    assert not made and "relay.composite" in str(module) and "exp_tanh_add_" in str(module)
    module, made = rewritten(DIAMOND, "b c", Primitive=1)
    assert not made and "relay.fused" in str(module)


def test_composites_within_a_function() -> None:
    module = program(DIAMOND)
    graph = graph_of(module)
    inner = union([part(graph, "a"), part(graph, "b").wrapped({"Composite": "one.exp"})])
    found = union([inner, part(graph, "c d")]).wrapped({"Compiler": "one"})
    (made,) = rewrite(module, graph, [found]).functions
    assert operators(made) == ["nn.relu", "composite", "tanh", "add", "func.return"]
    module.verify()
    np.testing.assert_array_equal(run(module)[0], run(program(DIAMOND))[0])


def test_tuples_are_split_at_borders() -> None:
    for inside in ("r", "t r", "s", "s p", "p", "q t", "s p q t"):
        _, (made,) = rewritten(TUPLES, inside, Compiler="one")
        types = [str(arg.type) for arg in made.body.block.args]
        assert all(each.startswith("tensor") for each in types), inside


def test_constants_go_along_or_become_parameters() -> None:
    text = f"%w = relay.constant dense<3.0> : {T}\na = add x w\nreturn a"
    _, (made,) = rewritten(text, "a", Compiler="one")
    assert operators(made) == ["constant", "add", "func.return"]
    graph = graph_of(program(text))
    assert len(extract(part(graph, "a"), "f", bind_constants=False).arguments) == 2


def test_constants_that_others_use_are_no_results() -> None:
    text = (
        f"%w = relay.constant dense<3.0> : {T}\na = add x w\nb = multiply a w\nc = tanh b\nreturn c"
    )
    graph = graph_of(program(text))
    one, other = part(graph, "a w"), part(graph, "b w")
    assert names(graph, one.exits) == "a" and one.problem(Limits()) is None
    assert are_touching(one, other) and names(graph, union([one, other]).inside) == "a b w"
    module, made = rewritten(text, "a w", "b w", Compiler="one")
    assert [operators(each) for each in made] == [
        ["constant", "add", "func.return"],
        ["constant", "multiply", "func.return"],
    ]
    main = next(op for op in module.ops if isinstance(op, func.FuncOp))
    assert operators(main) == ["func.call", "func.call", "tanh", "func.return"]


def test_regions_that_need_each_other_are_refused() -> None:
    text = "a = nn.relu x\nb = exp x\nc = add a b\nd = add b a\ne = add c d\nreturn e"
    module = program(text)
    graph = graph_of(module)
    parts = [part(graph, each).wrapped({"Compiler": each}) for each in ("a d", "b c")]
    assert in_dependence_order(parts) is None
    with pytest.raises(Exception, match="some regions of the plan need each other's results"):
        rewrite(module, graph, parts)


def test_what_only_unused_operations_use_goes_with_them() -> None:
    """A constant in a tuple of which nothing needs the projection; operators stay."""
    module = program(f"""
        a = exp x
        %c = relay.constant dense<1.0> : {T}
        %t = relay.tuple %c, %x : ({T}, {T}) -> tuple<{T}, {T}>
        %p = relay.tuple_get_item %t[0] : (tuple<{T}, {T}>) -> {T}
        b = nn.relu x
        return b""")
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    remove_unused(main.body.block.ops)
    module.verify()
    left = [op.name for op in main.body.block.ops]
    assert left == ["relay.exp", "relay.nn.relu", "func.return"]
