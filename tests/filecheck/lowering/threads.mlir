// RUN: xdsl-opt --split-input-file -p "fuse-ops,convert-relay-to-kernels{target=x86-64-v4 threads=2}" %s | filecheck %s
// RUN: xdsl-opt --split-input-file -p "fuse-ops,convert-relay-to-kernels{target=x86-64-v4}" %s | filecheck %s --check-prefix ALONE
// RUN: xdsl-opt --split-input-file -p "fuse-ops,convert-relay-to-kernels{target=x86-64-v4 threads=2},convert-kernels-to-llvm" %s | filecheck %s --check-prefix LLVM

// The threads share the rounds of each step: the run time hands out one after the other. Where one
// step reads what another wrote they wait for each other.

func.func @main(%x: tensor<640x128xf32>) -> tensor<640x128xf32> {
  %0 = relay.exp %x : (tensor<640x128xf32>) -> tensor<640x128xf32>
  %1 = relay.negative %0 : (tensor<640x128xf32>) -> tensor<640x128xf32>
  %2 = relay.nn.softmax %1 : (tensor<640x128xf32>) -> tensor<640x128xf32>
  func.return %2 : tensor<640x128xf32>
}

// CHECK:         llvm.func @xrelay_barrier(!llvm.ptr, i64)
// CHECK-NEXT:    llvm.func @xrelay_next_task(!llvm.ptr, i64, i64, i64, i64, i64) -> i64
// CHECK:         func.func private @[[FIRST:\w+]](%{{.*}}, %[[THREAD:\w+]]: i64, %[[THREADS:\w+]]: i64, %{{\w+}}: !llvm.ptr)
// CHECK:           %[[FIRST_TASK:\w+]] = llvm.call @xrelay_next_task(%[[TEAM:\w+]], %[[THREAD]], %[[THREADS]], %[[LOOP:\w+]], %[[TASKS:\w+]], %{{\w+}})
// CHECK-NEXT:      scf.while (%[[TASK:\w+]] = %[[FIRST_TASK]]) : (i64) -> i64 {
// CHECK-NEXT:        %[[MORE:\w+]] = arith.cmpi slt, %[[TASK]], %[[TASKS]] : i64
// CHECK-NEXT:        scf.condition(%[[MORE]]) %[[TASK]] : i64
// CHECK-NEXT:      } do {
// CHECK-NEXT:      ^bb0(%[[LAST:\w+]]: i64):
// CHECK:             %[[NEXT:\w+]] = llvm.call @xrelay_next_task(%[[TEAM]], %[[THREAD]], %[[THREADS]], %[[LOOP]], %[[TASKS]], %[[LAST]])
// CHECK-NEXT:        scf.yield %[[NEXT]] : i64
// CHECK:           func.return
// CHECK:         func.func @main(
// CHECK:           func.call @[[FIRST]](
// CHECK-NEXT:      llvm.call @xrelay_barrier(%team, %threads) : (!llvm.ptr, i64) -> ()
// CHECK:           func.call @fused_nn_softmax(
// CHECK-NOT:       @xrelay_barrier
// CHECK:           func.return

// One thread takes all rounds, and waits for nobody.
// ALONE-NOT: @xrelay_barrier
// ALONE-NOT: @xrelay_next_task
// ALONE:     func.func @main(

// LLVM:      llvm.func @xrelay_barrier(!llvm.ptr, i64)
// LLVM:      llvm.func @main(
// LLVM:        llvm.call @xrelay_barrier(%{{\w+}}, %{{\w+}}) : (!llvm.ptr, i64) -> ()
// LLVM:        llvm.return

// -----

// A kernel that prepares its operand waits before it reads it. Each thread has scratch memory of
// its own where one has to keep a tile: the second's begins behind the first's.
func.func @main(%x: tensor<1x1x9x9x16xf32>) -> tensor<1x1x9x9x16xf32> {
  %w = relay.constant dense<0.5> : tensor<16x16x5x5xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 2, 2>, data_layout = "NCHW16c"} : (tensor<1x1x9x9x16xf32>, tensor<16x16x5x5xf32>) -> tensor<1x1x9x9x16xf32>
  %1 = relay.sigmoid %0 : (tensor<1x1x9x9x16xf32>) -> tensor<1x1x9x9x16xf32>
  func.return %1 : tensor<1x1x9x9x16xf32>
}

// CHECK:         func.func private @fused_nn_conv2d_sigmoid(%{{.*}}, %[[SCRATCH:\w+]]: !llvm.ptr, %[[THREAD:\w+]]: i64, %[[THREADS:\w+]]: i64, %[[TEAM:\w+]]: !llvm.ptr)
// CHECK-NOT:       vector.broadcast
// CHECK:           llvm.call @xrelay_barrier(%[[TEAM]], %[[THREADS]]) : (!llvm.ptr, i64) -> ()
// CHECK:           %[[BYTES:\w+]] = arith.muli %[[THREAD]], %{{\w+}} : i64
// CHECK-NEXT:      %[[OWN:\w+]] = llvm.getelementptr %[[SCRATCH]][%[[BYTES]]]
// CHECK-NEXT:      %[[KEPT:\w+]] = llvm.getelementptr %[[OWN]][
// CHECK:           vector.broadcast
// CHECK:           %[[FIRST:\w+]] = llvm.call_intrinsic "llvm.launder.invariant.group.p0"(%[[KEPT]])
// CHECK:           llvm.store %{{\w+}}, %[[FIRST]]
// CHECK-NOT:       @xrelay_barrier
// CHECK:           func.return
