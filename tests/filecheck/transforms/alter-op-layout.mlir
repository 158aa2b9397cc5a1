// RUN: xdsl-opt --allow-unregistered-dialect -p "alter-op-layout{lanes=4}" %s | filecheck %s
// RUN: xdsl-opt --allow-unregistered-dialect -p "alter-op-layout{lanes=4},alter-op-layout{lanes=4}" %s | filecheck %s

// A convolution that pays for a transform in and a transform out.
// CHECK-LABEL: func.func @single(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.layout_transform %conv {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return [[CONV_1]] : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @single(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %conv : tensor<1x8x6x6xf32>
}

// A bias becomes an addition of channels in blocks; what follows lane by lane stays in blocks.
// CHECK-LABEL: func.func @chain(%x: tensor<1x8x6x6xf32>, %b: tensor<4xf32>) -> tensor<1x144xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %v = relay.constant dense<2.000000e+00> : tensor<4x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.constant dense<{{\[\[\[\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00{{\]\]\], \[\[\[}}4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00{{\]\]\]\]\]}}> : tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %bias = relay.add %conv, [[T1]] : (tensor<1x2x6x6x4xf32>, tensor<1x2x1x1x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %relu = relay.nn.relu %bias : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %next = relay.nn.conv2d %relu, %v {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<4x8x3x3xf32>) -> tensor<1x1x6x6x4xf32>
// CHECK-NEXT: [[T2:%.*]] = relay.reshape %b {newshape = array<i64: 1, 4, 1, 1>} : (tensor<4xf32>) -> tensor<1x4x1x1xf32>
// CHECK-NEXT: [[T3:%.*]] = relay.layout_transform [[T2]] {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x4x1x1xf32>) -> tensor<1x1x1x1x4xf32>
// CHECK-NEXT: %moved = relay.add %next, [[T3]] : (tensor<1x1x6x6x4xf32>, tensor<1x1x1x1x4xf32>) -> tensor<1x1x6x6x4xf32>
// CHECK-NEXT: [[MOVED_1:%.*]] = relay.layout_transform %moved {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x1x6x6x4xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: %flat = relay.nn.batch_flatten [[MOVED_1]] : (tensor<1x4x6x6xf32>) -> tensor<1x144xf32>
// CHECK-NEXT: func.return %flat : tensor<1x144xf32>
// CHECK-NEXT: }
func.func @chain(%x: tensor<1x8x6x6xf32>, %b: tensor<4xf32>) -> tensor<1x144xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %v = relay.constant dense<2.0> : tensor<4x8x3x3xf32>
  %c = relay.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %bias = relay.nn.bias_add %conv, %c : (tensor<1x8x6x6xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  %relu = relay.nn.relu %bias : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %next = relay.nn.conv2d %relu, %v {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x6x6xf32>
  %moved = relay.nn.bias_add %next, %b : (tensor<1x4x6x6xf32>, tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %flat = relay.nn.batch_flatten %moved : (tensor<1x4x6x6xf32>) -> tensor<1x144xf32>
  return %flat : tensor<1x144xf32>
}

// One transform serves two convolutions, and one transform back two operators in NCHW.
// CHECK-LABEL: func.func @dual_path(%x: tensor<1x8x6x6xf32>) -> (tensor<1x8x6x6xf32>, tensor<1x288xf32>, tensor<1x8x6x6xf32>) {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %left = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[LEFT_1:%.*]] = relay.layout_transform %left {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %right = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[RIGHT_1:%.*]] = relay.layout_transform %right {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %softmax = relay.nn.softmax [[LEFT_1]] : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %flat = relay.nn.batch_flatten [[LEFT_1]] : (tensor<1x8x6x6xf32>) -> tensor<1x288xf32>
// CHECK-NEXT: func.return %softmax, %flat, [[RIGHT_1]] : tensor<1x8x6x6xf32>, tensor<1x288xf32>, tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @dual_path(%x: tensor<1x8x6x6xf32>) -> (tensor<1x8x6x6xf32>, tensor<1x288xf32>, tensor<1x8x6x6xf32>) {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %left = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %right = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %softmax = relay.nn.softmax %left : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %flat = relay.nn.batch_flatten %left : (tensor<1x8x6x6xf32>) -> tensor<1x288xf32>
  return %softmax, %flat, %right : tensor<1x8x6x6xf32>, tensor<1x288xf32>, tensor<1x8x6x6xf32>
}

// A residual block, and the head of a network.
// CHECK-LABEL: func.func @residual(%x: tensor<1x8x6x6xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %sum = relay.add %conv, [[T0]] : (tensor<1x2x6x6x4xf32>, tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %relu = relay.nn.relu %sum : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %pool = relay.nn.global_avg_pool2d %relu {layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x1x1x4xf32>
// CHECK-NEXT: [[POOL_1:%.*]] = relay.layout_transform %pool {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x1x1x4xf32>) -> tensor<1x8x1x1xf32>
// CHECK-NEXT: %flat = relay.nn.batch_flatten [[POOL_1]] : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: func.return %flat : tensor<1x8xf32>
// CHECK-NEXT: }
func.func @residual(%x: tensor<1x8x6x6xf32>) -> tensor<1x8xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %sum = relay.add %conv, %x : (tensor<1x8x6x6xf32>, tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %relu = relay.nn.relu %sum : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %pool = relay.nn.global_avg_pool2d %relu : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  %flat = relay.nn.batch_flatten %pool : (tensor<1x8x1x1xf32>) -> tensor<1x8xf32>
  return %flat : tensor<1x8xf32>
}

// Numbers, channels, pixels and whole images as the other operand.
// CHECK-LABEL: func.func @broadcast(%x: tensor<1x8x2x2xf32>, %mask: tensor<2x1xf32>) -> tensor<1x8x2x2xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %number = relay.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x2x2xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x2x2x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.multiply %conv, %number : (tensor<1x2x2x2x4xf32>, tensor<f32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[T2:%.*]] = relay.constant dense<{{\[\[\[\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00{{\]\]\], \[\[\[}}4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00{{\]\]\]\]\]}}> : tensor<1x2x1x1x4xf32>
// CHECK-NEXT: [[T3:%.*]] = relay.subtract [[T2]], [[T1]] : (tensor<1x2x1x1x4xf32>, tensor<1x2x2x2x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[T4:%.*]] = relay.expand_dims %mask {axis = 2 : i64} : (tensor<2x1xf32>) -> tensor<2x1x1xf32>
// CHECK-NEXT: [[T5:%.*]] = relay.multiply [[T3]], [[T4]] : (tensor<1x2x2x2x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[T6:%.*]] = relay.add [[T5]], [[T5]] : (tensor<1x2x2x2x4xf32>, tensor<1x2x2x2x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[T7:%.*]] = relay.layout_transform [[T6]] {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x2x2x4xf32>) -> tensor<1x8x2x2xf32>
// CHECK-NEXT: func.return [[T7]] : tensor<1x8x2x2xf32>
// CHECK-NEXT: }
func.func @broadcast(%x: tensor<1x8x2x2xf32>, %mask: tensor<2x1xf32>) -> tensor<1x8x2x2xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %number = relay.constant dense<3.0> : tensor<f32>
  %channels = relay.constant dense<[[[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]]]> : tensor<8x1x1xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x2x2xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x2x2xf32>
  %0 = relay.multiply %conv, %number : (tensor<1x8x2x2xf32>, tensor<f32>) -> tensor<1x8x2x2xf32>
  %1 = relay.subtract %channels, %0 : (tensor<8x1x1xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  %2 = relay.multiply %1, %mask : (tensor<1x8x2x2xf32>, tensor<2x1xf32>) -> tensor<1x8x2x2xf32>
  %3 = relay.add %2, %2 : (tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  return %3 : tensor<1x8x2x2xf32>
}

// Six channels are one block and a half: divisors are 1 in the rest, and what transforming back
// adds is cut off.
// CHECK-LABEL: func.func @odd_channels(%x: tensor<1x8x6x6xf32>) -> tensor<1x6x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<6x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<6x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.constant dense<{{\[\[\[\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00{{\]\]\], \[\[\[}}5.000000e+00, 6.000000e+00, 0.000000e+00, 0.000000e+00{{\]\]\]\]\]}}> : tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %sum = relay.add %conv, [[T1]] : (tensor<1x2x6x6x4xf32>, tensor<1x2x1x1x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T2:%.*]] = relay.constant dense<{{\[\[\[\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00{{\]\]\], \[\[\[}}5.000000e+00, 6.000000e+00, 1.000000e+00, 1.000000e+00{{\]\]\]\]\]}}> : tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %ratio = relay.divide %sum, [[T2]] : (tensor<1x2x6x6x4xf32>, tensor<1x2x1x1x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T3:%.*]] = relay.layout_transform %ratio {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: [[RATIO_1:%.*]] = relay.strided_slice [[T3]] {begin = array<i64: 0>, end = array<i64: 6>, axes = array<i64: 1>} : (tensor<1x8x6x6xf32>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT: func.return [[RATIO_1]] : tensor<1x6x6x6xf32>
// CHECK-NEXT: }
func.func @odd_channels(%x: tensor<1x8x6x6xf32>) -> tensor<1x6x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<6x8x3x3xf32>
  %divisor = relay.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]]]> : tensor<6x1x1xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x6x6xf32>
  %sum = relay.add %conv, %divisor : (tensor<1x6x6x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x6x6xf32>
  %ratio = relay.divide %sum, %divisor : (tensor<1x6x6x6xf32>, tensor<6x1x1xf32>) -> tensor<1x6x6x6xf32>
  return %ratio : tensor<1x6x6x6xf32>
}

// Few channels stay in NCHW; the convolution puts its result in blocks.
// CHECK-LABEL: func.func @first_layer(%x: tensor<1x3x8x8xf32>) -> tensor<1x8x2x2xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x3x3x3xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>, out_layout = "NCHW4c"} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT: %relu = relay.nn.relu %conv : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT: %pool = relay.nn.max_pool2d %relu {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, layout = "NCHW4c"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[POOL_1:%.*]] = relay.layout_transform %pool {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x2x2x4xf32>) -> tensor<1x8x2x2xf32>
// CHECK-NEXT: func.return [[POOL_1]] : tensor<1x8x2x2xf32>
// CHECK-NEXT: }
func.func @first_layer(%x: tensor<1x3x8x8xf32>) -> tensor<1x8x2x2xf32> {
  %w = relay.constant dense<1.0> : tensor<8x3x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {strides = array<i64: 2, 2>, padding = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x4x4xf32>
  %relu = relay.nn.relu %conv : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  %pool = relay.nn.max_pool2d %relu {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (tensor<1x8x4x4xf32>) -> tensor<1x8x2x2xf32>
  return %pool : tensor<1x8x2x2xf32>
}

// CHECK-LABEL: func.func @depthwise(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %d = relay.constant dense<1.000000e+00> : tensor<8x1x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %each = relay.nn.conv2d %conv, %d {padding = array<i64: 1, 1>, groups = 8 : i64, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x1x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[EACH_1:%.*]] = relay.layout_transform %each {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return [[EACH_1]] : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @depthwise(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %d = relay.constant dense<1.0> : tensor<8x1x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %each = relay.nn.conv2d %conv, %d {padding = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %each : tensor<1x8x6x6xf32>
}

// CHECK-LABEL: func.func @groups_of_whole_blocks(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x4x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, groups = 2 : i64, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x4x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.layout_transform %conv {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return [[CONV_1]] : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @groups_of_whole_blocks(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x4x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 2 : i64} : (tensor<1x8x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %conv : tensor<1x8x6x6xf32>
}

// CHECK-LABEL: func.func @keep_groups_of_parts(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x2x3x3xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x8x6x6xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return %conv : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @keep_groups_of_parts(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x2x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 4 : i64} : (tensor<1x8x6x6xf32>, tensor<8x2x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %conv : tensor<1x8x6x6xf32>
}

// Only the last field may end with a part of a block.
// CHECK-LABEL: func.func @concatenate(%x: tensor<1x8x6x6xf32>) -> tensor<1x14x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %v = relay.constant dense<1.000000e+00> : tensor<6x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %left = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %right = relay.nn.conv2d [[T0]], %v {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<6x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.tuple %left, %right : (tensor<1x2x6x6x4xf32>, tensor<1x2x6x6x4xf32>) -> tuple<tensor<1x2x6x6x4xf32>, tensor<1x2x6x6x4xf32>>
// CHECK-NEXT: %joined = relay.concatenate [[T1]] {axis = 1 : i64} : (tuple<tensor<1x2x6x6x4xf32>, tensor<1x2x6x6x4xf32>>) -> tensor<1x4x6x6x4xf32>
// CHECK-NEXT: [[T2:%.*]] = relay.layout_transform %joined {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x4x6x6x4xf32>) -> tensor<1x16x6x6xf32>
// CHECK-NEXT: [[JOINED_1:%.*]] = relay.strided_slice [[T2]] {begin = array<i64: 0>, end = array<i64: 14>, axes = array<i64: 1>} : (tensor<1x16x6x6xf32>) -> tensor<1x14x6x6xf32>
// CHECK-NEXT: func.return [[JOINED_1]] : tensor<1x14x6x6xf32>
// CHECK-NEXT: }
func.func @concatenate(%x: tensor<1x8x6x6xf32>) -> tensor<1x14x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %v = relay.constant dense<1.0> : tensor<6x8x3x3xf32>
  %left = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %right = relay.nn.conv2d %x, %v {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x6x6xf32>
  %both = relay.tuple %left, %right : (tensor<1x8x6x6xf32>, tensor<1x6x6x6xf32>) -> tuple<tensor<1x8x6x6xf32>, tensor<1x6x6x6xf32>>
  %joined = relay.concatenate %both {axis = 1 : i64} : (tuple<tensor<1x8x6x6xf32>, tensor<1x6x6x6xf32>>) -> tensor<1x14x6x6xf32>
  return %joined : tensor<1x14x6x6xf32>
}

// CHECK-LABEL: func.func @keep_concatenation_of_parts(%x: tensor<1x8x6x6xf32>) -> tensor<1x14x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %v = relay.constant dense<1.000000e+00> : tensor<6x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %left = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[LEFT_1:%.*]] = relay.layout_transform %left {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %right = relay.nn.conv2d [[T0]], %v {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<6x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.layout_transform %right {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: [[RIGHT_1:%.*]] = relay.strided_slice [[T1]] {begin = array<i64: 0>, end = array<i64: 6>, axes = array<i64: 1>} : (tensor<1x8x6x6xf32>) -> tensor<1x6x6x6xf32>
// CHECK-NEXT: %both = relay.tuple [[RIGHT_1]], [[LEFT_1]] : (tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>) -> tuple<tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>>
// CHECK-NEXT: %joined = relay.concatenate %both {axis = 1 : i64} : (tuple<tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>>) -> tensor<1x14x6x6xf32>
// CHECK-NEXT: func.return %joined : tensor<1x14x6x6xf32>
// CHECK-NEXT: }
func.func @keep_concatenation_of_parts(%x: tensor<1x8x6x6xf32>) -> tensor<1x14x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %v = relay.constant dense<1.0> : tensor<6x8x3x3xf32>
  %left = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %right = relay.nn.conv2d %x, %v {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<6x8x3x3xf32>) -> tensor<1x6x6x6xf32>
  %both = relay.tuple %right, %left : (tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>) -> tuple<tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>>
  %joined = relay.concatenate %both {axis = 1 : i64} : (tuple<tensor<1x6x6x6xf32>, tensor<1x8x6x6xf32>>) -> tensor<1x14x6x6xf32>
  return %joined : tensor<1x14x6x6xf32>
}

// A channel's number from the image itself.
// CHECK-LABEL: func.func @squeeze_excitation(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %s = relay.constant dense<1.000000e+00> : tensor<4x8x1x1xf32>
// CHECK-NEXT: %e = relay.constant dense<1.000000e+00> : tensor<8x4x1x1xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %mean = relay.nn.global_avg_pool2d %conv {layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %squeezed = relay.nn.conv2d %mean, %s {data_layout = "NCHW4c"} : (tensor<1x2x1x1x4xf32>, tensor<4x8x1x1xf32>) -> tensor<1x1x1x1x4xf32>
// CHECK-NEXT: %excited = relay.nn.conv2d %squeezed, %e {data_layout = "NCHW4c"} : (tensor<1x1x1x1x4xf32>, tensor<8x4x1x1xf32>) -> tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %scale = relay.sigmoid %excited : (tensor<1x2x1x1x4xf32>) -> tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %scaled = relay.multiply %conv, %scale : (tensor<1x2x6x6x4xf32>, tensor<1x2x1x1x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[SCALED_1:%.*]] = relay.layout_transform %scaled {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return [[SCALED_1]] : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @squeeze_excitation(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %s = relay.constant dense<1.0> : tensor<4x8x1x1xf32>
  %e = relay.constant dense<1.0> : tensor<8x4x1x1xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %mean = relay.mean %conv {axis = array<i64: 2, 3>, keepdims = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  %squeezed = relay.nn.conv2d %mean, %s : (tensor<1x8x1x1xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x1x1xf32>
  %excited = relay.nn.conv2d %squeezed, %e : (tensor<1x4x1x1xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x1x1xf32>
  %scale = relay.sigmoid %excited : (tensor<1x8x1x1xf32>) -> tensor<1x8x1x1xf32>
  %scaled = relay.multiply %conv, %scale : (tensor<1x8x6x6xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x6x6xf32>
  return %scaled : tensor<1x8x6x6xf32>
}

// x where x > 0, slope * x elsewhere.
// CHECK-LABEL: func.func @prelu(%x: tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %zero = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x2x2xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x2x2x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %positive = relay.greater %conv, %zero : (tensor<1x2x2x2x4xf32>, tensor<f32>) -> tensor<1x2x2x2x4xi1>
// CHECK-NEXT: [[T1:%.*]] = relay.constant dense<{{\[\[\[\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00{{\]\]\], \[\[\[}}4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00{{\]\]\]\]\]}}> : tensor<1x2x1x1x4xf32>
// CHECK-NEXT: %sloping = relay.multiply %conv, [[T1]] : (tensor<1x2x2x2x4xf32>, tensor<1x2x1x1x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: %result = relay.where %positive, %conv, %sloping : (tensor<1x2x2x2x4xi1>, tensor<1x2x2x2x4xf32>, tensor<1x2x2x2x4xf32>) -> tensor<1x2x2x2x4xf32>
// CHECK-NEXT: [[RESULT_1:%.*]] = relay.layout_transform %result {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x2x2x4xf32>) -> tensor<1x8x2x2xf32>
// CHECK-NEXT: func.return [[RESULT_1]] : tensor<1x8x2x2xf32>
// CHECK-NEXT: }
func.func @prelu(%x: tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %slope = relay.constant dense<[[[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]], [[7.0]]]> : tensor<8x1x1xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x2x2xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x2x2xf32>
  %positive = relay.greater %conv, %zero : (tensor<1x8x2x2xf32>, tensor<f32>) -> tensor<1x8x2x2xi1>
  %sloping = relay.multiply %conv, %slope : (tensor<1x8x2x2xf32>, tensor<8x1x1xf32>) -> tensor<1x8x2x2xf32>
  %result = relay.where %positive, %conv, %sloping : (tensor<1x8x2x2xi1>, tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>) -> tensor<1x8x2x2xf32>
  return %result : tensor<1x8x2x2xf32>
}

// CHECK-LABEL: func.func @pad_and_pool(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x4x4xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %zero = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %pad = relay.nn.pad %conv, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 3, 0>, array<i64: 0, 0>]} : (tensor<1x2x6x6x4xf32>, tensor<f32>) -> tensor<1x2x9x9x4xf32>
// CHECK-NEXT: %pool = relay.nn.avg_pool2d %pad {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, count_include_pad = true, layout = "NCHW4c"} : (tensor<1x2x9x9x4xf32>) -> tensor<1x2x4x4x4xf32>
// CHECK-NEXT: [[POOL_1:%.*]] = relay.layout_transform %pool {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x4x4x4xf32>) -> tensor<1x8x4x4xf32>
// CHECK-NEXT: func.return [[POOL_1]] : tensor<1x8x4x4xf32>
// CHECK-NEXT: }
func.func @pad_and_pool(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x4x4xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %pad = relay.nn.pad %conv, %zero {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>, array<i64: 1, 2>, array<i64: 3, 0>]} : (tensor<1x8x6x6xf32>, tensor<f32>) -> tensor<1x8x9x9xf32>
  %pool = relay.nn.avg_pool2d %pad {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>, count_include_pad = true} : (tensor<1x8x9x9xf32>) -> tensor<1x8x4x4xf32>
  return %pool : tensor<1x8x4x4xf32>
}

// CHECK-LABEL: func.func @keep_pad_of_channels(%x: tensor<1x8x6x6xf32>) -> tensor<1x9x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %zero = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.layout_transform %conv {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %pad = relay.nn.pad [[CONV_1]], %zero {pad_width = [array<i64: 0, 0>, array<i64: 1, 0>, array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x6x6xf32>, tensor<f32>) -> tensor<1x9x6x6xf32>
// CHECK-NEXT: func.return %pad : tensor<1x9x6x6xf32>
// CHECK-NEXT: }
func.func @keep_pad_of_channels(%x: tensor<1x8x6x6xf32>) -> tensor<1x9x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %pad = relay.nn.pad %conv, %zero {pad_width = [array<i64: 0, 0>, array<i64: 1, 0>, array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<1x8x6x6xf32>, tensor<f32>) -> tensor<1x9x6x6xf32>
  return %pad : tensor<1x9x6x6xf32>
}

// Sums, slices and operations of other dialects see NCHW.
// CHECK-LABEL: func.func @keep_other_operators(%x: tensor<1x8x6x6xf32>) -> (tensor<1x1x6x6xf32>, tensor<1x2x6x6xf32>, tensor<f32>) {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.layout_transform %conv {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: %sum = relay.sum [[CONV_1]] {axis = array<i64: 1>, keepdims = true} : (tensor<1x8x6x6xf32>) -> tensor<1x1x6x6xf32>
// CHECK-NEXT: %part = relay.strided_slice [[CONV_1]] {begin = array<i64: 0>, end = array<i64: 2>, axes = array<i64: 1>} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6xf32>
// CHECK-NEXT: %other = "other.op"([[CONV_1]]) : (tensor<1x8x6x6xf32>) -> tensor<f32>
// CHECK-NEXT: func.return %sum, %part, %other : tensor<1x1x6x6xf32>, tensor<1x2x6x6xf32>, tensor<f32>
// CHECK-NEXT: }
func.func @keep_other_operators(%x: tensor<1x8x6x6xf32>) -> (tensor<1x1x6x6xf32>, tensor<1x2x6x6xf32>, tensor<f32>) {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  %sum = relay.sum %conv {axis = array<i64: 1>, keepdims = true} : (tensor<1x8x6x6xf32>) -> tensor<1x1x6x6xf32>
  %part = relay.strided_slice %conv {begin = array<i64: 0>, end = array<i64: 2>, axes = array<i64: 1>} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6xf32>
  %other = "other.op"(%conv) : (tensor<1x8x6x6xf32>) -> tensor<f32>
  return %sum, %part, %other : tensor<1x1x6x6xf32>, tensor<1x2x6x6xf32>, tensor<f32>
}

// Too little arithmetic for two transforms.
// CHECK-LABEL: func.func @keep_small_convolution(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<4x4x1x1xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: func.return %conv : tensor<1x4x6x6xf32>
// CHECK-NEXT: }
func.func @keep_small_convolution(%x: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<4x4x1x1xf32>
  %conv = relay.nn.conv2d %x, %w : (tensor<1x4x6x6xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  return %conv : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: func.func @keep_unknown_weight(%x: tensor<1x8x6x6xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return %conv : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @keep_unknown_weight(%x: tensor<1x8x6x6xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32> {
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %conv : tensor<1x8x6x6xf32>
}

// CHECK-LABEL: func.func @keep_unknown_shape(%x: tensor<?x8x6x6xf32>) -> tensor<?x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x6x6xf32>
// CHECK-NEXT: func.return %conv : tensor<?x8x6x6xf32>
// CHECK-NEXT: }
func.func @keep_unknown_shape(%x: tensor<?x8x6x6xf32>) -> tensor<?x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x6x6xf32>
  return %conv : tensor<?x8x6x6xf32>
}

// CHECK-LABEL: func.func @keep_f64(%x: tensor<1x8x6x6xf64>) -> tensor<1x8x6x6xf64> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf64>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf64>, tensor<8x8x3x3xf64>) -> tensor<1x8x6x6xf64>
// CHECK-NEXT: func.return %conv : tensor<1x8x6x6xf64>
// CHECK-NEXT: }
func.func @keep_f64(%x: tensor<1x8x6x6xf64>) -> tensor<1x8x6x6xf64> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf64>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf64>, tensor<8x8x3x3xf64>) -> tensor<1x8x6x6xf64>
  return %conv : tensor<1x8x6x6xf64>
}

// CHECK-LABEL: func.func @keep_compiler(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> attributes {Compiler = "other"} {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: func.return %conv : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @keep_compiler(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> attributes {Compiler = "other"} {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %conv : tensor<1x8x6x6xf32>
}

// The body of a composite belongs to its backend.
// CHECK-LABEL: func.func @keep_composite(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %call = relay.composite "other.conv" %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: ^bb0(%p: tensor<1x8x6x6xf32>):
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d %p, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: relay.yield %conv : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %call : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @keep_composite(%x: tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %call = relay.composite "other.conv" %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32> {
  ^bb0(%p: tensor<1x8x6x6xf32>):
    %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
    %conv = relay.nn.conv2d %p, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
    relay.yield %conv : tensor<1x8x6x6xf32>
  }
  return %call : tensor<1x8x6x6xf32>
}

// Transforms of the program cancel: what they connect is in blocks anyway.
// CHECK-LABEL: func.func @cancelled(%x: tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32> {
// CHECK-NEXT: %relu = relay.nn.relu %x : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: func.return %relu : tensor<1x2x6x6x4xf32>
// CHECK-NEXT: }
func.func @cancelled(%x: tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32> {
  %plain = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
  %relu = relay.nn.relu %plain : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  %blocked = relay.layout_transform %relu {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
  return %blocked : tensor<1x2x6x6x4xf32>
}

// The branches of other dialects' operations are blocks of their own.
// CHECK-LABEL: func.func @branches(%x: tensor<1x8x6x6xf32>, %c: i1) -> tensor<1x8x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<8x8x3x3xf32>
// CHECK-NEXT: %result = scf.if %c -> (tensor<1x8x6x6xf32>) {
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<8x8x3x3xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %relu = relay.nn.relu %conv : (tensor<1x2x6x6x4xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: [[RELU_1:%.*]] = relay.layout_transform %relu {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x2x6x6x4xf32>) -> tensor<1x8x6x6xf32>
// CHECK-NEXT: scf.yield [[RELU_1]] : tensor<1x8x6x6xf32>
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %x : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %result : tensor<1x8x6x6xf32>
// CHECK-NEXT: }
func.func @branches(%x: tensor<1x8x6x6xf32>, %c: i1) -> tensor<1x8x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<8x8x3x3xf32>
  %result = scf.if %c -> (tensor<1x8x6x6xf32>) {
    %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<1x8x6x6xf32>
    %relu = relay.nn.relu %conv : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
    scf.yield %relu : tensor<1x8x6x6xf32>
  } else {
    scf.yield %x : tensor<1x8x6x6xf32>
  }
  return %result : tensor<1x8x6x6xf32>
}

// The first channels of one block: in blocks, this is the block.
// CHECK-LABEL: func.func @part_of_a_block(%x: tensor<1x8x6x6xf32>) -> tensor<1x3x6x6xf32> {
// CHECK-NEXT: %w = relay.constant dense<1.000000e+00> : tensor<4x8x3x3xf32>
// CHECK-NEXT: [[T0:%.*]] = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
// CHECK-NEXT: %conv = relay.nn.conv2d [[T0]], %w {padding = array<i64: 1, 1>, data_layout = "NCHW4c"} : (tensor<1x2x6x6x4xf32>, tensor<4x8x3x3xf32>) -> tensor<1x1x6x6x4xf32>
// CHECK-NEXT: %relu = relay.nn.relu %conv : (tensor<1x1x6x6x4xf32>) -> tensor<1x1x6x6x4xf32>
// CHECK-NEXT: [[T1:%.*]] = relay.layout_transform %relu {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x1x6x6x4xf32>) -> tensor<1x4x6x6xf32>
// CHECK-NEXT: [[RELU_1:%.*]] = relay.strided_slice [[T1]] {begin = array<i64: 0>, end = array<i64: 3>, axes = array<i64: 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x3x6x6xf32>
// CHECK-NEXT: func.return [[RELU_1]] : tensor<1x3x6x6xf32>
// CHECK-NEXT: }
func.func @part_of_a_block(%x: tensor<1x8x6x6xf32>) -> tensor<1x3x6x6xf32> {
  %w = relay.constant dense<1.0> : tensor<4x8x3x3xf32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x6x6xf32>
  %part = relay.strided_slice %conv {begin = array<i64: 0>, end = array<i64: 3>, axes = array<i64: 1>} : (tensor<1x4x6x6xf32>) -> tensor<1x3x6x6xf32>
  %relu = relay.nn.relu %part : (tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf32>
  return %relu : tensor<1x3x6x6xf32>
}
