// RUN: xrelay-opt -p fuse-ops %s | filecheck %s
// RUN: xrelay-opt -p fuse-ops %s -o %t.mlir && filecheck %s < %t.mlir
// RUN: xrelay-opt -p fuse-ops,convert-relay-to-kernels{target=x86-64},convert-kernels-to-llvm -t llvm %s | filecheck %s --check-prefix LLVM
// RUN: not xrelay-opt -p no-such-pass %s 2>&1 | filecheck %s --check-prefix PASS
// RUN: not xrelay-opt -p convert-kernels-to-llvm %s 2>&1 | filecheck %s --check-prefix KERNEL

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = relay.negative %0 : (tensor<8xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// CHECK:      relay.fused %x
// CHECK:        relay.exp
// CHECK-NEXT:   relay.negative
// CHECK-NEXT:   relay.yield

// LLVM: define void @"fused_exp_negative"(

// PASS:      xrelay-opt: error: -p is 'no-such-pass': there is no pass 'no-such-pass'
// PASS-NOT:  Traceback

// KERNEL:     xrelay-opt: error: pass 'convert-kernels-to-llvm': relay.exp is not part of kernel IR
// KERNEL-NOT: Traceback
