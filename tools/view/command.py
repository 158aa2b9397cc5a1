"""`xrelay view`: reads a model, plans its fusion, and writes what that looks like."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xrelay.collector import collector_paused
from xrelay.compiler import preparation, run_passes
from xrelay.options import CompileOptions, Progress
from xrelay.runtime.files import write_files
from xrelay.tools import arguments
from xrelay.tools.errors import BAD_INPUT, FAILED, CommandFailed, failing_with
from xrelay.tools.explain.lengths import reading_lines
from xrelay.tools.explain.stages import Reader, Stage, require_one, titles
from xrelay.tools.progress import stage_progress
from xrelay.tools.view.dot import dot
from xrelay.tools.view.from_plan import graphs
from xrelay.tools.view.graph import Graph
from xrelay.tools.view.layout import require_igraph
from xrelay.tools.view.page import draw, page, works_of
from xrelay.tools.view.picture import operator_view, standalone, unit_view
from xrelay.tools.view.steps import Work, read_times, steps_of, work_by_operation

SUFFIXES = (".html", ".svg", ".dot")


def view_model(args: argparse.Namespace) -> int:
    """Runs the command."""
    output = Path(args.output)
    if output.suffix not in SUFFIXES:
        raise CommandFailed(
            f"-o is '{output}', expected a name that ends with {', '.join(SUFFIXES)}", BAD_INPUT
        )
    if args.fused and output.suffix == ".html":
        raise CommandFailed("--fused goes with .svg and .dot; the page shows both", BAD_INPUT)
    if args.placement is not None and (args.strategies or args.profile is not None):
        raise CommandFailed(
            "--placement shows costs of a plan, --strategies and --profile those of own code alone",
            BAD_INPUT,
        )
    arguments.require_writable(args.output)
    with stage_progress() as progress, collector_paused():
        if args.placement is None:
            drawn, works, notes = read_graphs(args, progress)
        else:
            drawn, works = read_placed(args, progress), dict[Operation, Work]()
            notes = ()
        if output.suffix != ".dot":
            require_igraph()
        progress("draw the graph")
        if output.suffix == ".dot":
            text = dot(drawn, fused=args.fused)
        elif output.suffix == ".svg":
            graph = max(drawn, key=lambda graph: graph.operators)
            view = unit_view(graph, works_of(graph, works)) if args.fused else operator_view(graph)
            text = standalone(graph, view, hulls=not args.fused)
        else:
            text = page(Path(args.model).name, [draw(graph, works) for graph in drawn], notes)
        with failing_with(BAD_INPUT):
            write_files({output: text.encode(errors="replace")})
    return 0


def read_placed(args: argparse.Namespace, progress: Progress) -> Sequence[Graph]:
    """The graphs of a model, with what a plan says of its operators."""
    from xrelay.placement.plan_file import read_plan
    from xrelay.sources import Source
    from xrelay.tools.view.placement import show_plan

    with failing_with(BAD_INPUT):
        options = arguments.fusion_options(args)
        compile_options = arguments.compile_options(args)
        progress("read the model")
        shapes = arguments.shapes(args.shape)
        source = Source.read(Path(args.model), shapes, compile_options.limits)
    with failing_with(FAILED):
        graph = source.prepared(compile_options, progress)
    with failing_with(BAD_INPUT):
        plan = read_plan(Path(args.placement), graph)
        progress("plan fusion")
        drawn = graphs(source.module, options)
        for each in drawn:
            if each.is_main:
                numbers = {
                    op: number for op, number in graph.numbers.items() if isinstance(op, Operation)
                }
                show_plan(each, numbers, plan)
    return drawn


def read_graphs(
    args: argparse.Namespace, progress: Progress
) -> tuple[Sequence[Graph], Mapping[Operation, Work], Sequence[str]]:
    """
    The graphs of a model, the steps that compute its operations when they are asked for, and what there is to say of
    dimensions that it leaves open.
    """
    with failing_with(BAD_INPUT):
        options = arguments.fusion_options(args)
        compile_options = arguments.compile_options(args)
    stages = _read(args, compile_options, progress)
    notes: list[str] = []
    with failing_with(FAILED):
        progress("plan fusion")
        drawn: list[Graph] = []
        for title, stage in zip(titles(stages), stages, strict=True):
            own = graphs(stage.module, options)
            for each in own:
                each.title = f"{title}: {each.title}" if title else each.title
            drawn += own
            if stage.reading is not None:
                notes += [title] if title else []
                notes += reading_lines(stage.reading)
        if not drawn:
            raise CommandFailed(
                f"nothing to draw: '{args.model}' has no operators of the relay dialect", BAD_INPUT
            )
        if not args.strategies and args.profile is None:
            return drawn, {}, notes
        every = [steps_of(stage.module, options, compile_options, progress) for stage in stages]
    with failing_with(BAD_INPUT):
        # A profile is of a model that is one program.
        times = None if args.profile is None else read_times(Path(args.profile), every[0])
    works = {op: work for steps in every for op, work in work_by_operation(steps, times).items()}
    return drawn, works, notes


def _read(args: argparse.Namespace, options: CompileOptions, progress: Progress) -> list[Stage]:
    """The program of the model, simplified, or its stages."""

    def prepare(module: ModuleOp) -> list[str]:
        if not args.no_simplify:
            run_passes(module, preparation(options), progress, options.limits)
        return []

    needs_sizes = args.strategies or args.profile is not None
    with failing_with(BAD_INPUT):
        reader = Reader(options, prepare, progress, needs_sizes)
        stages = reader.programs(args.model, arguments.shapes(args.shape))
        if args.profile is not None:
            require_one(stages, "--profile")
    return stages
