"""The C interface of saved models."""

from xrelay.runtime.machine import TILES
from xrelay.runtime.signature import FAILURE, FIRST_FAILURE, TOO_DEEP, Signature, TensorSpec


def c_header(signature: Signature, digest: str) -> str:
    """The header of a saved model, whose file has this SHA-256 digest."""
    name = signature.name
    guard = f"{name.upper()}_H"
    threads = "one thread" if signature.threads == 1 else f"a team of {signature.threads} threads"
    run_on = (
        f"void {name}_run_on(void *team, const void *const *inputs, void *const *outputs,\n"
        "                   const void *constants, void *workspace);\n"
    )
    return (
        f"/* {name}: compiled by xrelay for {signature.target}, {threads}.\n"
        " *\n"
        " * Tensors are row-major. The workspace is aligned to 64 bytes and may not be shared\n"
        " * between calls that run at the same time.\n"
        " *\n"
        f"{_listing('inputs', signature.inputs)}{_listing('outputs', signature.outputs)}"
        f"{_failure_note(signature) if signature.most_calls or signature.failures else ''}"
        f"{TILES_NOTE * (TILES in signature.features)}"
        " */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        "#include <stddef.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"#define {name.upper()}_WORKSPACE_BYTES {signature.workspace_bytes}ULL\n\n"
        "/* Of the library or object file that was saved together with this header. */\n"
        f'#define {name.upper()}_SHA256 "{digest}"\n\n'
        f"extern const unsigned char {name}_constants[];\n"
        f"extern const char {name}_metadata[];\n\n"
        f"/* Call as {name}_run(inputs, outputs, {name}_constants, workspace).{RUN_NOTE * signature.has_team}"
        " */\n"
        f"void {name}_run(const void *const *inputs, void *const *outputs,\n"
        "                const void *constants, void *workspace);\n\n"
        f"{team_functions(name, signature.threads, run_on) if signature.has_team else ''}"
        "#ifdef __cplusplus\n}\n#endif\n\n"
        f"#endif /* {guard} */\n"
    )


RUN_NOTE = """
 *
 * Runs on a team that the process keeps for this model and that the first call starts. While
 * another call uses it, or where threads cannot be started, runs on the calling thread alone, with
 * the same result."""
"""What the header says of the function that runs a model with threads."""


TILES_NOTE = (
    " *\n"
    " * Uses the tile registers of AMX: the first run asks Linux for them, for the whole process, and\n"
    " * aborts with a message where they are refused.\n"
)
"""What it says of a model for processors that have them."""


def _failure_note(signature: Signature) -> str:
    """What it says of a model that may end without results."""
    reasons = [
        f"{number}: {_in_comment(message)}"
        for number, message in enumerate(signature.failures, FIRST_FAILURE)
    ]
    if signature.most_calls:
        deep = f"its functions have called themselves more than {signature.most_calls} calls deep"
        reasons.insert(0, f"{TOO_DEEP}: {deep}")
    lines = "".join(f" *   {reason}\n" for reason in reasons)
    return (
        " *\n"
        f" * Afterwards ((const long long *)workspace)[{FAILURE // 8}] is 0, or there are no results\n"
        " * (outputs may have been written to), and it says why:\n"
        f"{lines}"
    )


def _in_comment(text: str) -> str:
    """Text that may stand in a comment of C, in a line."""
    return " ".join(text.split()).replace("*/", "* /")


def team_functions(name: str, threads: int, run_on: str) -> str:
    """The functions for teams of the caller's own, with the declaration of the one that runs on a team."""
    return (
        "/* Teams of the caller's own: the calling thread and threads - 1 workers, which sleep\n"
        " * while nothing runs. One call of run_on at a time uses a team; different teams are\n"
        " * independent. In a child of fork, run_on uses the calling thread alone.\n"
        " * team_create returns NULL when the system refuses; any number of threads from 1 to\n"
        f" * {threads} gives the same result. */\n"
        f"void *{name}_team_create(size_t threads);\n"
        f"{run_on}"
        f"void {name}_team_destroy(void *team);\n\n"
    )


def _listing(title: str, specs: tuple[TensorSpec, ...]) -> str:
    return "".join(
        f" *   {title}[{i}]: {comment_text(str(spec))}\n" for i, spec in enumerate(specs)
    )


def comment_text(text: str) -> str:
    """Text of a model as a comment of C can have it."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return shown.replace("*/", "* /").replace("/*", "/ *")
