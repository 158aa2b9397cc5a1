// RUN: xdsl-opt -p legalize-convolutions{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p legalize-convolutions{unsafe=true},legalize-convolutions{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p legalize-convolutions %s | filecheck %s --check-prefix=SAFE

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

// What is two apart in the result is computed by one convolution.
// CHECK-LABEL: func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x1x2xf32>) -> tensor<1x6x5x11xf32> {
// CHECK-NEXT: %conv = relay.reshape %w {newshape = array<i64: 2, 2, 3, 1, 2>} : (tensor<4x3x1x2xf32>) -> tensor<2x2x3x1x2xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.transpose %conv {axes = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x2x3x1x2xf32>) -> tensor<2x3x2x1x2xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.reshape [[CONV_1]] {newshape = array<i64: 6, 2, 1, 2>} : (tensor<2x3x2x1x2xf32>) -> tensor<6x2x1x2xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.strided_slice [[CONV_2]] {begin = array<i64: 0, 1>, end = array<i64: -2, -3>, strides = array<i64: -1, -1>, axes = array<i64: 2, 3>} : (tensor<6x2x1x2xf32>) -> tensor<6x2x1x2xf32>
// CHECK-NEXT: [[CONV_4:%.*]] = relay.strided_slice [[CONV_3]] {begin = array<i64: 0, 1>, end = array<i64: 1, 2>, strides = array<i64: 1, 2>, axes = array<i64: 2, 3>} : (tensor<6x2x1x2xf32>) -> tensor<6x2x1x1xf32>
// CHECK-NEXT: [[CONV_5:%.*]] = relay.nn.conv2d %x, [[CONV_4]] {padding = array<i64: 0, 0, 0, 1>, groups = 2 : i64} : (tensor<1x4x5x5xf32>, tensor<6x2x1x1xf32>) -> tensor<1x6x5x6xf32>
// CHECK-NEXT: [[CONV_6:%.*]] = relay.strided_slice [[CONV_3]] {begin = array<i64: 0, 0>, end = array<i64: 1, 1>, strides = array<i64: 1, 2>, axes = array<i64: 2, 3>} : (tensor<6x2x1x2xf32>) -> tensor<6x2x1x1xf32>
// CHECK-NEXT: [[CONV_7:%.*]] = relay.nn.conv2d %x, [[CONV_6]] {padding = array<i64: 0, 0, 0, 1>, groups = 2 : i64} : (tensor<1x4x5x5xf32>, tensor<6x2x1x1xf32>) -> tensor<1x6x5x6xf32>
// CHECK-NEXT: [[CONV_8:%.*]] = relay.tuple [[CONV_5]], [[CONV_7]] : (tensor<1x6x5x6xf32>, tensor<1x6x5x6xf32>) -> tuple<tensor<1x6x5x6xf32>, tensor<1x6x5x6xf32>>
// CHECK-NEXT: [[CONV_9:%.*]] = relay.concatenate [[CONV_8]] {axis = 1 : i64} : (tuple<tensor<1x6x5x6xf32>, tensor<1x6x5x6xf32>>) -> tensor<1x12x5x6xf32>
// CHECK-NEXT: [[CONV_10:%.*]] = relay.reshape [[CONV_9]] {newshape = array<i64: 1, 1, 2, 6, 5, 6>} : (tensor<1x12x5x6xf32>) -> tensor<1x1x2x6x5x6xf32>
// CHECK-NEXT: [[CONV_11:%.*]] = relay.transpose [[CONV_10]] {axes = array<i64: 0, 3, 4, 1, 5, 2>} : (tensor<1x1x2x6x5x6xf32>) -> tensor<1x6x5x1x6x2xf32>
// CHECK-NEXT: [[CONV_12:%.*]] = relay.reshape [[CONV_11]] {newshape = array<i64: 1, 6, 5, 12>} : (tensor<1x6x5x1x6x2xf32>) -> tensor<1x6x5x12xf32>
// CHECK-NEXT: [[CONV_13:%.*]] = relay.strided_slice [[CONV_12]] {begin = array<i64: 0, 0>, end = array<i64: 5, 11>, axes = array<i64: 2, 3>} : (tensor<1x6x5x12xf32>) -> tensor<1x6x5x11xf32>
// CHECK-NEXT: func.return [[CONV_13]] : tensor<1x6x5x11xf32>
// CHECK-NEXT: }
func.func @transposed(%x: tensor<1x4x5x5xf32>, %w: tensor<4x3x1x2xf32>) -> tensor<1x6x5x11xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w {strides = array<i64: 1, 2>, output_padding = array<i64: 0, 1>, groups = 2 : i64, kernel_layout = "IOHW"} : (tensor<1x4x5x5xf32>, tensor<4x3x1x2xf32>) -> tensor<1x6x5x11xf32>
  return %conv : tensor<1x6x5x11xf32>
}

// A window of one tap leaves gaps.
// CHECK-LABEL: func.func @transposed_with_empty_phase(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<1x6x5x8xf32> {
// CHECK-NEXT: %conv = relay.reshape %w {newshape = array<i64: 6, 1, 4, 1, 1>} : (tensor<6x4x1x1xf32>) -> tensor<6x1x4x1x1xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.transpose %conv {axes = array<i64: 1, 0, 2, 3, 4>} : (tensor<6x1x4x1x1xf32>) -> tensor<1x6x4x1x1xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.reshape [[CONV_1]] {newshape = array<i64: 6, 4, 1, 1>} : (tensor<1x6x4x1x1xf32>) -> tensor<6x4x1x1xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.strided_slice [[CONV_2]] {begin = array<i64: 0, 0>, end = array<i64: -2, -2>, strides = array<i64: -1, -1>, axes = array<i64: 2, 3>} : (tensor<6x4x1x1xf32>) -> tensor<6x4x1x1xf32>
// CHECK-NEXT: [[CONV_4:%.*]] = relay.zeros {shape = array<i64: 1, 6, 5, 4>, dtype = f32} : tensor<1x6x5x4xf32>
// CHECK-NEXT: [[CONV_5:%.*]] = relay.strided_slice [[CONV_3]] {begin = array<i64: 0, 0>, end = array<i64: 1, 1>, strides = array<i64: 1, 2>, axes = array<i64: 2, 3>} : (tensor<6x4x1x1xf32>) -> tensor<6x4x1x1xf32>
// CHECK-NEXT: [[CONV_6:%.*]] = relay.nn.conv2d %x, [[CONV_5]] {padding = array<i64: 0, 0, 0, 0>} : (tensor<1x4x5x5xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x5x5xf32>
// CHECK-NEXT: [[CONV_7:%.*]] = relay.strided_slice [[CONV_6]] {begin = array<i64: 0, 1>, end = array<i64: 5, 5>, axes = array<i64: 2, 3>} : (tensor<1x6x5x5xf32>) -> tensor<1x6x5x4xf32>
// CHECK-NEXT: [[CONV_8:%.*]] = relay.tuple [[CONV_4]], [[CONV_7]] : (tensor<1x6x5x4xf32>, tensor<1x6x5x4xf32>) -> tuple<tensor<1x6x5x4xf32>, tensor<1x6x5x4xf32>>
// CHECK-NEXT: [[CONV_9:%.*]] = relay.concatenate [[CONV_8]] {axis = 1 : i64} : (tuple<tensor<1x6x5x4xf32>, tensor<1x6x5x4xf32>>) -> tensor<1x12x5x4xf32>
// CHECK-NEXT: [[CONV_10:%.*]] = relay.reshape [[CONV_9]] {newshape = array<i64: 1, 1, 2, 6, 5, 4>} : (tensor<1x12x5x4xf32>) -> tensor<1x1x2x6x5x4xf32>
// CHECK-NEXT: [[CONV_11:%.*]] = relay.transpose [[CONV_10]] {axes = array<i64: 0, 3, 4, 1, 5, 2>} : (tensor<1x1x2x6x5x4xf32>) -> tensor<1x6x5x1x4x2xf32>
// CHECK-NEXT: [[CONV_12:%.*]] = relay.reshape [[CONV_11]] {newshape = array<i64: 1, 6, 5, 8>} : (tensor<1x6x5x1x4x2xf32>) -> tensor<1x6x5x8xf32>
// CHECK-NEXT: func.return [[CONV_12]] : tensor<1x6x5x8xf32>
// CHECK-NEXT: }
func.func @transposed_with_empty_phase(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x1x1xf32>) -> tensor<1x6x5x8xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w {strides = array<i64: 1, 2>, padding = array<i64: 0, 1, 0, 0>} : (tensor<1x4x5x5xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x5x8xf32>
  return %conv : tensor<1x6x5x8xf32>
}

// Rather one large convolution than very many.
// CHECK-LABEL: func.func @transposed_in_many_phases(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x46x30xf32> {
// CHECK-NEXT: %conv = relay.nn.dilate %x {strides = array<i64: 1, 1, 11, 7>} : (tensor<1x4x5x5xf32>) -> tensor<1x4x45x29xf32>
// CHECK-NEXT: [[CONV_1:%.*]] = relay.reshape %w {newshape = array<i64: 6, 1, 4, 2, 2>} : (tensor<6x4x2x2xf32>) -> tensor<6x1x4x2x2xf32>
// CHECK-NEXT: [[CONV_2:%.*]] = relay.transpose [[CONV_1]] {axes = array<i64: 1, 0, 2, 3, 4>} : (tensor<6x1x4x2x2xf32>) -> tensor<1x6x4x2x2xf32>
// CHECK-NEXT: [[CONV_3:%.*]] = relay.reshape [[CONV_2]] {newshape = array<i64: 6, 4, 2, 2>} : (tensor<1x6x4x2x2xf32>) -> tensor<6x4x2x2xf32>
// CHECK-NEXT: [[CONV_4:%.*]] = relay.strided_slice [[CONV_3]] {begin = array<i64: 1, 1>, end = array<i64: -3, -3>, strides = array<i64: -1, -1>, axes = array<i64: 2, 3>} : (tensor<6x4x2x2xf32>) -> tensor<6x4x2x2xf32>
// CHECK-NEXT: [[CONV_5:%.*]] = relay.nn.conv2d %conv, [[CONV_4]] {padding = array<i64: 1, 1, 1, 1>} : (tensor<1x4x45x29xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x46x30xf32>
// CHECK-NEXT: func.return [[CONV_5]] : tensor<1x6x46x30xf32>
// CHECK-NEXT: }
func.func @transposed_in_many_phases(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x2x2xf32>) -> tensor<1x6x46x30xf32> {
  %conv = relay.nn.conv2d_transpose %x, %w {strides = array<i64: 11, 7>} : (tensor<1x4x5x5xf32>, tensor<6x4x2x2xf32>) -> tensor<1x6x46x30xf32>
  return %conv : tensor<1x6x46x30xf32>
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

// Nothing says that the weight is finite: at the borders it would be multiplied with zeros.
// SAFE-LABEL: func.func @no_unknown_weight
// SAFE-NEXT: relay.nn.conv2d_transpose %x, %w
func.func @no_unknown_weight(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x2x2xf32>) -> tensor<1x3x6x6xf32> {
  %0 = relay.nn.conv2d_transpose %x, %w : (tensor<1x2x5x5xf32>, tensor<3x2x2x2xf32>) -> tensor<1x3x6x6xf32>
  return %0 : tensor<1x3x6x6xf32>
}

// SAFE-LABEL: func.func @no_infinite_weight
// SAFE: relay.nn.conv2d_transpose %x
func.func @no_infinite_weight(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x5x6xf32> {
  %w = relay.constant dense<"0x0000803F0000807F"> : tensor<1x1x1x2xf32>
  %0 = relay.nn.conv2d_transpose %x, %w : (tensor<1x1x5x5xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x5x6xf32>
  return %0 : tensor<1x1x5x6xf32>
}

// SAFE-LABEL: func.func @finite_weight
// SAFE-NOT: relay.nn.conv2d_transpose
// SAFE: relay.nn.conv2d %x
// SAFE: func.return
func.func @finite_weight(%x: tensor<1x1x5x5xf32>) -> tensor<1x1x5x6xf32> {
  %w = relay.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %0 = relay.nn.conv2d_transpose %x, %w : (tensor<1x1x5x5xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x5x6xf32>
  return %0 : tensor<1x1x5x6xf32>
}

// SAFE-LABEL: func.func @integers
// SAFE-NOT: relay.nn.conv2d_transpose
// SAFE: relay.nn.conv2d %x
// SAFE: func.return
func.func @integers(%x: tensor<1x1x5x5xi32>, %w: tensor<1x1x1x2xi32>) -> tensor<1x1x5x6xi32> {
  %0 = relay.nn.conv2d_transpose %x, %w : (tensor<1x1x5x5xi32>, tensor<1x1x1x2xi32>) -> tensor<1x1x5x6xi32>
  return %0 : tensor<1x1x5x6xi32>
}
