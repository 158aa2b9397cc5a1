// RUN: xdsl-opt -p 'combine-parallel-conv2d{min-num-branches=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-conv2d{min-num-branches=2},combine-parallel-conv2d{min-num-branches=2}' %s | filecheck %s
// RUN: xdsl-opt -p 'combine-parallel-conv2d{min-num-branches=2 rules=cpu}' %s | filecheck %s --check-prefix=CPU

// Of three convolutions two have kernels of the same size. Biases in front of the last axis stay with the original's rules.
// CHECK-LABEL: func.func @same_kernels
// CHECK: relay.concatenate
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d %x, {{%.*}} {channels = 5 : i64}
// CHECK-NEXT: [[A:%.*]] = relay.strided_slice [[C]] {begin = array<i64: 0, 0>, end = array<i64: -1, 2>, strides = array<i64: 1, 1>, slice_mode = "size"}
// CHECK-NEXT: [[B:%.*]] = relay.strided_slice [[C]] {begin = array<i64: 0, 2>, end = array<i64: -1, 3>, strides = array<i64: 1, 1>, slice_mode = "size"}
// CHECK-NEXT: relay.nn.bias_add [[A]], %a
// CHECK-NEXT: relay.nn.bias_add [[B]], %b
// CHECK-NEXT: relay.nn.conv2d %x, %w
// CPU-LABEL: func.func @same_kernels
// CPU: [[S:%.*]] = relay.nn.bias_add
// CPU-NEXT: relay.strided_slice [[S]] {begin = array<i64: 0>, end = array<i64: 2>, axes = array<i64: 1>}
// CPU-NEXT: relay.strided_slice [[S]] {begin = array<i64: 2>, end = array<i64: 5>, axes = array<i64: 1>}
func.func @same_kernels(%x: tensor<1x3x4x4xf32>, %u: tensor<2x3x1x1xf32>, %v: tensor<3x3x1x1xf32>, %w: tensor<2x3x3x3xf32>, %a: tensor<2xf32>, %b: tensor<3xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = relay.nn.conv2d %x, %u {padding = array<i64: 0, 0>, channels = 2 : i64} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.bias_add %0, %a : (tensor<1x2x4x4xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  %2 = relay.nn.conv2d %x, %v {padding = array<i64: 0, 0>, channels = 3 : i64} : (tensor<1x3x4x4xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x4x4xf32>
  %3 = relay.nn.bias_add %2, %b : (tensor<1x3x4x4xf32>, tensor<3xf32>) -> tensor<1x3x4x4xf32>
  %4 = relay.nn.conv2d %x, %w : (tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32>) -> tensor<1x2x2x2xf32>
  return %1, %3, %4 : tensor<1x2x4x4xf32>, tensor<1x3x4x4xf32>, tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @keep_other_strides
// CHECK-NOT: relay.concatenate
// CHECK: func.return
func.func @keep_other_strides(%x: tensor<1x3x4x4xf32>, %u: tensor<2x3x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = relay.nn.conv2d %x, %u : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %x, %u {strides = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x2x2xf32>
  return %0, %1 : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>
}

// CHECK-LABEL: func.func @keep_groups
// CHECK-NOT: relay.concatenate
// CHECK: func.return
func.func @keep_groups(%x: tensor<1x2x4x4xf32>, %u: tensor<2x1x1x1xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %0 = relay.nn.conv2d %x, %u {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = relay.nn.conv2d %x, %u {groups = 2 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  return %0, %1 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// CHECK-LABEL: func.func @channels_last
// CHECK: relay.concatenate {{.*}} {axis = 3 : i64}
// CHECK-NEXT: [[C:%.*]] = relay.nn.conv2d
// CHECK: [[B:%.*]] = relay.nn.bias_add [[C]]
// CHECK-NEXT: relay.strided_slice [[B]] {begin = array<i64: 0, 0, 0, 0>, end = array<i64: -1, -1, -1, 2>, strides = array<i64: 1, 1, 1, 1>, slice_mode = "size"}
func.func @channels_last(%x: tensor<1x4x4x3xf32>, %u: tensor<1x1x3x2xf32>, %a: tensor<2xf32>) -> (tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>) {
  %0 = relay.nn.conv2d %x, %u {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x4x4x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x4x4x2xf32>
  %1 = relay.nn.bias_add %0, %a {axis = -1 : i64} : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  %2 = relay.nn.conv2d %x, %u {data_layout = "NHWC", kernel_layout = "HWIO", kernel_size = array<i64: 1, 1>} : (tensor<1x4x4x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x4x4x2xf32>
  %3 = relay.nn.bias_add %2, %a {axis = -1 : i64} : (tensor<1x4x4x2xf32>, tensor<2xf32>) -> tensor<1x4x4x2xf32>
  return %1, %3 : tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32>
}
