"""
How the threads of a compiled model wait for each other, and share tasks: LLVM IR.

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

Reference: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
multiprocessors" (1991), the centralised barrier.
"""

BARRIER_PATIENCE_NS = 1_000_000
"""How long a thread looks for the end of the others' step before it sleeps."""
PAUSES = 512
"""How often a waiter executes the pause instruction before it begins to yield: 10 to 30 µs."""

PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""By architecture, the instruction that tells a core that it spins: its declaration, its call."""

# What different threads write lies in different cache lines. A mutex and a condition variable of
# zeros are initialised, and take at most 48 bytes each, in glibc and musl.
SYNCHRONIZATION = """
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
  call void @xrelay.note(ptr %team, i64 %step, i1 false)
  ret void
}

; The same for a step that this thread did alone, and which ends now.
define void @xrelay_stamp_alone(ptr %team, i64 %step) nounwind {
  call void @xrelay.note(ptr %team, i64 %step, i1 true)
  ret void
}

define internal void @xrelay.note(ptr %team, i64 %step, i1 %by.itself) nounwind {
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
  %later = icmp sge i64 %time, %since
  %shared = xor i1 %by.itself, true
  %met = and i1 %later, %shared
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
