// RUN: xdsl-opt --split-input-file -p fuse-ops,convert-relay-to-kernels{target=x86-64-v4} %s | filecheck %s --check-prefixes CHECK,WIDE
// RUN: xdsl-opt --split-input-file -p fuse-ops,convert-relay-to-kernels{target=x86-64} %s | filecheck %s --check-prefixes CHECK,NARROW

// One kernel for each fused function, and an entry function that calls them. What a strategy
// chooses may change; here is what has to hold for all of them: vectors are as wide as the
// registers of the target, chains of operators stay in registers, and nothing is stored twice.

// A convolution with its epilogue: bias and relu are computed on the accumulators.
func.func @main(%x: tensor<1x2x4x16xf32>, %w: tensor<1x2x1x1xf32>, %b: tensor<1xf32>) -> tensor<1x1x4x16xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x2x4x16xf32>, tensor<1x2x1x1xf32>) -> tensor<1x1x4x16xf32>
  %1 = relay.nn.bias_add %0, %b : (tensor<1x1x4x16xf32>, tensor<1xf32>) -> tensor<1x1x4x16xf32>
  %2 = relay.nn.relu %1 : (tensor<1x1x4x16xf32>) -> tensor<1x1x4x16xf32>
  func.return %2 : tensor<1x1x4x16xf32>
}

// CHECK-LABEL: builtin.module attributes {xrelay.workspace_bytes = {{[0-9]+}} : i64, xrelay.constant_bytes = 0 : i64, xrelay.constants = []}
// CHECK-NEXT:    func.func private @fused_nn_conv2d_nn_bias_add_nn_relu(%0: !llvm.ptr, %1: !llvm.ptr, %2: !llvm.ptr, %3: !llvm.ptr, %4: !llvm.ptr, %5: i64, %6: i64, %7: !llvm.ptr) attributes {xrelay.kernel,
// CHECK-NOT:       llvm.store
// CHECK:           scf.for
// CHECK-NOT:       llvm.store
// WIDE:              math.fma {{.*}} : vector<16xf32>
// NARROW:            arith.mulf {{.*}} : vector<4xf32>
// NARROW:            arith.addf {{.*}} : vector<4xf32>
// CHECK-NOT:       llvm.store
// CHECK:             scf.yield
// CHECK-NOT:       llvm.store
// WIDE:              %[[SUM:\w+]] = arith.addf {{.*}} : vector<16xf32>
// WIDE-NEXT:         %[[MAX:\w+]] = arith.maximumf %[[SUM]], {{.*}} : vector<16xf32>
// WIDE:              llvm.store %[[MAX]], {{.*}} : vector<16xf32>, !llvm.ptr
// NARROW:            %[[SUM:\w+]] = arith.addf {{.*}} : vector<4xf32>
// NARROW-NEXT:       %[[MAX:\w+]] = arith.maximumf %[[SUM]], {{.*}} : vector<4xf32>
// NARROW:            llvm.store %[[MAX]], {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK:           func.return
// CHECK:         func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %constants: !llvm.ptr, %workspace: !llvm.ptr, %thread: i64, %threads: i64, %team: !llvm.ptr) attributes {xrelay.entry} {
// CHECK:           func.call @fused_nn_conv2d_nn_bias_add_nn_relu
// CHECK-NEXT:      func.return

// -----

// A reduction: four accumulators for each row, put together at its end.
func.func @main(%x: tensor<4x256xf32>) -> tensor<4xf32> {
  %0 = relay.abs %x : (tensor<4x256xf32>) -> tensor<4x256xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<4x256xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @fused_abs_sum(
// CHECK:           scf.for
// CHECK-NOT:       llvm.store
// WIDE:              scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) : i64 {
// WIDE:                %[[ABS:\w+]] = math.absf {{.*}} : vector<16xf32>
// WIDE-NEXT:           arith.addf {{.*}}%[[ABS]]{{.*}} : vector<16xf32>
// NARROW:            scf.for {{.*}} iter_args({{.*}}) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>) : i64 {
// NARROW:              %[[ABS:\w+]] = math.absf {{.*}} : vector<4xf32>
// NARROW-NEXT:         arith.addf {{.*}}%[[ABS]]{{.*}} : vector<4xf32>
// CHECK-NOT:       llvm.store
// CHECK:             scf.yield
// CHECK:             %[[TOTAL:\w+]] = arith.addf {{.*}} : f32
// CHECK:             llvm.store %[[TOTAL]], {{.*}} : f32, !llvm.ptr
// CHECK-NOT:       llvm.store
// CHECK:           func.return

// -----

// Softmax: the maximum of a row, the exponentials, once, and their sum, then the quotients.
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = relay.nn.softmax %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %0 : tensor<4x32xf32>
}

// CHECK-LABEL: func.func private @fused_nn_softmax(
// CHECK:           arith.maxsi
// WIDE:            arith.subf {{.*}} : vector<16xf32>
// WIDE:            math.fma {{.*}} : vector<16xf32>
// NARROW:          arith.subf {{.*}} : vector<4xf32>
// NARROW-NOT:      math.fma
// CHECK:           llvm.store
// CHECK:           %[[TOTAL:\w+]] = arith.addf {{.*}} : f32
// CHECK:           arith.divf {{.*}}, %[[TOTAL]] : f32
// CHECK:           arith.mulf {{.*}} : vector<
// CHECK:           llvm.store
// CHECK:           func.return

// -----

// Broadcasts: a row is loaded as a vector, a column as a scalar. 40 elements are two vectors of
// 16 and one of 8.
func.func @main(%x: tensor<4x40xf32>, %row: tensor<40xf32>, %column: tensor<4x1xf32>) -> tensor<4x40xf32> {
  %0 = relay.add %x, %row : (tensor<4x40xf32>, tensor<40xf32>) -> tensor<4x40xf32>
  %1 = relay.multiply %0, %column : (tensor<4x40xf32>, tensor<4x1xf32>) -> tensor<4x40xf32>
  func.return %1 : tensor<4x40xf32>
}

// CHECK-LABEL: func.func private @fused_add_multiply(
// WIDE:            %[[SUM:\w+]] = arith.addf {{.*}} : vector<16xf32>
// WIDE:            %[[SCALE:\w+]] = vector.broadcast {{.*}} : f32 to vector<16xf32>
// WIDE-NEXT:       %[[PRODUCT:\w+]] = arith.mulf %[[SUM]], %[[SCALE]] : vector<16xf32>
// WIDE:            llvm.store %[[PRODUCT]], {{.*}} : vector<16xf32>, !llvm.ptr
// WIDE:            arith.addf {{.*}} : vector<8xf32>
// WIDE:            arith.mulf {{.*}} : vector<8xf32>
// NARROW:          %[[SUM:\w+]] = arith.addf {{.*}} : vector<4xf32>
// NARROW:          %[[SCALE:\w+]] = vector.broadcast {{.*}} : f32 to vector<4xf32>
// NARROW-NEXT:     %[[PRODUCT:\w+]] = arith.mulf %[[SUM]], %[[SCALE]] : vector<4xf32>
// NARROW:          llvm.store %[[PRODUCT]], {{.*}} : vector<4xf32>, !llvm.ptr
// CHECK:           func.return

// -----

// What only moves elements is a change of addresses: no buffer between transpose and negative.
func.func @main(%x: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %0 = relay.transpose %x : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %1 = relay.negative %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func private @fused_transpose_negative(
// CHECK:           %[[ELEMENT:\w+]] = llvm.load
// CHECK-NEXT:      %[[NEGATIVE:\w+]] = arith.negf %[[ELEMENT]]
// CHECK-NOT:       llvm.load
// CHECK:           llvm.store %[[NEGATIVE]]
// CHECK-NOT:       llvm.store
// CHECK:           func.return

// -----

// Functions of the same structure share a kernel. Buffers that never live together share memory:
// the third result takes the place of the first. Constants lie behind one pointer.
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = relay.constant dense<2.0> : tensor<64x64xf32>
  %0 = relay.nn.softmax %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = relay.nn.softmax %0 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = relay.nn.softmax %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = relay.nn.dense %2, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %3 : tensor<64x64xf32>
}

// CHECK-LABEL: builtin.module attributes {{.*}}xrelay.constant_bytes = 16384 : i64, xrelay.constants = [{offset = 0 : i64, value = dense<2.000000e+00> : tensor<64x64xf32>, packing = "matrix_panels<{{.*}}>"}]}
// CHECK:         func.func private @fused_nn_softmax(
// CHECK-NOT:     func.func private @fused_nn_softmax
// CHECK:         func.func private @fused_nn_dense(
// CHECK:         func.func @main(
// CHECK:           %[[FIRST:\w+]] = llvm.mlir.constant(0) : i64
// CHECK-NEXT:      %[[A:\w+]] = llvm.getelementptr %workspace[%[[FIRST]]]
// CHECK:           func.call @fused_nn_softmax(%{{\w+}}, %[[A]], %{{\w+}}, %thread, %threads, %team)
// CHECK-NEXT:      %[[SECOND:\w+]] = llvm.mlir.constant(16384) : i64
// CHECK-NEXT:      %[[B:\w+]] = llvm.getelementptr %workspace[%[[SECOND]]]
// CHECK:           func.call @fused_nn_softmax(%[[A]], %[[B]], %{{\w+}}, %thread, %threads, %team)
// CHECK-NEXT:      %[[THIRD:\w+]] = llvm.mlir.constant(0) : i64
// CHECK-NEXT:      %[[C:\w+]] = llvm.getelementptr %workspace[%[[THIRD]]]
// CHECK:           func.call @fused_nn_softmax(%[[B]], %[[C]], %{{\w+}}, %thread, %threads, %team)
// CHECK:           llvm.getelementptr %constants[
// CHECK:           func.call @fused_nn_dense(%[[C]],
// CHECK-NEXT:      func.return

// -----

// A reshape, a tuple and an annotation move nothing: there is nothing to compute but a copy.
func.func @main(%x: tensor<4x16xf32>) -> tensor<64xf32> {
  %0 = relay.reshape %x {newshape = array<i64: 64>} : (tensor<4x16xf32>) -> tensor<64xf32>
  func.return %0 : tensor<64xf32>
}

// CHECK-LABEL: builtin.module attributes
// CHECK-NOT:     func.func private
// CHECK:         func.func @main(
// CHECK-NOT:       func.call
// CHECK:           func.return
