// RUN: xdsl-opt -p legalize-convolutions %s | filecheck %s
// RUN: xdsl-opt -p legalize-convolutions,legalize-convolutions %s | filecheck %s

// CHECK-LABEL: func.func @line(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
// CHECK-NEXT: %conv = relay.expand_dims %x {axis = 2 : i64} : (tensor<1x4x9xf32>) -> tensor<1x4x1x9xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.expand_dims %w {axis = 2 : i64} : (tensor<6x2x3xf32>) -> tensor<6x2x1x3xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.nn.conv2d %conv, [[CONV_1]] {strides = array<i64: 1, 2>, padding = array<i64: 0, 1, 0, 0>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x1x9xf32>, tensor<6x2x1x3xf32>) -> tensor<1x6x1x3xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.squeeze [[CONV_2]] {axis = array<i64: 2>} : (tensor<1x6x1x3xf32>) -> tensor<1x6x3xf32>
// CHECK-NEXT: func.return [[CONV_3]] : tensor<1x6x3xf32>
// CHECK-NEXT: }
func.func @line(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x3xf32> {
  %conv = relay.nn.conv1d %x, %w {strides = array<i64: 2>, padding = array<i64: 1, 0>, dilation = array<i64: 2>, groups = 2 : i64} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x3xf32>
  return %conv : tensor<1x6x3xf32>
}

// Products of i8 are still summed in i32.
// CHECK-LABEL: func.func @line_of_bytes(%x: tensor<1x4x9xi8>, %w: tensor<6x4x3xi8>) -> tensor<1x6x7xi32> {
// CHECK-NEXT: %conv = relay.expand_dims %x {axis = 2 : i64} : (tensor<1x4x9xi8>) -> tensor<1x4x1x9xi8>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.expand_dims %w {axis = 2 : i64} : (tensor<6x4x3xi8>) -> tensor<6x4x1x3xi8>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.nn.conv2d %conv, [[CONV_1]] {padding = array<i64: 0, 0, 0, 0>, out_dtype = i32} : (tensor<1x4x1x9xi8>, tensor<6x4x1x3xi8>) -> tensor<1x6x1x7xi32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.squeeze [[CONV_2]] {axis = array<i64: 2>} : (tensor<1x6x1x7xi32>) -> tensor<1x6x7xi32>
// CHECK-NEXT: func.return [[CONV_3]] : tensor<1x6x7xi32>
// CHECK-NEXT: }
func.func @line_of_bytes(%x: tensor<1x4x9xi8>, %w: tensor<6x4x3xi8>) -> tensor<1x6x7xi32> {
  %conv = relay.nn.conv1d %x, %w {out_dtype = i32} : (tensor<1x4x9xi8>, tensor<6x4x3xi8>) -> tensor<1x6x7xi32>
  return %conv : tensor<1x6x7xi32>
}

// CHECK-LABEL: func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x6x10x13xf32> {
// CHECK-NEXT: %conv = relay.nn.dilate %x {strides = array<i64: 1, 1, 2, 3>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x9x13xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.reshape %w {newshape = array<i64: 2, 2, 3, 3, 2>} : (tensor<4x3x3x2xf32>) -> tensor<2x2x3x3x2xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.transpose [[CONV_1]] {axes = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x2x3x3x2xf32>) -> tensor<2x3x2x3x2xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.reshape [[CONV_2]] {newshape = array<i64: 6, 2, 3, 2>} : (tensor<2x3x2x3x2xf32>) -> tensor<6x2x3x2xf32>
// CHECK-NEXT: [[CONV_4:%.*]] = relay.strided_slice [[CONV_3]] {begin = array<i64: 2, 1>, end = array<i64: -4, -3>, strides = array<i64: -1, -1>, axes = array<i64: 2, 3>} : (tensor<6x2x3x2xf32>) -> tensor<6x2x3x2xf32>
// CHECK-NEXT: [[CONV_5:%.*]] = relay.nn.conv2d %conv, [[CONV_4]] {padding = array<i64: 1, 1, 2, 1>, dilation = array<i64: 1, 2>, groups = 2 : i64} : (tensor<1x4x9x13xf32>, tensor<6x2x3x2xf32>) -> tensor<1x6x10x13xf32>
// CHECK-NEXT: func.return [[CONV_5]] : tensor<1x6x10x13xf32>
// CHECK-NEXT: }
func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x3x2xf32>) -> tensor<1x6x10x13xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w {strides = array<i64: 2, 3>, output_padding = array<i64: 1, 0>, padding = array<i64: 1>, dilation = array<i64: 1, 2>, groups = 2 : i64, kernel_layout = "IOHW"} : (tensor<1x4x5x5xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x10x13xf32>
  return %conv : tensor<1x6x10x13xf32>
}

// Without strides there are no gaps; a border that windows do not reach is cut off.
// CHECK-LABEL: func.func @transposed_without_strides(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x2x6xf32> {
// CHECK-NEXT: %conv = relay.reshape %w {newshape = array<i64: 6, 1, 4, 2, 2>} : (tensor<6x4x2x2xf32>) -> tensor<6x1x4x2x2xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.transpose %conv {axes = array<i64: 1, 0, 2, 3, 4>} : (tensor<6x1x4x2x2xf32>) -> tensor<1x6x4x2x2xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.reshape [[CONV_1]] {newshape = array<i64: 6, 4, 2, 2>} : (tensor<1x6x4x2x2xf32>) -> tensor<6x4x2x2xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.strided_slice [[CONV_2]] {begin = array<i64: 1, 1>, end = array<i64: -3, -3>, strides = array<i64: -1, -1>, axes = array<i64: 2, 3>} : (tensor<6x4x2x2xf32>) -> tensor<6x4x2x2xf32>
// CHECK-NEXT: [[CONV_4:%.*]] = relay.nn.conv2d %x, [[CONV_3]] {padding = array<i64: 0, 1, 0, 1>} : (tensor<1x4x5x5xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x4x6xf32>
// CHECK-NEXT: [[CONV_5:%.*]] = relay.strided_slice [[CONV_4]] {begin = array<i64: 1, 0>, end = array<i64: 3, 6>, axes = array<i64: 2, 3>} : (tensor<1x6x4x6xf32>) -> tensor<1x6x2x6xf32>
// CHECK-NEXT: func.return [[CONV_5]] : tensor<1x6x2x6xf32>
// CHECK-NEXT: }
func.func @transposed_without_strides(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x2x6xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w {padding = array<i64: 2, 0>} : (tensor<1x4x5x5xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x2x6xf32>
  return %conv : tensor<1x6x2x6xf32>
}

// CHECK-LABEL: func.func @in_fused(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
// CHECK-NEXT: %call = relay.fused %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
// CHECK-NEXT: ^bb0(%p0: tensor<1x4x9xf32>, %p1: tensor<6x4x3xf32>):
// CHECK-NEXT: %conv = relay.expand_dims %p0 {axis = 2 : i64} : (tensor<1x4x9xf32>) -> tensor<1x4x1x9xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.expand_dims %p1 {axis = 2 : i64} : (tensor<6x4x3xf32>) -> tensor<6x4x1x3xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.nn.conv2d %conv, [[CONV_1]] {padding = array<i64: 0, 0, 0, 0>} : (tensor<1x4x1x9xf32>, tensor<6x4x1x3xf32>) -> tensor<1x6x1x7xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.squeeze [[CONV_2]] {axis = array<i64: 2>} : (tensor<1x6x1x7xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: relay.yield [[CONV_3]] : tensor<1x6x7xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %call : tensor<1x6x7xf32>
// CHECK-NEXT: }
func.func @in_fused(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
  %call = relay.fused %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
  ^bb0(%p0: tensor<1x4x9xf32>, %p1: tensor<6x4x3xf32>):
    %conv = relay.nn.conv1d %p0, %p1 : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
    relay.yield %conv : tensor<1x6x7xf32>
  }
  return %call : tensor<1x6x7xf32>
}

// CHECK-LABEL: func.func @keep_composite(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
// CHECK-NEXT: %call = relay.composite "other.conv" %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
// CHECK-NEXT: ^bb0(%p0: tensor<1x4x9xf32>, %p1: tensor<6x4x3xf32>):
// CHECK-NEXT: %conv = relay.nn.conv1d %p0, %p1 : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: relay.yield %conv : tensor<1x6x7xf32>
// CHECK-NEXT: }
// CHECK-NEXT: func.return %call : tensor<1x6x7xf32>
// CHECK-NEXT: }
func.func @keep_composite(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
  %call = relay.composite "other.conv" %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32> {
  ^bb0(%p0: tensor<1x4x9xf32>, %p1: tensor<6x4x3xf32>):
    %conv = relay.nn.conv1d %p0, %p1 : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
    relay.yield %conv : tensor<1x6x7xf32>
  }
  return %call : tensor<1x6x7xf32>
}

// CHECK-LABEL: func.func @keep_compiler(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> attributes {Compiler = "other"} {
// CHECK-NEXT: %conv = relay.nn.conv1d %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
// CHECK-NEXT: func.return %conv : tensor<1x6x7xf32>
// CHECK-NEXT: }
func.func @keep_compiler(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) -> tensor<1x6x7xf32> attributes {Compiler = "other"} {
  %conv = relay.nn.conv1d %x, %w : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  return %conv : tensor<1x6x7xf32>
}

// CHECK-LABEL: func.func @keep_transpose_of_unknown_shape(%x: tensor<1x4x?x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x?x6xf32> {
// CHECK-NEXT: %conv = relay.nn.conv2d_transpose %x, %w : (tensor<1x4x?x5xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x?x6xf32>
// CHECK-NEXT: func.return %conv : tensor<1x6x?x6xf32>
// CHECK-NEXT: }
func.func @keep_transpose_of_unknown_shape(%x: tensor<1x4x?x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x?x6xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w : (tensor<1x4x?x5xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x?x6xf32>
  return %conv : tensor<1x6x?x6xf32>
}
