// RUN: xdsl-opt -p 'simplify-expr{rules=cpu}' %s | filecheck %s
// RUN: xdsl-opt -p 'simplify-expr{rules=cpu},simplify-expr{rules=cpu}' %s | filecheck %s

// CHECK-LABEL: func.func @zeros_like
// CHECK-NEXT: [[ZEROS:%.*]] = relay.zeros {shape = array<i64: 2>, dtype = f32} : tensor<2xf32>
// CHECK-NEXT: func.return [[ZEROS]]
func.func @zeros_like(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.zeros_like %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_dynamic_zeros_like
// CHECK-NEXT: relay.zeros_like
func.func @keep_dynamic_zeros_like(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.zeros_like %x : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @scalar_operand
// CHECK-NEXT: [[TWO:%.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: [[R:%.*]] = relay.multiply %x, [[TWO]] : (tensor<2xf32>, tensor<f32>)
// CHECK-NEXT: func.return [[R]]
func.func @scalar_operand(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.full %c {shape = array<i64: 2>} : (tensor<f32>) -> tensor<2xf32>
  %1 = relay.multiply %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// Its number has another dtype.
// CHECK-LABEL: func.func @keep_converted_number
// CHECK: relay.full
// CHECK-NEXT: relay.multiply
func.func @keep_converted_number(%x: tensor<2xi32>) -> tensor<2xi32> {
  %c = relay.constant dense<2.7> : tensor<f32>
  %0 = relay.full %c {shape = array<i64: 2>, dtype = i32} : (tensor<f32>) -> tensor<2xi32>
  %1 = relay.multiply %x, %0 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}

// The zeros give the result its shape.
// CHECK-LABEL: func.func @keep_shape_of_filled
// CHECK-NEXT: relay.ones
// CHECK-NEXT: relay.add
func.func @keep_shape_of_filled(%x: tensor<f32>) -> tensor<2xf32> {
  %0 = relay.ones {shape = array<i64: 2>, dtype = f32} : tensor<2xf32>
  %1 = relay.add %x, %0 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @divide_by_root
// CHECK-NEXT: [[ROOT:%.*]] = relay.rsqrt %y
// CHECK-NEXT: relay.multiply %x, [[ROOT]]
func.func @divide_by_root(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.sqrt %y : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.divide %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_root_of_two_users
// CHECK-NEXT: relay.sqrt
// CHECK-NEXT: relay.divide
func.func @keep_root_of_two_users(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.sqrt %y : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.divide %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %1, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// CHECK-LABEL: func.func @divide_by_power_of_two
// CHECK-NEXT: [[EIGHTH:%.*]] = relay.constant dense<1.250000e-01> : tensor<f32>
// CHECK-NEXT: relay.multiply %x, [[EIGHTH]]
func.func @divide_by_power_of_two(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<8.0> : tensor<f32>
  %0 = relay.divide %x, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_inexact_quotient
// CHECK: relay.divide
func.func @keep_inexact_quotient(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<3.0> : tensor<f32>
  %0 = relay.divide %x, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @square
// CHECK-NEXT: [[SQUARE:%.*]] = relay.multiply %x, %x
// CHECK-NEXT: func.return [[SQUARE]]
func.func @square(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.power %x, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// sqrt differs from x ** 0.5 for -0 and -inf.
// CHECK-LABEL: func.func @keep_root_as_power
// CHECK: relay.power
func.func @keep_root_as_power(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.power %x, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @identities
// CHECK-NEXT: func.return %x
func.func @identities(%x: tensor<2xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<f32>
  %zero = relay.constant dense<0.0> : tensor<f32>
  %minus_zero = relay.constant dense<-0.0> : tensor<2xf32>
  %0 = relay.multiply %one, %x : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.divide %0, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = relay.subtract %1, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = relay.add %2, %minus_zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = relay.copy %3 : (tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// -0 + 0 is +0.
// CHECK-LABEL: func.func @keep_sign_of_zero
// CHECK: relay.add
func.func @keep_sign_of_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = relay.constant dense<0.0> : tensor<f32>
  %0 = relay.add %x, %zero : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @integer_zero
// CHECK-NEXT: func.return %x
func.func @integer_zero(%x: tensor<2xi32>) -> tensor<2xi32> {
  %zero = relay.constant dense<0> : tensor<i32>
  %0 = relay.add %x, %zero : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_identity_that_broadcasts
// CHECK: relay.multiply
func.func @keep_identity_that_broadcasts(%x: tensor<1xf32>) -> tensor<2xf32> {
  %one = relay.constant dense<1.0> : tensor<2xf32>
  %0 = relay.multiply %x, %one : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT: [[R:%.*]] = relay.reshape %x {newshape = array<i64: -1>}
// CHECK-NEXT: func.return [[R]]
func.func @reshapes(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = relay.expand_dims %x {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
  %1 = relay.squeeze %0 : (tensor<1x2x3xf32>) -> tensor<2x3xf32>
  %2 = relay.reshape %1 {newshape = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// CHECK-LABEL: func.func @transposes
// CHECK-NEXT: [[R:%.*]] = relay.transpose %x {axes = array<i64: 1, 2, 0>}
// CHECK-NEXT: func.return [[R]]
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = relay.transpose %x : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  %1 = relay.transpose %0 {axes = array<i64: 1, 0, 2>} : (tensor<4x3x2xf32>) -> tensor<3x4x2xf32>
  return %1 : tensor<3x4x2xf32>
}

// CHECK-LABEL: func.func @transpose_of_unit_axes
// CHECK-NEXT: relay.reshape %x {newshape = array<i64: 2, 1, 3>}
func.func @transpose_of_unit_axes(%x: tensor<1x2x3xf32>) -> tensor<2x1x3xf32> {
  %0 = relay.transpose %x {axes = array<i64: 1, 0, 2>} : (tensor<1x2x3xf32>) -> tensor<2x1x3xf32>
  return %0 : tensor<2x1x3xf32>
}

// CHECK-LABEL: func.func @whole_slice
// CHECK-NEXT: func.return %x
func.func @whole_slice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.strided_slice %x {begin = array<i64: 0>, end = array<i64: 9>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// An index that is counted from the end, one that is too large, one with an axis.
// CHECK-LABEL: func.func @slices_of_one
// CHECK: [[A:%.*]] = relay.strided_slice %x {begin = array<i64: 1>, end = array<i64: 2>, axes = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[B:%.*]] = relay.reshape [[A]] {newshape = array<i64: 4>}
// CHECK: [[C:%.*]] = relay.strided_slice %x {begin = array<i64: 3>, end = array<i64: 4>, axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: func.return [[B]], [[C]]
func.func @slices_of_one(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x1xf32>) {
  %i = relay.constant dense<-2> : tensor<i64>
  %j = relay.constant dense<[9]> : tensor<1xi64>
  %0 = relay.take %x, %i {axis = 0 : i64, mode = "wrap"} : (tensor<3x4xf32>, tensor<i64>) -> tensor<4xf32>
  %1 = relay.take %x, %j {axis = 1 : i64} : (tensor<3x4xf32>, tensor<1xi64>) -> tensor<3x1xf32>
  return %0, %1 : tensor<4xf32>, tensor<3x1xf32>
}

// Without an axis, of batches, and with several indices or one that is not known.
// CHECK-LABEL: func.func @keep_take
// CHECK-COUNT-4: relay.take
func.func @keep_take(%x: tensor<3x4xf32>, %i: tensor<i64>) -> (tensor<f32>, tensor<3x1xf32>, tensor<2x4xf32>, tensor<4xf32>) {
  %0 = relay.constant dense<1> : tensor<i64>
  %1 = relay.constant dense<1> : tensor<3x1xi64>
  %2 = relay.constant dense<[0, 1]> : tensor<2xi64>
  %3 = relay.take %x, %0 : (tensor<3x4xf32>, tensor<i64>) -> tensor<f32>
  %4 = relay.take %x, %1 {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<3x4xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>
  %5 = relay.take %x, %2 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  %6 = relay.take %x, %i {axis = 0 : i64} : (tensor<3x4xf32>, tensor<i64>) -> tensor<4xf32>
  return %3, %4, %5, %6 : tensor<f32>, tensor<3x1xf32>, tensor<2x4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @keep_reversing_slice
// CHECK-NEXT: relay.strided_slice
func.func @keep_reversing_slice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.strided_slice %x {begin = array<i64: 3>, end = array<i64: -5>, strides = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @widening_casts
// CHECK-NEXT: [[R:%.*]] = relay.cast %x {dtype = i32}
// CHECK-NEXT: func.return [[R]]
func.func @widening_casts(%x: tensor<2xi8>) -> tensor<2xi32> {
  %0 = relay.cast %x {dtype = i16} : (tensor<2xi8>) -> tensor<2xi16>
  %1 = relay.cast %0 {dtype = i32} : (tensor<2xi16>) -> tensor<2xi32>
  %2 = relay.cast %1 {dtype = i32} : (tensor<2xi32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_cast_that_wraps
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.cast
func.func @keep_cast_that_wraps(%x: tensor<2xi8>) -> tensor<2xi32> {
  %0 = relay.cast %x {dtype = ui8} : (tensor<2xi8>) -> tensor<2xui8>
  %1 = relay.cast %0 {dtype = i32} : (tensor<2xui8>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_cast_that_rounds
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.cast
func.func @keep_cast_that_rounds(%x: tensor<2xi64>) -> tensor<2xi64> {
  %0 = relay.cast %x {dtype = f32} : (tensor<2xi64>) -> tensor<2xf32>
  %1 = relay.cast %0 {dtype = i64} : (tensor<2xf32>) -> tensor<2xi64>
  return %1 : tensor<2xi64>
}

// From floating point integers saturate, from integers they wrap around.
// CHECK-LABEL: func.func @keep_cast_that_saturates
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.cast
func.func @keep_cast_that_saturates(%x: tensor<2xi16>) -> tensor<2xi8> {
  %0 = relay.cast %x {dtype = f32} : (tensor<2xi16>) -> tensor<2xf32>
  %1 = relay.cast %0 {dtype = i8} : (tensor<2xf32>) -> tensor<2xi8>
  return %1 : tensor<2xi8>
}

// CHECK-LABEL: func.func @clip_of_everything
// CHECK-NEXT: func.return %x
func.func @clip_of_everything(%x: tensor<2xui8>) -> tensor<2xui8> {
  %0 = relay.clip %x {a_min = 0.0 : f64, a_max = 255.0 : f64} : (tensor<2xui8>) -> tensor<2xui8>
  return %0 : tensor<2xui8>
}

// CHECK-LABEL: func.func @clipped_round_trip
// CHECK-NEXT: [[CLIP:%.*]] = relay.clip
// CHECK-NEXT: func.return [[CLIP]]
func.func @clipped_round_trip(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = relay.clip %x {a_min = 0.0 : f64, a_max = 255.0 : f64} : (tensor<2xi32>) -> tensor<2xi32>
  %1 = relay.cast %0 {dtype = ui8} : (tensor<2xi32>) -> tensor<2xui8>
  %2 = relay.cast %1 {dtype = i32} : (tensor<2xui8>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_clip_beyond_the_type
// CHECK-NEXT: relay.clip
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.cast
func.func @keep_clip_beyond_the_type(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = relay.clip %x {a_min = -1.0 : f64, a_max = 255.0 : f64} : (tensor<2xi32>) -> tensor<2xi32>
  %1 = relay.cast %0 {dtype = ui8} : (tensor<2xi32>) -> tensor<2xui8>
  %2 = relay.cast %1 {dtype = i32} : (tensor<2xui8>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @integer_constants
// CHECK-NEXT: [[TWO:%.*]] = relay.constant dense<2> : tensor<i32>
// CHECK-NEXT: [[PRODUCT:%.*]] = relay.multiply %x, [[TWO]]
// CHECK-NEXT: [[SUM:%.*]] = relay.constant dense<7> : tensor<i32>
// CHECK-NEXT: relay.add [[PRODUCT]], [[SUM]]
func.func @integer_constants(%x: tensor<2xi32>) -> tensor<2xi32> {
  %two = relay.constant dense<2> : tensor<i32>
  %three = relay.constant dense<3> : tensor<i32>
  %one = relay.constant dense<1> : tensor<i32>
  %0 = relay.add %x, %three : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %1 = relay.multiply %0, %two : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %2 = relay.add %1, %one : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  return %2 : tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_floating_constants
// CHECK: relay.add
// CHECK: relay.add
func.func @keep_floating_constants(%x: tensor<2xf32>) -> tensor<2xf32> {
  %three = relay.constant dense<3.0> : tensor<f32>
  %0 = relay.add %x, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = relay.add %0, %three : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @keep_fused
// CHECK: relay.fused
// CHECK: relay.copy
func.func @keep_fused(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.fused %x : (tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    %1 = relay.copy %p : (tensor<f32>) -> tensor<f32>
    relay.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_function_of_a_compiler
// CHECK: relay.copy
func.func @keep_function_of_a_compiler(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "dnnl"} {
  %0 = relay.copy %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Were the first one a reshape, the second one would stay beside it.
// CHECK-LABEL: func.func @transpose_behind_one_of_unit_axes
// CHECK-NEXT: [[R:%.*]] = relay.transpose %x {axes = array<i64: 2, 0, 1>}
// CHECK-NEXT: func.return [[R]]
func.func @transpose_behind_one_of_unit_axes(%x: tensor<1x3x2xf32>) -> tensor<2x1x3xf32> {
  %0 = relay.transpose %x {axes = array<i64: 1, 0, 2>} : (tensor<1x3x2xf32>) -> tensor<3x1x2xf32>
  %1 = relay.transpose %0 {axes = array<i64: 2, 1, 0>} : (tensor<3x1x2xf32>) -> tensor<2x1x3xf32>
  return %1 : tensor<2x1x3xf32>
}

// CHECK-LABEL: func.func @cast_like
// CHECK-NEXT: relay.cast %x {dtype = i32}
func.func @cast_like(%x: tensor<?xf32>, %y: tensor<i32>) -> tensor<?xi32> {
  %0 = relay.cast_like %x, %y : (tensor<?xf32>, tensor<i32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK-LABEL: func.func @doubled
// CHECK-NEXT: [[TWO:%.*]] = relay.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: relay.multiply %x, [[TWO]]
func.func @doubled(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// 6 x² + 5 x y + y²
// CHECK-LABEL: func.func @polynomial_of_integers
// CHECK-NEXT: [[THREE:%.*]] = relay.constant dense<3> : tensor<i32>
// CHECK-NEXT: [[A:%.*]] = relay.multiply [[THREE]], %x
// CHECK-NEXT: [[B:%.*]] = relay.add %y, [[A]]
// CHECK-NEXT: [[TWO:%.*]] = relay.constant dense<2> : tensor<i32>
// CHECK-NEXT: [[C:%.*]] = relay.multiply [[TWO]], %x
// CHECK-NEXT: [[D:%.*]] = relay.add %y, [[C]]
// CHECK-NEXT: [[R:%.*]] = relay.multiply [[B]], [[D]]
// CHECK-NEXT: func.return [[R]]
func.func @polynomial_of_integers(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %six = relay.constant dense<6> : tensor<i32>
  %five = relay.constant dense<5> : tensor<i32>
  %0 = relay.multiply %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = relay.multiply %six, %0 : (tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  %2 = relay.multiply %five, %x : (tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  %3 = relay.multiply %2, %y : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %4 = relay.multiply %y, %y : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %5 = relay.add %4, %1 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %6 = relay.add %3, %5 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %6 : tensor<2xi32>
}

// Shapes of unknown lengths may differ where their types do not.
// CHECK-LABEL: func.func @keep_a_reshape_of_unknown_lengths
// CHECK-NEXT: relay.reshape %x {newshape = array<i64: -3, -4, 2, -1>}
func.func @keep_a_reshape_of_unknown_lengths(%x: tensor<?x2x?xf32>) -> tensor<?x2x?xf32> {
  %0 = relay.reshape %x {newshape = array<i64: -3, -4, 2, -1>} : (tensor<?x2x?xf32>) -> tensor<?x2x?xf32>
  return %0 : tensor<?x2x?xf32>
}

// NaN is not 0. A chosen operand that is repeated stays.
// CHECK-LABEL: func.func @known_choice
// CHECK: [[W:%.*]] = relay.where {{%.*}}, %y, %x
// CHECK-NEXT: func.return %x, %x, [[W]]
func.func @known_choice(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %false = relay.constant dense<false> : tensor<2x1xi1>
  %nan = relay.constant dense<0x7fc00000> : tensor<f32>
  %0 = relay.where %false, %y, %x : (tensor<2x1xi1>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.where %nan, %x, %y : (tensor<f32>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = relay.where %nan, %y, %x : (tensor<f32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
