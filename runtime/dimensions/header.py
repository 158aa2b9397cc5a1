"""The C interface of saved models that take dimensions."""

from __future__ import annotations

from xrelay.runtime.dimensions.interface import OpenInterface, lengths_of, rows_of
from xrelay.runtime.header import RUN_NOTE, TILES_NOTE, comment_text, team_functions
from xrelay.runtime.signature import OpenTensor


def c_header(interface: OpenInterface, digest: str) -> str:
    """The header of a saved model, whose file has this SHA-256 digest."""
    name = interface.name
    guard = f"{name.upper()}_H"
    first = interface.programs[0]
    threads = "one thread" if first.threads == 1 else f"a team of {first.threads} threads"
    arguments = [each.argument for each in interface.dimensions]
    listed = ", ".join(f"int64_t {each}" for each in arguments)
    tensors = "const void *const *inputs, void *const *outputs,\n"
    rest = f"{tensors}    const void *constants, void *workspace);\n\n"
    run_on = f"int32_t {name}_run_on(void *team, {listed},\n    {rest}"
    return (
        f"/* {name}: compiled by xrelay for {first.target}, {threads}.\n"
        " *\n"
        " * Tensors are row-major. The workspace is aligned to 64 bytes and may not be shared\n"
        " * between calls that run at the same time.\n"
        " *\n"
        f"{_listing(interface)}"
        f"{TILES_NOTE * interface.uses_tiles}"
        " */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        "#include <stddef.h>\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        "/* What run gives back: it has run, or no program of this file serves the dimensions, and\n"
        " * nothing was written. */\n"
        f"#define {name.upper()}_OK 0\n"
        f"#define {name.upper()}_NO_PROGRAM 1\n\n"
        "/* Of the library or object file that was saved together with this header. */\n"
        f'#define {name.upper()}_SHA256 "{digest}"\n\n'
        f"extern const unsigned char {name}_constants[];\n"
        f"extern const char {name}_metadata[];\n\n"
        "/* The size of the workspace for some dimensions; -1 where no program serves them. */\n"
        f"int64_t {name}_workspace_bytes({listed});\n\n"
        "/* The size of an output, by its number; -1 also for a number that there is none of. */\n"
        f"int64_t {name}_output_bytes(int64_t number, {listed});\n\n"
        f"/* Call as {name}_run({', '.join(arguments)}, inputs, outputs,\n"
        f" * {name}_constants, workspace).{RUN_NOTE * first.has_team} */\n"
        f"int32_t {name}_run({listed},\n    {rest}"
        f"{team_functions(name, first.threads, run_on) if first.has_team else ''}"
        "#ifdef __cplusplus\n}\n#endif\n\n"
        f"#endif /* {guard} */\n"
    )


def _listing(interface: OpenInterface) -> str:
    """The dimensions and tensors, and what the programs serve."""
    lines = ["dimensions:"]
    taken = interface.taken
    rows = rows_of(interface.inputs, interface.values)
    for each in interface.dimensions:
        places = ", ".join(
            f"axis {axis} of inputs[{number}]"
            if number < len(taken)
            else f"element {axis} of '{rows[number].name}', which is no input here"
            for number, axis in each.places
        )
        stated = interface.ranges.get(each.name)
        between = "" if stated is None else f", stated to be from {stated[0]} to {stated[1]}"
        own = "" if each.argument == each.name else f" ('{each.name}')"
        lines.append(f"  {each.argument}{own}: {places}{between}")
    arguments = {each.name: each.argument for each in interface.dimensions}
    for number, spec in enumerate(taken):
        lines.append(f"inputs[{number}]: {_tensor(spec, arguments)}")
    lines += ["", "programs, of which the first that serves the dimensions of a call runs:"]
    for number, (program, conditions) in enumerate(
        zip(interface.programs, interface.conditions(), strict=True), 1
    ):
        lines.append(f"  {number}. {conditions}")
        shapes = lengths_of(program).texts[1]
        for i, (spec, shape) in enumerate(zip(program.outputs, shapes, strict=True)):
            text = "".join(f"[{each}]" for each in shape)
            lines.append(f"     outputs[{i}]: '{spec.name}' {spec.dtype}{text}")
    return "".join(f" * {comment_text(line)}".rstrip() + "\n" for line in lines)


def _tensor(spec: OpenTensor, arguments: dict[str, str]) -> str:
    """A tensor with the dimensions as C names them."""
    names = [spec.length_name(axis) for axis in range(len(spec.dims or ()))]
    shape = "".join(
        f"[{dim if name is None else arguments[name]}]"
        for dim, name in zip(spec.dims or (), names, strict=True)
    )
    return f"'{spec.name}' {spec.dtype}{shape}"
