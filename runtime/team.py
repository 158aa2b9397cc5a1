"""
The threads of a compiled model: LLVM IR. A team is the calling thread and workers that wait for runs:

    caller:  job ──► epoch + 1 ─┬─ entry(thread 0) ── barrier ──► return
    worker:  wait for epoch ────┴─ entry(thread n) ── barrier ──► wait for epoch

- A child of fork has no workers: a team knows the process that made it, and in any other runs on
  the calling thread alone.
- Signals are blocked in workers: handlers run in the threads of the program.
"""

IDLE_PATIENCE_NS = 100_000
"""How long workers look for the next run before they sleep: longer than the time between two calls
in a loop, and so short that an idle model leaves the cores to others."""

TEAM = """
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
