// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @vm(%x: tensor<?x4xf32>, %shape: tensor<2xi64>) -> tensor<2x8xf32> {
// CHECK-LABEL: func.func @vm(%x: tensor<?x4xf32>, %shape: tensor<2xi64>) -> tensor<2x8xf32> {
  %dims = relay.vm.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  // CHECK-NEXT: %dims = relay.vm.shape_of %x : (tensor<?x4xf32>) -> tensor<2xi64>
  %narrow = relay.vm.shape_of %x {dtype = i32} : (tensor<?x4xf32>) -> tensor<2xi32>
  // CHECK-NEXT: %narrow = relay.vm.shape_of %x {dtype = i32} : (tensor<?x4xf32>) -> tensor<2xi32>
  %reshaped = relay.vm.reshape_tensor %x, %shape {newshape = array<i64: 2, 8>} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  // CHECK-NEXT: %reshaped = relay.vm.reshape_tensor %x, %shape {newshape = array<i64: 2, 8>} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<2x8xf32>
  func.return %reshaped : tensor<2x8xf32>
  // CHECK-NEXT: func.return %reshaped : tensor<2x8xf32>
}
// CHECK-NEXT: }

func.func @invoke(%f: !relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, %ins: tuple<tensor<2xf32>>, %outs: tuple<tensor<2xf32>>) -> tuple<> {
  %done = relay.vm.invoke_tvm_op %f, %ins, %outs : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tuple<tensor<2xf32>>, tuple<tensor<2xf32>>) -> tuple<>
  // CHECK: %done = relay.vm.invoke_tvm_op %f, %ins, %outs : (!relay.fn<(tensor<2xf32>) -> tensor<2xf32>>, tuple<tensor<2xf32>>, tuple<tensor<2xf32>>) -> tuple<>
  func.return %done : tuple<>
}
