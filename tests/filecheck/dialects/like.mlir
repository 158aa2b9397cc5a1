// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @like(%x: tensor<2x1x4xf32>, %y: tensor<2x3x4xi8>, %s: tensor<i32>, %shape: tensor<2xi64>, %flat: tensor<2x4xf32>) {
// CHECK-LABEL: func.func @like(%x: tensor<2x1x4xf32>, %y: tensor<2x3x4xi8>, %s: tensor<i32>, %shape: tensor<2xi64>, %flat: tensor<2x4xf32>) {
  %cast = relay.cast_like %x, %y : (tensor<2x1x4xf32>, tensor<2x3x4xi8>) -> tensor<2x1x4xi8>
  // CHECK-NEXT: %cast = relay.cast_like %x, %y : (tensor<2x1x4xf32>, tensor<2x3x4xi8>) -> tensor<2x1x4xi8>
  %full = relay.full_like %x, %s : (tensor<2x1x4xf32>, tensor<i32>) -> tensor<2x1x4xf32>
  // CHECK-NEXT: %full = relay.full_like %x, %s : (tensor<2x1x4xf32>, tensor<i32>) -> tensor<2x1x4xf32>
  %broadcast = relay.broadcast_to_like %x, %y : (tensor<2x1x4xf32>, tensor<2x3x4xi8>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %broadcast = relay.broadcast_to_like %x, %y : (tensor<2x1x4xf32>, tensor<2x3x4xi8>) -> tensor<2x3x4xf32>
  %collapse = relay.collapse_sum_like %y, %x : (tensor<2x3x4xi8>, tensor<2x1x4xf32>) -> tensor<2x1x4xi8>
  // CHECK-NEXT: %collapse = relay.collapse_sum_like %y, %x : (tensor<2x3x4xi8>, tensor<2x1x4xf32>) -> tensor<2x1x4xi8>
  %to = relay.collapse_sum_to %y, %shape : (tensor<2x3x4xi8>, tensor<2xi64>) -> tensor<3x4xi8>
  // CHECK-NEXT: %to = relay.collapse_sum_to %y, %shape : (tensor<2x3x4xi8>, tensor<2xi64>) -> tensor<3x4xi8>
  %reshape = relay.reshape_like %x, %flat : (tensor<2x1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %reshape = relay.reshape_like %x, %flat : (tensor<2x1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %part = relay.reshape_like %x, %flat {lhs_end = 2 : i64, rhs_end = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %part = relay.reshape_like %x, %flat {lhs_end = 2 : i64, rhs_end = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %reverse = relay.contrib_reverse_reshape %x {newshape = array<i64: -1, 0>} : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: %reverse = relay.contrib_reverse_reshape %x {newshape = array<i64: -1, 0>} : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %slice = relay.slice_like %y, %x {axes = array<i64: 1>} : (tensor<2x3x4xi8>, tensor<2x1x4xf32>) -> tensor<2x1x4xi8>
  // CHECK-NEXT: %slice = relay.slice_like %y, %x {axes = array<i64: 1>} : (tensor<2x3x4xi8>, tensor<2x1x4xf32>) -> tensor<2x1x4xi8>
  %lengths = relay.shape_of %x : (tensor<2x1x4xf32>) -> tensor<3xi32>
  // CHECK-NEXT: %lengths = relay.shape_of %x : (tensor<2x1x4xf32>) -> tensor<3xi32>
  %count = relay.ndarray_size %x {dtype = i64} : (tensor<2x1x4xf32>) -> tensor<i64>
  // CHECK-NEXT: %count = relay.ndarray_size %x {dtype = i64} : (tensor<2x1x4xf32>) -> tensor<i64>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
