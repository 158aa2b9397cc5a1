// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @no_fields(%d: tuple<>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %d, %d, %s, %z) : (tuple<>, tuple<>, tuple<>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: 'data' is the empty tuple, expected at least one tensor

// -----
func.func @no_quantised_data(%d: tuple<tensor<1xf32>>, %t: tuple<tensor<f32>>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xf32>>, tuple<tensor<f32>>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xf32>
  func.return
}
// CHECK: field 0 of 'data' has elements of type f32, accepted are i8, ui8, i16, ui16, i32

// -----
func.func @too_few_scales(%d: tuple<tensor<1xi8>>, %t: tuple<>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xi8>>, tuple<>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: 'input_scales' has 0 fields, 'data' has 1

// -----
func.func @scale_of_another_dtype(%d: tuple<tensor<1xi8>>, %t: tuple<tensor<f64>>, %u: tuple<tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) : (tuple<tensor<1xi8>>, tuple<tensor<f64>>, tuple<tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1xi8>
  func.return
}
// CHECK: field 0 of 'input_scales' is tensor<f64>, expected a scalar tensor of f32

// -----
func.func @fields_differ(%d: tuple<tensor<1x2xi8>, tensor<2x2xi8>>, %t: tuple<tensor<f32>, tensor<f32>>, %u: tuple<tensor<i32>, tensor<i32>>, %s: tensor<f32>, %z: tensor<i32>) {
  %0 = "relay.qnn.concatenate"(%d, %t, %u, %s, %z) {axis = 1 : i64} : (tuple<tensor<1x2xi8>, tensor<2x2xi8>>, tuple<tensor<f32>, tensor<f32>>, tuple<tensor<i32>, tensor<i32>>, tensor<f32>, tensor<i32>) -> tensor<1x4xi8>
  func.return
}
// CHECK: field 1 of 'data' has length 2 in dimension 0, others 1

// -----
func.func @quantize_integers(%a: tensor<2x3xi8>, %b: tensor<f32>, %c: tensor<i32>) {
  %0 = "relay.qnn.quantize"(%a, %b, %c) {out_dtype = i8} : (tensor<2x3xi8>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'data' has elements of type i8, accepted are f32

// -----
func.func @quantize_to_floats(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<i32>) {
  %0 = "relay.qnn.quantize"(%a, %b, %c) {out_dtype = f32} : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: 'out_dtype' is f32, accepted are i8, ui8, i16, ui16, i32

// -----
func.func @quantize_another_axis(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xi32>) {
  %0 = "relay.qnn.quantize"(%a, %b, %c) {out_dtype = i8, axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xi32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'axis' is 2, accepted range is [-2, 1]

// -----
func.func @quantize_scale_of_another_length(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<i32>) {
  %0 = "relay.qnn.quantize"(%a, %b, %c) {out_dtype = i8, axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'output_scale' is tensor<3xf32>, expected a scalar tensor of f32 or one of 2 elements, the length of the channel axis

// -----
func.func @quantize_zero_point_of_another_dtype(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<f32>) {
  %0 = "relay.qnn.quantize"(%a, %b, %c) {out_dtype = i8} : (tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'output_zero_point' is tensor<f32>, expected a scalar tensor of i32 or one of

// -----
func.func @dequantize_floats(%a: tensor<2x3xf32>, %b: tensor<f32>, %c: tensor<i32>) {
  %0 = "relay.qnn.dequantize"(%a, %b, %c) : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: 'data' has elements of type f32, accepted are i8, ui8, i16, ui16, i32

// -----
func.func @requantize_another_rounding(%a: tensor<2x3xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.requantize"(%a, %b, %c, %d, %e) {rounding = "UP"} : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  func.return
}
// CHECK: 'rounding' is "UP", accepted is "None" or "UPWARD" or "TONEAREST" or "TONEAREST_EVEN"

// -----
func.func @requantize_even_of_fixed_point(%a: tensor<2x3xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.requantize"(%a, %b, %c, %d, %e) {rounding = "TONEAREST_EVEN"} : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  func.return
}
// CHECK: 'rounding' is "TONEAREST_EVEN", 'compute_dtype' "None": expected "float32" or "float64"

// -----
func.func @lookup_table(%a: tensor<2x3xi8>, %b: tensor<255xf32>) {
  %0 = "relay.qnn.lookup"(%a, %b) : (tensor<2x3xi8>, tensor<255xf32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: 'table' is tensor<255xf32>, expected a vector of 256 elements

// -----
func.func @requantize_another_type(%a: tensor<2x3xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.requantize"(%a, %b, %c, %d, %e) {compute_dtype = "f32"} : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  func.return
}
// CHECK: 'compute_dtype' is "f32", accepted is "None" or "int64" or "float32" or "float64"

// -----
func.func @requantize_output_channels(%a: tensor<2x3xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<3xf32>, %e: tensor<i32>) {
  %0 = "relay.qnn.requantize"(%a, %b, %c, %d, %e) : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<3xf32>, tensor<i32>) -> tensor<2x3xi32>
  func.return
}
// CHECK: 'output_scale' is tensor<3xf32>, expected a scalar tensor of f32

// -----
func.func @simulate_with_integers(%a: tensor<2x3xi8>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>) {
  %0 = "relay.qnn.simulated_quantize"(%a, %b, %c, %d) : (tensor<2x3xi8>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'data' has elements of type i8, expected floating point

// -----
func.func @simulate_many_dtypes(%a: tensor<2x3xf32>, %b: tensor<3xi32>, %c: tensor<f32>, %d: tensor<i32>) {
  %0 = "relay.qnn.simulated_dequantize"(%a, %b, %c, %d) : (tensor<2x3xf32>, tensor<3xi32>, tensor<f32>, tensor<i32>) -> tensor<2x3xf32>
  func.return
}
// CHECK: 'in_dtype' is tensor<3xi32>, expected a scalar tensor of i32

// -----
func.func @add_dtypes(%a: tensor<2x3xi8>, %b: tensor<2x3xi32>, %c: tensor<f32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<i32>, %g: tensor<f32>, %h: tensor<i32>) {
  %0 = "relay.qnn.add"(%a, %b, %c, %d, %e, %f, %g, %h) : (tensor<2x3xi8>, tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'lhs' has elements of type i8, 'rhs' of i32

// -----
func.func @add_shapes(%a: tensor<2x3xi8>, %b: tensor<4xi8>, %c: tensor<f32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<i32>, %g: tensor<f32>, %h: tensor<i32>) {
  %0 = "relay.qnn.add"(%a, %b, %c, %d, %e, %f, %g, %h) : (tensor<2x3xi8>, tensor<4xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'lhs' [2, 3] and 'rhs' [4] do not broadcast: 3 and 4 in dimension 1 of the result

// -----
func.func @mul_axis(%a: tensor<2x3xi8>, %b: tensor<2x3xi8>, %c: tensor<f32>, %d: tensor<i32>, %e: tensor<3xf32>, %f: tensor<i32>, %g: tensor<f32>, %h: tensor<i32>) {
  %0 = "relay.qnn.mul"(%a, %b, %c, %d, %e, %f, %g, %h) {rhs_axis = 5 : i64} : (tensor<2x3xi8>, tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'rhs_axis' is 5, accepted range is [-2, 1]

// -----
func.func @exp_of_words(%a: tensor<2x3xi32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.exp"(%a, %b, %c, %d, %e) : (tensor<2x3xi32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi32>
  func.return
}
// CHECK: 'data' has elements of type i32, accepted are i8, ui8

// -----
func.func @exp_channels(%a: tensor<2x3xi8>, %b: tensor<3xf32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.exp"(%a, %b, %c, %d, %e) : (tensor<2x3xi8>, tensor<3xf32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'scale' is tensor<3xf32>, expected a scalar tensor of f32

// -----
func.func @leaky_relu_alpha(%a: tensor<2x3xi8>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<i32>) {
  %0 = "relay.qnn.leaky_relu"(%a, %b, %c, %d, %e) {alpha = 0x7ff0000000000000 : f64} : (tensor<2x3xi8>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<2x3xi8>
  func.return
}
// CHECK: 'alpha' is inf, expected a number between -2**31 and 2**31

// -----
func.func @dense_floats(%a: tensor<2x3xf32>, %b: tensor<4x3xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.dense"(%a, %b, %c, %d, %e, %f) : (tensor<2x3xf32>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
  func.return
}
// CHECK: 'data' has elements of type f32, accepted are i8, ui8

// -----
func.func @dense_sums(%a: tensor<2x3xi8>, %b: tensor<4x3xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.dense"(%a, %b, %c, %d, %e, %f) {out_dtype = i16} : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi16>
  func.return
}
// CHECK: 'out_dtype' is i16, accepted are i32

// -----
func.func @dense_lengths(%a: tensor<2x3xi8>, %b: tensor<4x5xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.dense"(%a, %b, %c, %d, %e, %f) : (tensor<2x3xi8>, tensor<4x5xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<2x4xi32>
  func.return
}
// CHECK: the reduced axis has 3 elements in 'data' and 5 in 'weight'

// -----
func.func @dense_scales(%a: tensor<2x3xi8>, %b: tensor<4x3xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<3xf32>) {
  %0 = "relay.qnn.dense"(%a, %b, %c, %d, %e, %f) : (tensor<2x3xi8>, tensor<4x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<3xf32>) -> tensor<2x4xi32>
  func.return
}
// CHECK: 'weight_scale' is tensor<3xf32>, expected a scalar tensor of f32 or one of 4 elements, the length of the channel axis

// -----
func.func @batch_matmul_zero_points(%a: tensor<1x2x3xi8>, %b: tensor<1x3x4xi8>, %c: tensor<i32>, %d: tensor<3xi32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.batch_matmul"(%a, %b, %c, %d, %e, %f) : (tensor<1x2x3xi8>, tensor<1x3x4xi8>, tensor<i32>, tensor<3xi32>, tensor<f32>, tensor<f32>) -> tensor<1x2x4xi32>
  func.return
}
// CHECK: 'y_zero_point' is tensor<3xi32>, expected a scalar tensor of i32

// -----
func.func @conv2d_channels(%a: tensor<1x4x5x5xi8>, %b: tensor<6x3x3x3xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.conv2d"(%a, %b, %c, %d, %e, %f) : (tensor<1x4x5x5xi8>, tensor<6x3x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x6x3x3xi32>
  func.return
}
// CHECK: 'data' has 4 channels, 'weight' takes 3 in each of 1 groups

// -----
func.func @conv2d_sums(%a: tensor<1x3x5x5xi8>, %b: tensor<6x3x3x3xi8>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.conv2d"(%a, %b, %c, %d, %e, %f) {out_dtype = i64} : (tensor<1x3x5x5xi8>, tensor<6x3x3x3xi8>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tensor<1x6x3x3xi64>
  func.return
}
// CHECK: 'out_dtype' is i64, accepted are i32, i16

// -----
func.func @conv2d_transpose_zero_points(%a: tensor<1x3x5x5xi8>, %b: tensor<6x3x3x3xi8>, %c: tensor<i32>, %d: tensor<6xi32>, %e: tensor<f32>, %f: tensor<f32>) {
  %0 = "relay.qnn.conv2d_transpose"(%a, %b, %c, %d, %e, %f) : (tensor<1x3x5x5xi8>, tensor<6x3x3x3xi8>, tensor<i32>, tensor<6xi32>, tensor<f32>, tensor<f32>) -> tensor<1x6x7x7xi32>
  func.return
}
// CHECK: 'weight_zero_point' is tensor<6xi32>, expected a scalar tensor of i32

// -----
func.func @blocks_bits(%a: tensor<5x35xui8>, %b: tensor<5x5xf32>, %c: tensor<ui8>) {
  %0 = "relay.qnn.dequantize_blocks"(%a, %b, %c) {length = 70 : i64, block_size = 16 : i64, bits = 3 : i64} : (tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<5x70xf32>
  func.return
}
// CHECK: 'bits' is 3, accepted are 2, 4 and 8

// -----
func.func @blocks_size(%a: tensor<5x35xui8>, %b: tensor<5x5xf32>, %c: tensor<ui8>) {
  %0 = "relay.qnn.dequantize_blocks"(%a, %b, %c) {length = 70 : i64, block_size = 0 : i64} : (tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<5x70xf32>
  func.return
}
// CHECK: 'block_size' is 0, expected a positive number

// -----
func.func @blocks_length(%a: tensor<5x35xui8>, %b: tensor<5x5xf32>, %c: tensor<ui8>) {
  %0 = "relay.qnn.dequantize_blocks"(%a, %b, %c) {length = -1 : i64, block_size = 16 : i64} : (tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<5x70xf32>
  func.return
}
// CHECK: 'length' is -1, expected a number that is not negative

// -----
func.func @blocks_bytes(%a: tensor<5x35xui8>, %b: tensor<5x5xf32>, %c: tensor<ui8>) {
  %0 = "relay.qnn.dequantize_blocks"(%a, %b, %c) {length = 71 : i64, block_size = 16 : i64} : (tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<5x71xf32>
  func.return
}
// CHECK: 'data' has rows of 35 bytes, 'length' 71 and 'bits' 4 take 36

// -----
func.func @blocks_scales(%a: tensor<2x70xf32>, %b: tensor<5x35xui8>, %c: tensor<5x4xf32>, %d: tensor<ui8>) {
  %0 = "relay.qnn.dense_blocks"(%a, %b, %c, %d) {block_size = 16 : i64} : (tensor<2x70xf32>, tensor<5x35xui8>, tensor<5x4xf32>, tensor<ui8>) -> tensor<2x5xf32>
  func.return
}
// CHECK: 'weight_scale' has the shape {{.}}5, 4], 'block_size' 16 makes {{.}}5, 5]

// -----
func.func @blocks_data_bits(%a: tensor<2x70xf32>, %b: tensor<5x35xui8>, %c: tensor<5x5xf32>, %d: tensor<ui8>) {
  %0 = "relay.qnn.dense_blocks"(%a, %b, %c, %d) {block_size = 16 : i64, data_bits = 4 : i64} : (tensor<2x70xf32>, tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<2x5xf32>
  func.return
}
// CHECK: 'data_bits' is 4, accepted are 8 and 32

// -----
func.func @blocks_data_zeros(%a: tensor<2x70xf32>, %b: tensor<5x35xui8>, %c: tensor<5x5xf32>, %d: tensor<f32>) {
  %0 = "relay.qnn.dense_blocks"(%a, %b, %c, %d) {block_size = 16 : i64, data_bits = 8 : i64} : (tensor<2x70xf32>, tensor<5x35xui8>, tensor<5x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  func.return
}
// CHECK: with 'data_bits' 8 'weight_zero_point' has elements of type f32, accepted are ui8

// -----
func.func @blocks_data_size(%a: tensor<2x70xf32>, %b: tensor<5x35xui8>, %c: tensor<5x1xf32>, %d: tensor<ui8>) {
  %0 = "relay.qnn.dense_blocks"(%a, %b, %c, %d) {block_size = 65537 : i64, data_bits = 8 : i64} : (tensor<2x70xf32>, tensor<5x35xui8>, tensor<5x1xf32>, tensor<ui8>) -> tensor<2x5xf32>
  func.return
}
// CHECK: 'block_size' is 65537, with 'data_bits' 8 it is at most 65536

// -----
func.func @blocks_data(%a: tensor<2x70xf16>, %b: tensor<5x35xui8>, %c: tensor<5x5xf32>, %d: tensor<ui8>) {
  %0 = "relay.qnn.dense_blocks"(%a, %b, %c, %d) {block_size = 16 : i64} : (tensor<2x70xf16>, tensor<5x35xui8>, tensor<5x5xf32>, tensor<ui8>) -> tensor<2x5xf32>
  func.return
}
// CHECK: 'data' has elements of type f16, accepted are f32
