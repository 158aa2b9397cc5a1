// RUN: xdsl-opt -p simplify-expr %s | filecheck %s
// RUN: xdsl-opt -p simplify-expr,simplify-expr %s | filecheck %s
// RUN: xdsl-opt -p 'simplify-expr{rules=relay reassociate=true ignore-signed-zeros=true}' %s | filecheck %s --check-prefix=LOOSE

// CHECK-LABEL: func.func @like
// CHECK-NEXT: [[A:%.*]] = relay.zeros {shape = array<i64: 2, 3>, dtype = f32}
// CHECK-NEXT: [[B:%.*]] = relay.ones {shape = array<i64: 2, 3>, dtype = f32}
// CHECK-NEXT: [[C:%.*]] = relay.full %n {shape = array<i64: 2, 3>, dtype = f32}
// CHECK-NEXT: [[D:%.*]] = relay.reshape %y {newshape = array<i64: 2, 3>}
// CHECK-NEXT: [[E:%.*]] = relay.broadcast_to %z {shape = array<i64: 2, 3>}
// CHECK-NEXT: [[LENGTHS:%.*]] = relay.constant dense<3> : tensor<1xi32>
// CHECK-NEXT: [[F:%.*]] = relay.collapse_sum_to %x, [[LENGTHS]]
// CHECK-NEXT: [[G:%.*]] = relay.cast_like %n, %x
// CHECK-NEXT: func.return [[A]], [[B]], [[C]], [[D]], [[E]], [[F]], [[G]]
func.func @like(%x: tensor<2x3xf32>, %y: tensor<6xf32>, %z: tensor<3xf32>, %n: tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) {
  %0 = relay.zeros_like %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.ones_like %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.full_like %x, %n : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  %3 = relay.reshape_like %y, %x : (tensor<6xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = relay.broadcast_to_like %z, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = relay.collapse_sum_like %x, %z : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %6 = relay.cast_like %n, %x : (tensor<i32>, tensor<2x3xf32>) -> tensor<f32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @keep_like_of_unknown_shape
// CHECK-NEXT: relay.full_like
// CHECK-NEXT: relay.reshape_like
func.func @keep_like_of_unknown_shape(%x: tensor<?xf32>, %n: tensor<f32>) -> tensor<?xf32> {
  %0 = relay.full_like %x, %n : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %1 = relay.reshape_like %0, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK-LABEL: func.func @scalar_operand
// CHECK-NEXT: relay.minimum %n, %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
func.func @scalar_operand(%x: tensor<2xf32>, %n: tensor<f32>) -> tensor<2xf32> {
  %0 = relay.full_like %x, %n : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.minimum %0, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// The result of a comparison has another type than what is compared.
// CHECK-LABEL: func.func @keep_comparison
// CHECK-NEXT: relay.zeros
// CHECK-NEXT: relay.less
func.func @keep_comparison(%x: tensor<2xf32>) -> tensor<2xi1> {
  %0 = relay.zeros_like %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.less %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %1 : tensor<2xi1>
}

// CHECK-LABEL: func.func @roots
// CHECK-NEXT: [[ROOT:%.*]] = relay.sqrt %y
// CHECK-NEXT: [[INVERSE:%.*]] = relay.rsqrt %y
// CHECK-NEXT: [[PRODUCT:%.*]] = relay.multiply %x, [[INVERSE]]
// CHECK-NEXT: relay.add [[PRODUCT]], [[ROOT]]
func.func @roots(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.sqrt %y : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.divide %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %1, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @numbers_that_change_nothing
// CHECK-NEXT: [[ZERO:%.*]] = relay.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: [[SUM:%.*]] = relay.add %x, [[ZERO]]
// CHECK-NEXT: func.return [[SUM]]
// LOOSE-LABEL: func.func @numbers_that_change_nothing
// LOOSE-NEXT: func.return %x
func.func @numbers_that_change_nothing(%x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<1xf32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.multiply %one, %x : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %0, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Relay looks at scalars only.
// CHECK-LABEL: func.func @keep_tensor_of_ones
// CHECK: relay.multiply
func.func @keep_tensor_of_ones(%x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<2xf32>
  %0 = relay.multiply %one, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT: [[R:%.*]] = relay.reshape %x {newshape = array<i64: 6>}
// CHECK-NEXT: func.return [[R]]
func.func @reshapes(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = relay.contrib_reverse_reshape %x {newshape = array<i64: -1, 2>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = relay.reshape %0 {newshape = array<i64: -1>} : (tensor<3x2xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// Rules for others are not Relay's.
// CHECK-LABEL: func.func @keep_other_reshapes
// CHECK-NEXT: relay.expand_dims
// CHECK-NEXT: relay.squeeze
// CHECK-NEXT: relay.reshape
// CHECK-NEXT: relay.transpose
// CHECK-NEXT: relay.copy
func.func @keep_other_reshapes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.expand_dims %x {axis = 0 : i64} : (tensor<2xf32>) -> tensor<1x2xf32>
  %1 = relay.squeeze %0 : (tensor<1x2xf32>) -> tensor<2xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 2>} : (tensor<2xf32>) -> tensor<2xf32>
  %3 = relay.transpose %2 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.copy %3 : (tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: func.func @transpose_and_layout
// CHECK-NEXT: [[R:%.*]] = relay.transpose %x {axes = array<i64: 3, 2, 0, 1>}
// CHECK-NEXT: func.return [[R]]
func.func @transpose_and_layout(%x: tensor<2x3x4x5xf32>) -> tensor<5x4x2x3xf32> {
  %0 = relay.layout_transform %x {src_layout = "NHWC", dst_layout = "NCHW"} : (tensor<2x3x4x5xf32>) -> tensor<2x5x3x4xf32>
  %1 = relay.transpose %0 {axes = array<i64: 1, 3, 0, 2>} : (tensor<2x5x3x4xf32>) -> tensor<5x4x2x3xf32>
  return %1 : tensor<5x4x2x3xf32>
}

// CHECK-LABEL: func.func @transpose_into_blocks
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform %x {src_layout = "NHWC", dst_layout = "NCHW4c"}
// CHECK-NEXT: func.return [[R]]
func.func @transpose_into_blocks(%x: tensor<2x3x5x8xf32>) -> tensor<2x2x3x5x4xf32> {
  %0 = relay.transpose %x {axes = array<i64: 0, 3, 1, 2>} : (tensor<2x3x5x8xf32>) -> tensor<2x8x3x5xf32>
  %1 = relay.layout_transform %0 {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<2x8x3x5xf32>) -> tensor<2x2x3x5x4xf32>
  return %1 : tensor<2x2x3x5x4xf32>
}

// CHECK-LABEL: func.func @transpose_out_of_blocks
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NHWC"}
// CHECK-NEXT: func.return [[R]]
func.func @transpose_out_of_blocks(%x: tensor<2x2x3x5x4xf32>) -> tensor<2x3x5x8xf32> {
  %0 = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<2x2x3x5x4xf32>) -> tensor<2x8x3x5xf32>
  %1 = relay.transpose %0 {axes = array<i64: 0, 2, 3, 1>} : (tensor<2x8x3x5xf32>) -> tensor<2x3x5x8xf32>
  return %1 : tensor<2x3x5x8xf32>
}

// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: [[R:%.*]] = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW2c"}
// CHECK-NEXT: func.return [[R]], %x
func.func @blocks(%x: tensor<1x2x3x5x4xf32>) -> (tensor<1x4x3x5x2xf32>, tensor<1x2x3x5x4xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW8c"} : (tensor<1x2x3x5x4xf32>) -> tensor<1x1x3x5x8xf32>
  %1 = relay.layout_transform %0 {src_layout = "NCHW8c", dst_layout = "NCHW2c"} : (tensor<1x1x3x5x8xf32>) -> tensor<1x4x3x5x2xf32>
  %2 = relay.layout_transform %0 {src_layout = "NCHW8c", dst_layout = "NCHW4c"} : (tensor<1x1x3x5x8xf32>) -> tensor<1x2x3x5x4xf32>
  return %1, %2 : tensor<1x4x3x5x2xf32>, tensor<1x2x3x5x4xf32>
}

// The padding of the blocks becomes channels.
// CHECK-LABEL: func.func @keep_padding
// CHECK-NEXT: relay.layout_transform
// CHECK-NEXT: relay.layout_transform
func.func @keep_padding(%x: tensor<1x3x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x3x2x2xf32>) -> tensor<1x1x2x2x4xf32>
  %1 = relay.layout_transform %0 {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x1x2x2x4xf32>) -> tensor<1x4x2x2xf32>
  return %1 : tensor<1x4x2x2xf32>
}

// CHECK-LABEL: func.func @casts
// CHECK-NEXT: [[R:%.*]] = relay.cast %x {dtype = i64}
// CHECK-NEXT: func.return [[R]], %x
func.func @casts(%x: tensor<2xi8>, %y: tensor<i64>) -> (tensor<2xi64>, tensor<2xi8>) {
  %0 = relay.cast %x {dtype = i16} : (tensor<2xi8>) -> tensor<2xi16>
  %1 = relay.cast_like %0, %y : (tensor<2xi16>, tensor<i64>) -> tensor<2xi64>
  %2 = relay.cast_like %x, %x : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return %1, %2 : tensor<2xi64>, tensor<2xi8>
}

// CHECK-LABEL: func.func @order_of_quantized
// CHECK-NEXT: [[A:%.*]] = relay.argmax %x {axis = array<i64: 1>, select_last_index = true}
// CHECK-NEXT: [[B:%.*]] = relay.argmin %x {axis = array<i64: 1>, keepdims = true}
// CHECK-NEXT: [[C:%.*]] = relay.argsort %x {axis = 1 : i64, is_ascend = false}
// CHECK-NEXT: func.return [[A]], [[B]], [[C]]
func.func @order_of_quantized(%x: tensor<2x3xi8>) -> (tensor<2xi32>, tensor<2x1xi32>, tensor<2x3xi32>) {
  %scale = relay.constant dense<2.0> : tensor<f32>
  %zero = relay.constant dense<-5> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %scale, %zero : (tensor<2x3xi8>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  %1 = relay.argmax %0 {axis = array<i64: 1>, select_last_index = true} : (tensor<2x3xf32>) -> tensor<2xi32>
  %2 = relay.argmin %0 {axis = array<i64: 1>, keepdims = true} : (tensor<2x3xf32>) -> tensor<2x1xi32>
  %3 = relay.argsort %0 {axis = 1 : i64, is_ascend = false} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return %1, %2, %3 : tensor<2xi32>, tensor<2x1xi32>, tensor<2x3xi32>
}

// Large integers of i32 are the same number of f32.
// CHECK-LABEL: func.func @keep_rounded_numbers
// CHECK: relay.qnn.dequantize
func.func @keep_rounded_numbers(%x: tensor<3xi32>) -> tensor<i32> {
  %scale = relay.constant dense<2.0> : tensor<f32>
  %zero = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %scale, %zero : (tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
  %1 = relay.argmax %0 : (tensor<3xf32>) -> tensor<i32>
  return %1 : tensor<i32>
}

// One scale for each row: the order of a row, not that of a column.
// CHECK-LABEL: func.func @scales_of_rows
// CHECK: [[ROWS:%.*]] = relay.argmax %x {axis = array<i64: 1>}
// CHECK: [[NUMBERS:%.*]] = relay.qnn.dequantize %x
// CHECK-NEXT: [[COLUMNS:%.*]] = relay.argmax [[NUMBERS]] {axis = array<i64: 0>}
// CHECK-NEXT: func.return [[ROWS]], [[COLUMNS]]
func.func @scales_of_rows(%x: tensor<2x3xui8>) -> (tensor<2xi32>, tensor<3xi32>) {
  %scale = relay.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %zero = relay.constant dense<7> : tensor<i32>
  %0 = relay.qnn.dequantize %x, %scale, %zero {axis = 0 : i64} : (tensor<2x3xui8>, tensor<2xf32>, tensor<i32>) -> tensor<2x3xf32>
  %1 = relay.argmax %0 {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xi32>
  %2 = relay.qnn.dequantize %x, %scale, %zero {axis = 0 : i64} : (tensor<2x3xui8>, tensor<2xf32>, tensor<i32>) -> tensor<2x3xf32>
  %3 = relay.argmax %2 {axis = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xi32>
  return %1, %3 : tensor<2xi32>, tensor<3xi32>
}

// The sum of the last two constants is left to fold-constant.
// CHECK-LABEL: func.func @sums
// CHECK: [[A:%.*]] = relay.add %x, %one : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
// CHECK: [[C:%.*]] = relay.add %two, %three : (tensor<i32>, tensor<i32>) -> tensor<i32>
// CHECK-NEXT: [[R:%.*]] = relay.add [[A]], [[C]]
// CHECK-NEXT: func.return [[R]]
func.func @sums(%x: tensor<2xi32>) -> tensor<2xi32> {
  %one = relay.constant dense<1> : tensor<i32>
  %two = relay.constant dense<2> : tensor<i32>
  %three = relay.constant dense<3> : tensor<i32>
  %0 = relay.add %x, %one : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %1 = relay.add %two, %0 : (tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  %2 = relay.add %1, %three : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @floating_sums
// CHECK-COUNT-2: relay.add %{{.*}} -> tensor<2xf32>
// LOOSE-LABEL: func.func @floating_sums
// LOOSE: [[C:%.*]] = relay.add %one, %two : (tensor<f32>, tensor<f32>) -> tensor<f32>
// LOOSE-NEXT: relay.add %x, [[C]]
func.func @floating_sums(%x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %two = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.add %x, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.add %0, %two : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
