"""
Run-time support that is linked into every compiled model: LLVM IR for what the llvm dialect cannot
say, with no dependency but the C library.

A compiled model has one entry function, which every thread of a *team* runs:

    void <name>_step_all(inputs, outputs, constants, workspace, i64 thread, i64 threads, team)

It calls `xrelay_barrier(team, threads)` between steps that depend on each other,
`xrelay_next_task(team, thread, threads, loop, tasks, last)` for the next task of a loop that the
threads share, `xrelay_poll(team, thread, threads, words)` after each round of a loop of the model and, in a
model that is compiled for profiling, `xrelay_stamp(team, steps)` before the first step and after each
one, by its number. Around it this module puts the plain C functions that callers use:

    void <name>_run(inputs, outputs, constants, workspace)
    void *<name>_team_create(size_t threads)
    void <name>_run_on(team, inputs, outputs, constants, workspace)
    void <name>_team_destroy(team)

A team is the calling thread and workers that wait for runs:

    caller:  job ──► epoch + 1 ─┬─ entry(thread 0) ── barrier ──► return
    worker:  wait for epoch ────┴─ entry(thread n) ── barrier ──► wait for epoch

- Who waits spins with the pause instruction, then offers its core to others (sched_yield), then
  sleeps on a condition variable: short waits cost no system call, and long ones no processor time,
  also with more threads than cores.
- A waiter counts itself as a sleeper *before* it looks at the word that it waits for, and who
  changes the word counts the sleepers *after* that, all sequentially consistent: no wake-up is lost.
- The barrier counts arrivals; the last one starts it anew and changes its generation, which the
  others wait for. It needs no sense kept per thread.
- Tasks are handed out by counters, one for each thread and loop between two barriers: a thread
  counts through its own share, then through what is left of the others'. The last one at the
  barrier sets all of them to 0, before any thread can begin the next loops.
- A child of fork has no workers: a team knows the process that made it, and in any other runs on
  the calling thread alone. The results of all numbers of threads, up to the one that the model is
  compiled for, are the same bits.
- Signals are blocked in workers: handlers run in the threads of the program.

Reference: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
multiprocessors" (1991), the centralised barrier.
"""

from xrelay.runtime.errors import ModelError

MAX_THREADS = 256

SUPPORT_FUNCTIONS = ("xrelay_barrier", "xrelay_next_task", "xrelay_poll", "xrelay_stamp")
"""What the entry function may call."""

IDLE_PATIENCE_NS = 100_000
"""How long workers look for the next run before they sleep: longer than the time between two calls
in a loop, and so short that an idle model leaves the cores to others."""
BARRIER_PATIENCE_NS = 1_000_000
"""How long a thread looks for the end of the others' step before it sleeps."""
PAUSES = 512
"""How often a waiter executes the pause instruction before it begins to yield: 10 to 30 µs."""

_ENTRY_TYPE = "ptr, ptr, ptr, ptr, i64, i64, ptr"

_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""By architecture, the instruction that tells a core that it spins: its declaration, its call."""


def support_ir(name: str, threads: int, triple: str, *, profile: bool = False) -> str:
    """
    The module to link with a model whose symbols begin with `name`. A model for one thread without
    a profile gets no team: its `<name>_run` calls the entry function, and its barrier does nothing.

    Raises ModelError for threads on a system that teams are not written for.
    """
    if threads == 1 and not profile:
        return f'target triple = "{triple}"\n' + _ALONE.replace("$NAME", name)
    architecture = triple.partition("-")[0]
    if architecture not in _PAUSES or "linux" not in triple:
        raise ModelError(
            f"threads and profiles are for Linux on {' or '.join(_PAUSES)}, not for {triple}"
        )
    declaration, pause = _PAUSES[architecture]
    values = {
        "$NAME": name,
        "$THREADS": str(threads),
        "$DECLARE_PAUSE": declaration,
        "$PAUSE_CALL": pause,
        "$PAUSES": str(PAUSES),
        "$IDLE_PATIENCE": str(IDLE_PATIENCE_NS),
        "$BARRIER_PATIENCE": str(BARRIER_PATIENCE_NS),
        "$ENTRY": f"void ({_ENTRY_TYPE})",
    }
    text = _WAITING + _TEAM + _INTERFACE
    for key, value in values.items():
        text = text.replace(key, value)
    return f'target triple = "{triple}"\n{text}'


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
  call void @$NAME_step_all(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 0, i64 1,
                            ptr null)
  ret void
}
"""

# What different threads write lies in different cache lines. A mutex and a condition variable of
# zeros are initialised, and take at most 48 bytes each, in glibc and musl.
_WAITING = """
%xrelay.job = type { ptr, ptr, ptr, ptr, ptr } ; entry, inputs, outputs, constants, workspace
%xrelay.word = type { i32, [60 x i8] }
%xrelay.counters = type [16 x i32]
%xrelay.seat = type { ptr, i64, i64, [40 x i8], %xrelay.counters } ; team, number of the thread, its handle
%xrelay.team = type {
  i64, i32, ptr, %xrelay.job,                               ; 0 threads, 1 process, 2 stamps, 3 job
  %xrelay.word, %xrelay.word, %xrelay.word, %xrelay.word,   ; 4 epoch, 5 arrived, 6 generation, 7 sleepers
  [64 x i8], [64 x i8],                                     ; 8 mutex, 9 condition
  i64, i64, i64, [40 x i8],                                 ; 10 workers, 11 time of the last barrier, 12 of the last stamp
  [0 x %xrelay.seat]                                        ; 14 seats
}
%xrelay.time = type { i64, i64 }

$DECLARE_PAUSE
declare i32 @clock_gettime(i32, ptr)
declare i32 @sched_yield()
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

; Nanoseconds of the monotonic clock.
define internal i64 @xrelay.now() nounwind {
  %time = alloca %xrelay.time
  %failed = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %place = getelementptr %xrelay.time, ptr %time, i64 0, i32 1
  %rest = load i64, ptr %place
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %rest
  ret i64 %sum
}

; Returns when the word is no longer the old one.
define internal void @xrelay.await(ptr %team, ptr %word, i32 %old, i64 %patience) nounwind {
start:
  br label %spin
spin:
  %round = phi i32 [ 0, %start ], [ %next, %pause ]
  %spun = load atomic i32, ptr %word acquire, align 4
  %spin.done = icmp ne i32 %spun, %old
  br i1 %spin.done, label %done, label %pause
pause:
  $PAUSE_CALL
  %next = add i32 %round, 1
  %tired = icmp eq i32 %next, $PAUSES
  br i1 %tired, label %begin, label %spin
begin:
  %begun = call i64 @xrelay.now()
  br label %yield
yield:
  %yielded = call i32 @sched_yield()
  %seen = load atomic i32, ptr %word acquire, align 4
  %yield.done = icmp ne i32 %seen, %old
  br i1 %yield.done, label %done, label %measure
measure:
  %now = call i64 @xrelay.now()
  %elapsed = sub i64 %now, %begun
  %patient = icmp ult i64 %elapsed, %patience
  br i1 %patient, label %yield, label %sleep
sleep:
  %mutex = getelementptr %xrelay.team, ptr %team, i64 0, i32 8
  %condition = getelementptr %xrelay.team, ptr %team, i64 0, i32 9
  %sleepers = getelementptr %xrelay.team, ptr %team, i64 0, i32 7
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %look
look:
  %found = load atomic i32, ptr %word seq_cst, align 4
  %look.done = icmp ne i32 %found, %old
  br i1 %look.done, label %awake, label %wait
wait:
  %woken = call i32 @pthread_cond_wait(ptr %condition, ptr %mutex)
  br label %look
awake:
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %done
done:
  ret void
}

; Changes a word that others wait for.
define internal void @xrelay.announce(ptr %team, ptr %word, i32 %new) nounwind {
  store atomic i32 %new, ptr %word seq_cst, align 4
  %sleepers = getelementptr %xrelay.team, ptr %team, i64 0, i32 7
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %wake
wake:
  %mutex = getelementptr %xrelay.team, ptr %team, i64 0, i32 8
  %condition = getelementptr %xrelay.team, ptr %team, i64 0, i32 9
  %locked = call i32 @pthread_mutex_lock(ptr %mutex)
  %woken = call i32 @pthread_cond_broadcast(ptr %condition)
  %unlocked = call i32 @pthread_mutex_unlock(ptr %mutex)
  br label %done
done:
  ret void
}

; Returns when all threads of the team have called it.
define void @xrelay_barrier(ptr %team, i64 %threads) nounwind {
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %done, label %arrive
arrive:
  %generation = getelementptr %xrelay.team, ptr %team, i64 0, i32 6
  %arrived = getelementptr %xrelay.team, ptr %team, i64 0, i32 5
  %old = load atomic i32, ptr %generation acquire, align 4
  %others = atomicrmw add ptr %arrived, i32 1 acq_rel
  %count = trunc i64 %threads to i32
  %all.others = sub i32 %count, 1
  %last = icmp eq i32 %others, %all.others
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %arrived monotonic, align 4
  br label %clear
clear:
  %seat = phi i64 [ 0, %release ], [ %seat.next, %clear ]
  %counters = getelementptr %xrelay.team, ptr %team, i64 0, i32 14, i64 %seat, i32 4
  store %xrelay.counters zeroinitializer, ptr %counters, align 64
  %seat.next = add i64 %seat, 1
  %cleared = icmp eq i64 %seat.next, %threads
  br i1 %cleared, label %let.go, label %clear
let.go:
  %new = add i32 %old, 1
  %stamps.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 2
  %stamps = load ptr, ptr %stamps.at
  %profiled = icmp ne ptr %stamps, null
  br i1 %profiled, label %time, label %open
time:
  %now = call i64 @xrelay.now()
  %time.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 11
  store i64 %now, ptr %time.at
  br label %open
open:
  call void @xrelay.announce(ptr %team, ptr %generation, i32 %new)
  br label %done
wait:
  call void @xrelay.await(ptr %team, ptr %generation, i32 %old, i64 $BARRIER_PATIENCE)
  br label %done
done:
  ret void
}

; The task of a loop that this thread runs after its last one (-1 at first); the number of tasks when
; none is left. A thread alone needs no counters, and may have no team.
define i64 @xrelay_next_task(ptr %team, i64 %thread, i64 %threads, i64 %loop, i64 %tasks, i64 %last)
    nounwind {
start:
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %count, label %share
count:
  %next = add i64 %last, 1
  ret i64 %next
share:
  %owner = phi i64 [ %thread, %start ], [ %owner.wrapped, %more ]
  %visited = phi i64 [ 0, %start ], [ %visited.next, %more ]
  %owner.next = add i64 %owner, 1
  %first.scaled = mul i64 %owner, %tasks
  %end.scaled = mul i64 %owner.next, %tasks
  %first = udiv i64 %first.scaled, %threads
  %end = udiv i64 %end.scaled, %threads
  %size.wide = sub i64 %end, %first
  %size = trunc i64 %size.wide to i32
  %counter = getelementptr %xrelay.team, ptr %team, i64 0, i32 14, i64 %owner, i32 4, i64 %loop
  %seen = load atomic i32, ptr %counter monotonic, align 4
  %open = icmp ult i32 %seen, %size
  br i1 %open, label %take, label %next.owner
take:
  %taken = atomicrmw add ptr %counter, i32 1 monotonic
  %mine = icmp ult i32 %taken, %size
  br i1 %mine, label %found, label %next.owner
found:
  %offset = zext i32 %taken to i64
  %task = add i64 %first, %offset
  ret i64 %task
next.owner:
  %visited.next = add i64 %visited, 1
  %all = icmp eq i64 %visited.next, %threads
  br i1 %all, label %none, label %more
more:
  %wraps = icmp eq i64 %owner.next, %threads
  %owner.wrapped = select i1 %wraps, i64 0, i64 %owner.next
  br label %share
none:
  ret i64 %tasks
}

; Whether loops are to end, which the first word says: the same to all threads. The first thread hands on what it
; finds by one of two further words; the next time, one barrier later, by the other one: a thread
; that is late does not find the answer of the next time.
define i64 @xrelay_poll(ptr %team, i64 %thread, i64 %threads, ptr %words) nounwind {
  %alone = icmp ule i64 %threads, 1
  br i1 %alone, label %look, label %share
look:
  %found = load atomic i64, ptr %words monotonic, align 8
  ret i64 %found
share:
  %generation.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 6
  %generation = load atomic i32, ptr %generation.at acquire, align 4
  %odd = and i32 %generation, 1
  %place = add i32 %odd, 1
  %answer.at = getelementptr i64, ptr %words, i32 %place
  %first = icmp eq i64 %thread, 0
  br i1 %first, label %hand.on, label %wait
hand.on:
  %asked = load atomic i64, ptr %words monotonic, align 8
  store i64 %asked, ptr %answer.at
  br label %wait
wait:
  call void @xrelay_barrier(ptr %team, i64 %threads)
  %answer = load i64, ptr %answer.at
  ret i64 %answer
}

; Adds the time since the last stamp to that of a step that ends. It ends with the barrier behind it, which
; others may have left long ago. Before the first step the number is 0, and the time itself is noted.
define void @xrelay_stamp(ptr %team, i64 %step) nounwind {
  %alone = icmp eq ptr %team, null
  br i1 %alone, label %done, label %look
look:
  %field = getelementptr %xrelay.team, ptr %team, i64 0, i32 2
  %stamps = load ptr, ptr %field
  %wanted = icmp ne ptr %stamps, null
  br i1 %wanted, label %note, label %done
note:
  %place = getelementptr i64, ptr %stamps, i64 %step
  %since.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 12
  %now = call i64 @xrelay.now()
  %start = icmp eq i64 %step, 0
  br i1 %start, label %begin, label %compare
begin:
  store i64 %now, ptr %place
  store i64 %now, ptr %since.at
  br label %done
compare:
  ; A thread alone meets no barrier: what stands there is older than the step before.
  %time.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 11
  %time = load i64, ptr %time.at
  %since = load i64, ptr %since.at
  %met = icmp sge i64 %time, %since
  %end = select i1 %met, i64 %time, i64 %now
  %elapsed = sub i64 %end, %since
  %before = load i64, ptr %place
  %total = add i64 %before, %elapsed
  store i64 %total, ptr %place
  store i64 %end, ptr %since.at
  br label %done
done:
  ret void
}
"""

_TEAM = """
declare i32 @getpid()
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @sigfillset(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

; Does one thread's part of the job.
define internal void @xrelay.work(ptr %team, i64 %thread) nounwind {
  %threads = load i64, ptr %team
  %entry.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 0
  %inputs.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 1
  %outputs.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 2
  %constants.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 3
  %workspace.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 4
  %entry = load ptr, ptr %entry.at
  %inputs = load ptr, ptr %inputs.at
  %outputs = load ptr, ptr %outputs.at
  %constants = load ptr, ptr %constants.at
  %workspace = load ptr, ptr %workspace.at
  call void %entry(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace, i64 %thread,
                   i64 %threads, ptr %team)
  call void @xrelay_barrier(ptr %team, i64 %threads)
  ret void
}

; What a worker does from its start to its end, which is a job without an entry.
define internal ptr @xrelay.worker(ptr %seat) nounwind {
start:
  %team = load ptr, ptr %seat
  %number = getelementptr %xrelay.seat, ptr %seat, i64 0, i32 1
  %thread = load i64, ptr %number
  %epoch = getelementptr %xrelay.team, ptr %team, i64 0, i32 4
  %entry.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 0
  br label %wait
wait:
  %old = phi i32 [ 0, %start ], [ %new, %work ]
  call void @xrelay.await(ptr %team, ptr %epoch, i32 %old, i64 $IDLE_PATIENCE)
  %new = add i32 %old, 1
  %entry = load ptr, ptr %entry.at
  %end = icmp eq ptr %entry, null
  br i1 %end, label %done, label %work
work:
  call void @xrelay.work(ptr %team, i64 %thread)
  br label %wait
done:
  ret ptr null
}

; Starts what the job says in all workers.
define internal void @xrelay.start(ptr %team) nounwind {
  %epoch = getelementptr %xrelay.team, ptr %team, i64 0, i32 4
  %old = load atomic i32, ptr %epoch monotonic, align 4
  %new = add i32 %old, 1
  call void @xrelay.announce(ptr %team, ptr %epoch, i32 %new)
  ret void
}

; Whether this process made the team.
define internal i1 @xrelay.is_ours(ptr %team) nounwind {
  %process.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 1
  %process = load i32, ptr %process.at
  %current = call i32 @getpid()
  %ours = icmp eq i32 %process, %current
  ret i1 %ours
}

; A team of this thread and threads - 1 workers; null for more threads than the model is compiled
; for, and when the system refuses threads or memory.
define internal ptr @xrelay.create(i64 %threads) nounwind {
start:
  %all = alloca [128 x i8], align 8
  %mask = alloca [128 x i8], align 8
  %less = sub i64 %threads, 1
  %fits = icmp ult i64 %less, $THREADS
  br i1 %fits, label %allocate, label %fail
allocate:
  %end = getelementptr %xrelay.team, ptr null, i64 0, i32 14, i64 %threads
  %bytes = ptrtoint ptr %end to i64
  %more = add i64 %bytes, 63
  %size = and i64 %more, -64
  %team = call ptr @aligned_alloc(i64 64, i64 %size)
  %full = icmp eq ptr %team, null
  br i1 %full, label %fail, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %team, i8 0, i64 %size, i1 false)
  store i64 %threads, ptr %team
  %process.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 1
  %process = call i32 @getpid()
  store i32 %process, ptr %process.at
  %workers.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 10
  %filled = call i32 @sigfillset(ptr %all)
  %blocked = call i32 @pthread_sigmask(i32 0, ptr %all, ptr %mask) ; 0: block
  br label %test
test:
  %workers = phi i64 [ 0, %fill ], [ %thread, %started ]
  store i64 %workers, ptr %workers.at
  %complete = icmp eq i64 %workers, %less
  br i1 %complete, label %created, label %launch
launch:
  %thread = add i64 %workers, 1
  %seat = getelementptr %xrelay.team, ptr %team, i64 0, i32 14, i64 %thread
  store ptr %team, ptr %seat
  %number = getelementptr %xrelay.seat, ptr %seat, i64 0, i32 1
  store i64 %thread, ptr %number
  %handle = getelementptr %xrelay.seat, ptr %seat, i64 0, i32 2
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @xrelay.worker, ptr %seat)
  %refused = icmp ne i32 %error, 0
  br i1 %refused, label %give.up, label %started
started:
  br label %test
created:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null) ; 2: set
  ret ptr %team
give.up:
  %put.back = call i32 @pthread_sigmask(i32 2, ptr %mask, ptr null)
  call void @xrelay.destroy(ptr %team)
  br label %fail
fail:
  ret ptr null
}

; Ends the workers of a team that runs nothing.
define internal void @xrelay.destroy(ptr %team) nounwind {
start:
  %none = icmp eq ptr %team, null
  br i1 %none, label %done, label %check
check:
  %ours = call i1 @xrelay.is_ours(ptr %team)
  br i1 %ours, label %stop, label %release
stop:
  %entry.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 3, i32 0
  store ptr null, ptr %entry.at
  call void @xrelay.start(ptr %team)
  %workers.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 10
  %workers = load i64, ptr %workers.at
  br label %test
test:
  %joined = phi i64 [ 0, %stop ], [ %thread, %join ]
  %complete = icmp eq i64 %joined, %workers
  br i1 %complete, label %release, label %join
join:
  %thread = add i64 %joined, 1
  %handle.at = getelementptr %xrelay.team, ptr %team, i64 0, i32 14, i64 %thread, i32 2
  %handle = load i64, ptr %handle.at
  %error = call i32 @pthread_join(i64 %handle, ptr null)
  br label %test
release:
  call void @free(ptr %team)
  br label %done
done:
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
  %ours = call i1 @xrelay.is_ours(ptr %team)
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
  %process = call i32 @getpid()
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
