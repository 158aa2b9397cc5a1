// RUN: xrelay explain %s | filecheck %s --check-prefix EXPLAIN
// RUN: xrelay compile %s -o %t.mlir && filecheck %s --check-prefix FUSED < %t.mlir
// RUN: xrelay compile %s -o %t.mlir --emit-after import && xrelay run %t.mlir --verify | filecheck %s --check-prefix VERIFY
// RUN: xrelay compile %s -o %t.ll --target x86-64 && filecheck %s --check-prefix LLVM < %t.ll
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

// LLVM: define void @"{{.*}}_run"(

// SUFFIX: xrelay compile: error: -o is '{{.*}}.exe', expected a name that ends with .mlir, .ll, .o, .so
