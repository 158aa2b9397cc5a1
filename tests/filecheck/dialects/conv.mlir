// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @conv(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %g: tensor<6x2x3x3xf32>, %n: tensor<?x4x?x8xi8>, %k: tensor<6x4x3x3xi8>) {
// CHECK-LABEL: func.func @conv(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %g: tensor<6x2x3x3xf32>, %n: tensor<?x4x?x8xi8>, %k: tensor<6x4x3x3xi8>) {
  %plain = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  // CHECK-NEXT: %plain = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  %one_pad = relay.nn.conv2d %x, %w {padding = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  // CHECK-NEXT: %one_pad = relay.nn.conv2d %x, %w {padding = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  %groups = relay.nn.conv2d %x, %g {strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x6xf32>
  // CHECK-NEXT: %groups = relay.nn.conv2d %x, %g {strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 2>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x6xf32>
  %stated = relay.nn.conv2d %x, %w {channels = 6 : i64, kernel_size = array<i64: 3, 3>, out_layout = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  // CHECK-NEXT: %stated = relay.nn.conv2d %x, %w {channels = 6 : i64, kernel_size = array<i64: 3, 3>, out_layout = "NCHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  %wide = relay.nn.conv2d %n, %k {out_dtype = i32} : (tensor<?x4x?x8xi8>, tensor<6x4x3x3xi8>) -> tensor<?x6x?x6xi32>
  // CHECK-NEXT: %wide = relay.nn.conv2d %n, %k {out_dtype = i32} : (tensor<?x4x?x8xi8>, tensor<6x4x3x3xi8>) -> tensor<?x6x?x6xi32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
