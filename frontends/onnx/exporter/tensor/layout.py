"""The change of a tensor's layout, for its emitter and for those of operators with layouts."""

from collections.abc import Sequence

from xrelay.dialects.tensor.layout import Layout, LayoutTransformOp
from xrelay.frontends.onnx.exporter.graph import EmitterTable, OutputGraph, Tensor


def change_layout(
    graph: OutputGraph, tensor: Tensor, shape: Sequence[int], source: Layout, target: Layout
) -> tuple[Tensor, list[int]]:
    """
    A tensor of a shape in another layout, and its shape there. New blocks are padded with zeros;
    what was padding stays, as by `relay.layout_transform`.
    """
    if source == target:
        return tensor, list(shape)
    lengths = source.lengths(shape)
    if source.blocks:
        tensor = graph.transpose(tensor, _parts(source, source.names))
        tensor = graph.reshape(tensor, [lengths[name] for name in source.names])
    names = source.names
    if not target.blocks:
        tensor = graph.transpose(tensor, [names.index(axis.name) for axis in target.axes])
        return tensor, target.shape(lengths)
    result = target.shape(lengths)
    whole = target.lengths(result)
    missing = [whole[name] - lengths[name] for name in names]
    if any(missing):
        tensor = graph.node("Pad", tensor, graph.integers([*[0] * len(names), *missing]))
    split: list[int] = []
    places: dict[tuple[str, bool], int] = {}
    for name in names:
        places[name, False] = len(split)
        split.append(result[target.index(name)])
        if name in target.blocks:
            places[name, True] = len(split)
            split.append(target.blocks[name])
    tensor = graph.reshape(tensor, split)
    order = [places[axis.name, axis.block is not None] for axis in target.axes]
    return graph.transpose(tensor, order), result


def _parts(layout: Layout, names: Sequence[str]) -> list[int]:
    """Where the axes stand, each with its block after it."""
    order: list[int] = []
    for name in names:
        order.append(layout.index(name))
        if name in layout.blocks:
            order.append(layout.index(name, block=True))
    return order


def layout_transform(graph: OutputGraph, op: LayoutTransformOp) -> Tensor:
    """Transpose, with Reshape where axes are split or joined, and Pad."""
    source, target = op.layouts
    if not source.blocks and not target.blocks:
        axes = [source.names.index(axis.name) for axis in target.axes]
        return graph.transpose(graph.tensor(op.data), axes)
    shape = graph.shape(op.data)
    return change_layout(graph, graph.tensor(op.data), shape, source, target)[0]


EMITTERS: EmitterTable = {LayoutTransformOp: layout_transform}
