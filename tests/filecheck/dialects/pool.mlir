// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @pool(%x: tensor<1x3x8x9xf32>, %d: tensor<1x3x?x9xf32>) {
// CHECK-LABEL: func.func @pool(%x: tensor<1x3x8x9xf32>, %d: tensor<1x3x?x9xf32>) {
  %max = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x7x8xf32>
  // CHECK-NEXT: %max = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x7x8xf32>
  %ceil = relay.nn.max_pool2d %x {pool_size = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilation = array<i64: 1, 2>, padding = array<i64: 1, 0>, ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x5x4xf32>
  // CHECK-NEXT: %ceil = relay.nn.max_pool2d %x {pool_size = array<i64: 3, 2>, strides = array<i64: 2, 2>, dilation = array<i64: 1, 2>, padding = array<i64: 1, 0>, ceil_mode = true} : (tensor<1x3x8x9xf32>) -> tensor<1x3x5x4xf32>
  %avg = relay.nn.avg_pool2d %x {count_include_pad = true, pool_size = array<i64: 3, 3>, padding = array<i64: 1>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
  // CHECK-NEXT: %avg = relay.nn.avg_pool2d %x {count_include_pad = true, pool_size = array<i64: 3, 3>, padding = array<i64: 1>} : (tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
  %unknown = relay.nn.avg_pool2d %d {pool_size = array<i64: 2, 2>} : (tensor<1x3x?x9xf32>) -> tensor<1x3x?x8xf32>
  // CHECK-NEXT: %unknown = relay.nn.avg_pool2d %d {pool_size = array<i64: 2, 2>} : (tensor<1x3x?x9xf32>) -> tensor<1x3x?x8xf32>
  %global_max = relay.nn.global_max_pool2d %d : (tensor<1x3x?x9xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %global_max = relay.nn.global_max_pool2d %d : (tensor<1x3x?x9xf32>) -> tensor<1x3x1x1xf32>
  %global_avg = relay.nn.global_avg_pool2d %x : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  // CHECK-NEXT: %global_avg = relay.nn.global_avg_pool2d %x : (tensor<1x3x8x9xf32>) -> tensor<1x3x1x1xf32>
  %up = relay.nn.upsampling %x {scale_h = 2.000000e+00 : f64, scale_w = 1.500000e+00 : f64} : (tensor<1x3x8x9xf32>) -> tensor<1x3x16x14xf32>
  // CHECK-NEXT: %up = relay.nn.upsampling %x {scale_h = 2.000000e+00 : f64, scale_w = 1.500000e+00 : f64} : (tensor<1x3x8x9xf32>) -> tensor<1x3x16x14xf32>
  func.return
  // CHECK-NEXT: func.return
}

func.func @blocked_pools(%x: tensor<1x2x8x8x16xf32>) {
// CHECK-LABEL: func.func @blocked_pools(%x: tensor<1x2x8x8x16xf32>) {
  %max = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x4x4x16xf32>
  // CHECK-NEXT: %max = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x4x4x16xf32>
  %avg = relay.nn.avg_pool2d %x {pool_size = array<i64: 3, 3>, layout = "NCHW16c", out_layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x6x6x16xf32>
  // CHECK-NEXT: %avg = relay.nn.avg_pool2d %x {pool_size = array<i64: 3, 3>, layout = "NCHW16c", out_layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x6x6x16xf32>
  %global_max = relay.nn.global_max_pool2d %x {layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x1x1x16xf32>
  // CHECK-NEXT: %global_max = relay.nn.global_max_pool2d %x {layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x1x1x16xf32>
  %global_avg = relay.nn.global_avg_pool2d %x {layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x1x1x16xf32>
  // CHECK-NEXT: %global_avg = relay.nn.global_avg_pool2d %x {layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x1x1x16xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
