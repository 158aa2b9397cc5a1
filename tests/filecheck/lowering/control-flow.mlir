// RUN: xdsl-opt --split-input-file -p "convert-relay-to-kernels{target=x86-64-v4 threads=2}" %s | filecheck %s

// Branches and loops of the program are those of the entry function, which every thread runs. A number that decides
// is read once all have written it, and all have read it before the next step.

func.func @main(%c: tensor<i1>, %x: tensor<20000xf32>) -> tensor<20000xf32> {
  %b = tensor.extract %c[] : tensor<i1>
  %0 = scf.if %b -> (tensor<20000xf32>) {
    %1 = relay.exp %x : (tensor<20000xf32>) -> tensor<20000xf32>
    scf.yield %1 : tensor<20000xf32>
  } else {
    scf.yield %x : tensor<20000xf32>
  }
  func.return %0 : tensor<20000xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK:         %[[BYTE:\w+]] = llvm.load {{.*}} -> i8
// CHECK:         %[[TRUE:\w+]] = arith.cmpi ne, %[[BYTE]]
// CHECK-NEXT:    scf.if %[[TRUE]] {
// CHECK-NEXT:      llvm.call @xrelay_barrier
// The branch computes straight into the output.
// CHECK:           %[[SLOT:\w+]] = llvm.getelementptr %outputs[0]
// CHECK-NEXT:      %[[OUT:\w+]] = llvm.load %[[SLOT]]
// CHECK:           func.call @fused_exp(%{{\w+}}, %[[OUT]],
// CHECK-NEXT:    } else {
// CHECK-NEXT:      llvm.call @xrelay_barrier
// CHECK-NOT:       func.call
// CHECK:           llvm.call_intrinsic "llvm.memcpy.p0.p0.i64"
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

func.func @main(%x: tensor<20000xf32>) -> tensor<3x20000xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3x20000xf32>
  %a, %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %x, %rows = %e) -> (tensor<20000xf32>, tensor<3x20000xf32>) {
    %1 = relay.exp %s : (tensor<20000xf32>) -> tensor<20000xf32>
    %2 = tensor.insert_slice %1 into %rows[%i, 0][1, 20000][1, 1] : tensor<20000xf32> into tensor<3x20000xf32>
    scf.yield %1, %2 : tensor<20000xf32>, tensor<3x20000xf32>
  }
  func.return %r : tensor<3x20000xf32>
}

// What is carried is written over, and each row goes to its place in the output. A short loop is not asked whether to end.
// CHECK-LABEL: func.func @main(
// CHECK:         llvm.call_intrinsic "llvm.memcpy.p0.p0.i64"
// CHECK-NOT:     llvm.call_intrinsic
// CHECK:         llvm.call @xrelay_barrier
// CHECK-NEXT:    %[[NO:\w+]] = llvm.mlir.constant(false)
// CHECK-NEXT:    scf.while (%[[STOP:\w+]] = %[[NO]], %[[I:\w+]] = %{{\w+}}) : (i1, i64) -> i64 {
// CHECK-NEXT:      arith.cmpi slt, %[[I]]
// CHECK:           scf.condition({{.*}}) %[[I]] : i64
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^bb0(%[[I:\w+]]: i64):
// CHECK:           func.call @fused_exp(%[[A:\w+]], %[[A]],
// CHECK-NEXT:      llvm.call @xrelay_barrier
// CHECK:           %[[ROW:\w+]] = arith.minui %[[I]]
// CHECK:           %[[BYTES:\w+]] = arith.muli %[[ROW]]
// CHECK-NEXT:      llvm.getelementptr %{{\w+}}[%[[BYTES]]]
// CHECK:           llvm.call_intrinsic "llvm.memcpy.p0.p0.i64"
// CHECK-NOT:       llvm.call @xrelay_poll
// CHECK:           func.return

// -----

func.func @main(%x: tensor<20000xf32>) -> tensor<20000xf32> {
  %r = scf.while (%a = %x) : (tensor<20000xf32>) -> tensor<20000xf32> {
    %s = relay.sum %a : (tensor<20000xf32>) -> tensor<f32>
    %l = relay.isfinite %s : (tensor<f32>) -> tensor<i1>
    %c = tensor.extract %l[] : tensor<i1>
    scf.condition(%c) %a : tensor<20000xf32>
  } do {
  ^bb0(%a: tensor<20000xf32>):
    %1 = relay.exp %a : (tensor<20000xf32>) -> tensor<20000xf32>
    scf.yield %1 : tensor<20000xf32>
  }
  func.return %r : tensor<20000xf32>
}

// A loop that may last is asked after each round. What is small, or one sum, the first thread does alone.
// CHECK-LABEL: func.func @main(
// CHECK:         llvm.store %{{\w+}}, %workspace
// CHECK:         scf.while (%[[STOP:\w+]] = %{{\w+}}) : (i1) -> () {
// CHECK:           %[[FIRST:\w+]] = arith.cmpi eq, %thread
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        func.call @fused_sum(
// CHECK-NEXT:      } else {
// CHECK-NEXT:      }
// CHECK-NOT:       llvm.call @xrelay_barrier
// CHECK:           %[[FIRST:\w+]] = arith.cmpi eq, %thread
// CHECK-NEXT:      scf.if %[[FIRST]] {
// CHECK-NEXT:        func.call @fused_isfinite(%{{\w+}}, %[[FINITE:\w+]],
// CHECK-NEXT:      } else {
// CHECK-NEXT:      }
// CHECK-NEXT:      llvm.call @xrelay_barrier
// CHECK-NEXT:      llvm.load %[[FINITE]] {{.*}} -> i8
// CHECK:           arith.xori %[[STOP]]
// CHECK:           scf.condition
// CHECK-NEXT:    } do {
// CHECK-NEXT:      llvm.call @xrelay_barrier
// CHECK:           func.call @fused_exp(%[[A:\w+]], %[[A]],
// CHECK-NEXT:      %[[ASKED:\w+]] = llvm.call @xrelay_poll(%team, %thread, %threads, %workspace)
// CHECK:           scf.yield

