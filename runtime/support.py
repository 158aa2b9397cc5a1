"""
Run-time support that is linked into every compiled model: LLVM IR for what the llvm dialect cannot
say, with no dependency but the C library.

A compiled model has one entry function, which every thread of a *team* runs:

    void <name>_step_all(inputs, outputs, constants, workspace, i64 thread, i64 threads, team)

It calls `xrelay_barrier(team, threads)` between steps that depend on each other,
`xrelay_next_task(team, thread, threads, loop, tasks, last)` for the next task of a loop that the
threads share, `xrelay_poll(team, thread, threads, words)` after each round of a loop of the model and, in a
model that is compiled for profiling, `xrelay_stamp(team, steps)` before the first step and after each
one, by its number (`xrelay_stamp_alone` where the first thread did it alone). Around it this module puts the plain C functions that callers use:

    void <name>_run(inputs, outputs, constants, workspace)
    void *<name>_team_create(size_t threads)
    void <name>_run_on(team, inputs, outputs, constants, workspace)
    void <name>_team_destroy(team)

`synchronization` is what the threads of a team call, `team` how it is made and ends. The results of all
numbers of threads, up to the one that the model is compiled for, are the same bits.
"""

from collections.abc import Mapping

from xrelay.runtime.errors import ModelError
from xrelay.runtime.machine import ARCH_PRCTL, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
from xrelay.runtime.synchronization import BARRIER_PATIENCE_NS, PAUSE, PAUSES, SYNCHRONIZATION
from xrelay.runtime.team import IDLE_PATIENCE_NS, TEAM

MAX_THREADS = 256

SUPPORT_FUNCTIONS = (
    "xrelay_barrier",
    "xrelay_next_task",
    "xrelay_poll",
    "xrelay_stamp",
    "xrelay_stamp_alone",
)
"""What the entry function may call."""
TEAM_FUNCTIONS = ("run_on", "team_create", "team_destroy", "team_stamps")
"""What a model with a team offers beside `run`."""


def support_ir(
    name: str,
    threads: int,
    triple: str,
    *,
    profile: bool = False,
    tiles: bool = False,
    is_shared: bool = True,
) -> str:
    """
    The module to link with a model whose symbols begin with `name`. A model for one thread without
    a profile gets no team: its `<name>_run` calls the entry function, and its barrier does nothing. One for processors with
    `tiles` asks the system for them first. One that is not `is_shared` runs on the calling thread, and wakes no other.

    Raises ModelError for threads on a system that teams are not written for.
    """
    start = f'target triple = "{triple}"\n{_permission_ir() if tiles else ""}'
    values = {"$NAME": name, "$PERMIT": "  call void @xrelay.permit()\n" if tiles else ""}
    if threads == 1 and not profile:
        return start + _filled(_ALONE, values)
    architecture = triple.partition("-")[0]
    if architecture not in PAUSE or "linux" not in triple:
        raise ModelError(
            f"threads and profiles are for Linux on {' or '.join(PAUSE)}, not for {triple}"
        )
    declaration, pause = PAUSE[architecture]
    values |= {
        "$THREADS": str(threads),
        "$DECLARE_PAUSE": declaration,
        "$PAUSE_CALL": pause,
        "$PAUSES": str(PAUSES),
        "$IDLE_PATIENCE": str(IDLE_PATIENCE_NS),
        "$BARRIER_PATIENCE": str(BARRIER_PATIENCE_NS),
        "$SKIP": "" if is_shared else "  br label %alone\nskipped:\n",
    }
    return start + _filled(SYNCHRONIZATION + TEAM + _INTERFACE, values)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with values in their places."""
    for key, value in values.items():
        text = text.replace(key, value)
    return text


REFUSAL = "xrelay: the system does not let this process use the tile registers (AMX) that the model needs\n"
"""What a program reads whose model may not run, before it is aborted."""


def _permission_ir() -> str:
    """LLVM IR of `xrelay.permit`, which asks once, and aborts with a message where it is refused."""
    text = REFUSAL.encode()
    shown = text.decode().replace("\n", "\\0A")
    return f"""
declare i64 @syscall(i64, ...)
declare i64 @write(i32, ptr, i64)
declare void @abort() noreturn

@xrelay.permitted = internal global i32 0
@xrelay.refusal = internal constant [{len(text)} x i8] c"{shown}"

define internal void @xrelay.permit() nounwind {{
  %known = load atomic i32, ptr @xrelay.permitted monotonic, align 4
  %asked = icmp ne i32 %known, 0
  br i1 %asked, label %permitted, label %ask
ask:
  %answer = call i64 (i64, ...) @syscall(i64 {ARCH_PRCTL}, i64 {ARCH_REQ_XCOMP_PERM}, i64 {XFEATURE_XTILEDATA})
  %granted = icmp eq i64 %answer, 0
  br i1 %granted, label %keep, label %refused
keep:
  store atomic i32 1, ptr @xrelay.permitted monotonic, align 4
  br label %permitted
permitted:
  ret void
refused:
  %written = call i64 @write(i32 2, ptr @xrelay.refusal, i64 {len(text)})
  call void @abort()
  unreachable
}}
"""


_ALONE = """
declare void @$NAME_step_all(ptr, ptr, ptr, ptr, i64, i64, ptr)

define void @xrelay_barrier(ptr %team, i64 %threads) nounwind {
  ret void
}

define i64 @xrelay_next_task(ptr %team, i64 %thread, i64 %threads, i64 %loop, i64 %tasks, i64 %last)
    nounwind {
  %next = add i64 %last, 1
  ret i64 %next
}

define i64 @xrelay_poll(ptr %team, i64 %thread, i64 %threads, ptr %words) nounwind {
  %end = load atomic i64, ptr %words monotonic, align 8
  ret i64 %end
}

define void @$NAME_run(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace) nounwind {
$PERMIT  call void @$NAME_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 0, i64 1,
                            ptr null)
  ret void
}
"""

# The team of the process belongs to one run at a time: the word holds the number of the process
# while it is in use, so that a child of fork does not take it for in use forever.
_INTERFACE = """
declare void @$NAME_step_all(ptr, ptr, ptr, ptr, i64, i64, ptr)

@xrelay.shared_team = internal global ptr null
@xrelay.shared_user = internal global i32 0
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @xrelay.unload, ptr null }
]

define ptr @$NAME_team_create(i64 %threads) nounwind {
  %team = call ptr @xrelay.create(i64 %threads)
  ret ptr %team
}

define void @$NAME_team_destroy(ptr %team) nounwind {
  call void @xrelay.destroy(ptr %team)
  ret void
}

; Where the next runs note the time: one number more than there are steps.
define void @$NAME_team_stamps(ptr %team, ptr %stamps) nounwind {
  %field = getelementptr %xrelay.team, ptr %team, i64 0, i32 2
  store ptr %stamps, ptr %field
  ret void
}

define void @$NAME_run_on(ptr %team, ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace)
    nounwind {
$PERMIT$SKIP  %ours = call i1 @xrelay.is_ours(ptr %team)
  br i1 %ours, label %together, label %alone
together:
  %entry.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 0
  %inputs.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 1
  %outputs.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 2
  %constants.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 3
  %workspace.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 4
  store ptr @$NAME_step_all, ptr %entry.at
  store ptr %inputs, ptr %inputs.at
  store ptr %outputs, ptr %outputs.at
  store ptr %constants, ptr %constants.at
  store ptr %workspace, ptr %workspace.at
  call void @xrelay.start(ptr %team)
  call void @xrelay.work(ptr %team, i64 0)
  ret void
alone:
  call void @$NAME_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 0, i64 1,
                            ptr %team)
  ret void
}

; On the team of the process, or on this thread where another run has it, or there can be none.
define void @$NAME_run(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace) nounwind {
start:
$PERMIT$SKIP  %process = call i32 @getpid()
  %user = load atomic i32, ptr @xrelay.shared_user monotonic, align 4
  %busy = icmp eq i32 %user, %process
  br i1 %busy, label %alone, label %take
take:
  %pair = cmpxchg ptr @xrelay.shared_user, i32 %user, i32 %process acq_rel monotonic
  %taken = extractvalue { i32, i1 } %pair, 1
  br i1 %taken, label %look, label %alone
look:
  %known = load ptr, ptr @xrelay.shared_team
  %none = icmp eq ptr %known, null
  br i1 %none, label %create, label %check
check:
  %ours = call i1 @xrelay.is_ours(ptr %known)
  br i1 %ours, label %run, label %create
create:
  %created = call ptr @xrelay.create(i64 $THREADS)
  store ptr %created, ptr @xrelay.shared_team
  %refused = icmp eq ptr %created, null
  br i1 %refused, label %give.back, label %run
run:
  %team = phi ptr [ %known, %check ], [ %created, %create ]
  call void @$NAME_run_on(ptr %team, ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace)
  store atomic i32 0, ptr @xrelay.shared_user release, align 4
  ret void
give.back:
  store atomic i32 0, ptr @xrelay.shared_user release, align 4
  br label %alone
alone:
  call void @$NAME_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 0, i64 1,
                            ptr null)
  ret void
}

; When the process ends, or the library is unloaded.
define internal void @xrelay.unload() nounwind {
  %process = call i32 @getpid()
  %pair = cmpxchg ptr @xrelay.shared_user, i32 0, i32 %process acq_rel monotonic
  %idle = extractvalue { i32, i1 } %pair, 1
  br i1 %idle, label %destroy, label %done
destroy:
  %team = load ptr, ptr @xrelay.shared_team
  call void @xrelay.destroy(ptr %team)
  br label %done
done:
  ret void
}
"""
