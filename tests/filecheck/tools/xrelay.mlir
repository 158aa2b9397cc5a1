// RUN: xrelay explain %s | filecheck %s --check-prefix EXPLAIN
// RUN: xrelay compile %s -o %t.mlir && filecheck %s --check-prefix FUSED < %t.mlir
// RUN: xrelay compile %s -o %t.mlir --emit-after import && xrelay run %t.mlir --verify | filecheck %s --check-prefix VERIFY
// RUN: xrelay compile %s -o %t.ll --target x86-64 && filecheck %s --check-prefix LLVM < %t.ll
// RUN: xrelay compile %s -o %t.ll --threads 2 && filecheck %s --check-prefix TEAM < %t.ll
// RUN: xrelay run %s --threads 2 --verify | filecheck %s --check-prefix VERIFY
// RUN: xrelay run %s --threads 2 --profile | filecheck %s --check-prefix PROFILE
// RUN: xrelay cache | filecheck %s --check-prefix CACHE
// RUN: not xrelay run %s --threads 0 2>&1 | filecheck %s --check-prefix THREADS
// RUN: not xrelay compile %s -o %t.exe 2>&1 | filecheck %s --check-prefix SUFFIX

func.func @main(%x: tensor<2x8xf32>) -> tensor<2xf32> {
  %0 = relay.sum %x {axis = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  %1 = relay.exp %0 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// EXPLAIN:      func.func "main": 2 operators in 2 fused functions
// EXPLAIN:      group 0: sum {{.*}}-> tensor<2xf32>, kind comm_reduce
// EXPLAIN:        ends before exp{{.*}}: rule {{[0-9]+}}: {{.+}}
// EXPLAIN:      group 1: exp {{.*}}-> tensor<2xf32>, kind elemwise

// FUSED:     relay.fused
// FUSED:     relay.fused
// FUSED-NOT: relay.fused

// VERIFY: output0 agrees with the interpreter

// LLVM:     define internal void @{{.*}}_step_all(ptr {{.*}}, ptr {{.*}}, ptr {{.*}}, ptr {{.*}}, i64 {{.*}}, i64 {{.*}}, ptr {{.*}})
// LLVM:     define void @{{.*}}_run(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace)
// LLVM-NOT: pthread

// TEAM: define internal void @xrelay_barrier(ptr %team, i64 %threads)
// TEAM: define ptr @{{.*}}_team_create(i64 %threads)
// TEAM: define void @{{.*}}_team_destroy(ptr %team)
// TEAM: define void @{{.*}}_run_on(ptr %team, ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace)
// TEAM: define void @{{.*}}_run(ptr %inputs, ptr %outputs, ptr %constants, ptr %workspace)

// PROFILE:     step{{.*}}function{{.*}}implementation{{.*}}ms{{.*}}% of run{{.*}}GFLOP/s
// PROFILE-DAG: fused_sum
// PROFILE-DAG: fused_exp
// PROFILE:     ms on 2 threads

// CACHE: XRELAY_CACHE_SIZE is 0: there is no cache

// THREADS: xrelay run: error: threads is 0, expected 1 to 256

// SUFFIX: xrelay compile: error: -o is '{{.*}}.exe', expected a name that ends with .mlir, .onnx, .ll, .o, .so
