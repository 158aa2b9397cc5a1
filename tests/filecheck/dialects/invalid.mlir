// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Operands and results of every operator.

// CHECK: result type is tensor<3xi32>, but the operands give tensor<2xi32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "negative_1"
func.func @negative_1(%x: tensor<2xi32>) {
  %0 = relay.negative %x : (tensor<2xi32>) -> tensor<3xi32>
  func.return
}

// -----

// CHECK: result type is tensor<1x2xf32>, but the operands give tensor<?xf32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "exp_1"
func.func @exp_1(%x: tensor<?xf32>) {
  %0 = relay.exp %x : (tensor<?xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: 'dtype' is tensor<2xf32>, expected an integer or floating-point type
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "cast_1"
func.func @cast_1(%x: tensor<2xf32>) {
  %0 = relay.cast %x {dtype = tensor<2xf32>} : (tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'lhs' has elements of type f32, 'rhs' of f64
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "add_1"
func.func @add_1(%x: tensor<2xf32>, %y: tensor<2xf64>) {
  %0 = relay.add %x, %y : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'lhs' [2, 3] and 'rhs' [2] do not broadcast: 3 and 2 in dimension 1 of the result
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "add_2"
func.func @add_2(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %0 = relay.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: result type is tensor<2xf32>, but the operands give tensor<2xi1>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "equal_1"
func.func @equal_1(%x: tensor<2xf32>) {
  %0 = relay.equal %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// Reductions.

// CHECK: 'axis' is 2, accepted range is [-2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sum_1"
func.func @sum_1(%x: tensor<2x3xf32>) {
  %0 = relay.sum %x {axis = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'axis' [0, 0] names a dimension twice
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "sum_2"
func.func @sum_2(%x: tensor<2x3xf32>) {
  %0 = relay.sum %x {axis = array<i64: 0, -2>} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type i8, expected i1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "all_1"
func.func @all_1(%x: tensor<2x3xi8>) {
  %0 = relay.all %x : (tensor<2x3xi8>) -> tensor<i8>
  func.return
}

// -----

// CHECK: a reduced axis of 'data' has length 0: it has no extreme element
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "argmax_1"
func.func @argmax_1(%x: tensor<2x0xf32>) {
  %0 = relay.argmax %x {axis = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xi32>
  func.return
}

// -----

// Creation.

// CHECK: 'shape' is [2, -1], expected no negative number
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "zeros_1"
func.func @zeros_1() {
  %0 = relay.zeros {shape = array<i64: 2, -1>, dtype = f32} : tensor<2x?xf32>
  func.return
}

// -----

// CHECK: 'dtype' is index, expected an integer or floating-point type
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "ones_1"
func.func @ones_1() {
  %0 = relay.ones {shape = array<i64: 2>, dtype = index} : tensor<2xindex>
  func.return
}

// -----

// CHECK: 'fill_value' is tensor<1xf32>, expected a scalar
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "full_1"
func.func @full_1(%x: tensor<1xf32>) {
  %0 = relay.full %x {shape = array<i64: 2>} : (tensor<1xf32>) -> tensor<2xf32>
  func.return
}

// -----

// Constants, tuples, references, bodies.

// CHECK: 'value' is 1 : i32, expected dense<
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "constant_1"
func.func @constant_1() {
  %0 = "relay.constant"() <{value = 1 : i32}> : () -> tensor<i32>
  func.return
}

// -----

// CHECK: result type is tensor<?xf32>, expected a static shape
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "constant_2"
func.func @constant_2() {
  %0 = relay.constant #relay.blob<"00"> : tensor<?xf32>
  func.return
}

// -----

// CHECK: expected a tensor type
func.func @constant_3() {
  %0 = relay.constant #relay.blob<"00"> : f32
  func.return
}

// -----

// CHECK: 'index' is 1, the tuple has 1 fields
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "tuple_get_item_1"
func.func @tuple_get_item_1(%x: tuple<tensor<f32>>) {
  %0 = relay.tuple_get_item %x[1] : (tuple<tensor<f32>>) -> tensor<f32>
  func.return
}

// -----

// CHECK: the cell holds tensor<f32>, 'value' is tensor<i32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "ref_write_1"
func.func @ref_write_1(%x: !relay.ref<tensor<f32>>, %y: tensor<i32>) {
  %0 = relay.ref_write %x, %y : (!relay.ref<tensor<f32>>, tensor<i32>) -> tuple<>
  func.return
}

// -----

// CHECK: the body does not end with relay.yield
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "fused_1"
func.func @fused_1(%x: tensor<f32>) {
  %0 = relay.fused %x : (tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    llvm.unreachable
  }
  func.return
}

// -----

// CHECK: the body has 1 parameters, 2 arguments are given
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "fused_2"
func.func @fused_2(%x: tensor<f32>) {
  %0 = relay.fused %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<f32>):
    relay.yield %p : tensor<f32>
  }
  func.return
}

// -----

// CHECK: parameter 0 has type tensor<i32>, its argument tensor<f32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "composite_1"
func.func @composite_1(%x: tensor<f32>) {
  %0 = relay.composite "c" %x : (tensor<f32>) -> tensor<f32> {
  ^bb0(%p: tensor<i32>):
    relay.yield %p : tensor<i32>
  }
  func.return
}

// -----

// CHECK: result type is tensor<i32>, the body yields tensor<f32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "fused_3"
func.func @fused_3(%x: tensor<f32>) {
  %0 = relay.fused %x : (tensor<f32>) -> tensor<i32> {
  ^bb0(%p: tensor<f32>):
    relay.yield %p : tensor<f32>
  }
  func.return
}

// -----

// Convolution.

// CHECK: 'data' has 8 channels, 'weight' takes 4 in each of 1 groups
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_1"
func.func @conv2d_1(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'data' has 4 channels, 'weight' takes 3 in each of 1 groups
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_2"
func.func @conv2d_2(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {kernel_layout = "HWIO"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'out_layout' is "NHW", expected the axes of "NCHW" in any order
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_3"
func.func @conv2d_3(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {out_layout = "NHW"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'data' is tensor<4x8x8xf32>, expected rank 4
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_4"
func.func @conv2d_4(%x: tensor<4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w : (tensor<4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'weight' is tensor<6x4x3xf32>, expected rank 4
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_5"
func.func @conv2d_5(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3xf32>) {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'groups' is 0, expected at least 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_7"
func.func @conv2d_7(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {groups = 0 : i64} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'data' has 4 channels, 'weight' takes 4 in each of 2 groups
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_8"
func.func @conv2d_8(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {groups = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'weight' has 6 output channels, not a multiple of 4 groups
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_9"
func.func @conv2d_9(%x: tensor<1x4x8x8xf32>, %w: tensor<6x1x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {groups = 4 : i64} : (tensor<1x4x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'channels' is 5, 'weight' has 6
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_10"
func.func @conv2d_10(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {channels = 5 : i64} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'kernel_size' is [3, 2], 'weight' has [3, 3]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_11"
func.func @conv2d_11(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {kernel_size = array<i64: 3, 2>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'padding' is [-1], expected no negative number
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_12"
func.func @conv2d_12(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: -1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'padding' is [1, 1, 1], expected 1, 2 or 4 numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_13"
func.func @conv2d_13(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'strides' is [1], expected two positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_14"
func.func @conv2d_14(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {strides = array<i64: 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'dilation' is [0, 1], expected two positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_15"
func.func @conv2d_15(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {dilation = array<i64: 0, 1>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: the window covers 9 elements, the padded width is only 8
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_16"
func.func @conv2d_16(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {dilation = array<i64: 1, 4>} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: the height of the window is 0, expected at least 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_17"
func.func @conv2d_17(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x0x3xf32>) {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x4x8x8xf32>, tensor<6x4x0x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// CHECK: 'out_dtype' is index, expected an integer or floating-point type
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "conv2d_18"
func.func @conv2d_18(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {out_dtype = index} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>
  func.return
}

// -----

// Matrix products.

// CHECK: 'data' is tensor<f32>, expected at least rank 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "dense_1"
func.func @dense_1(%x: tensor<f32>, %y: tensor<3x4xf32>) {
  %0 = relay.nn.dense %x, %y : (tensor<f32>, tensor<3x4xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: 'weight' is tensor<4xf32>, expected rank 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "dense_2"
func.func @dense_2(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  %0 = relay.nn.dense %x, %y : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: the reduced axis has 5 elements in 'data' and 4 in 'weight'
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "dense_4"
func.func @dense_4(%x: tensor<2x5xf32>, %y: tensor<3x4xf32>) {
  %0 = relay.nn.dense %x, %y : (tensor<2x5xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'units' is 4, 'weight' has 3 rows
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "dense_5"
func.func @dense_5(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) {
  %0 = relay.nn.dense %x, %y {units = 4 : i64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'units' is 4, 'tensor_b' has 3 columns
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "matmul_1"
func.func @matmul_1(%x: tensor<2x4xf32>, %y: tensor<4x3xf32>) {
  %0 = relay.nn.matmul %x, %y {units = 4 : i64} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: the reduced axis has 4 elements in 'tensor_a' and 3 in 'tensor_b'
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "matmul_2"
func.func @matmul_2(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) {
  %0 = relay.nn.matmul %x, %y : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: 'tensor_a' [2] and 'tensor_b' [3] do not broadcast: 2 and 3 in dimension 0 of the result
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_matmul_1"
func.func @batch_matmul_1(%x: tensor<2x4x4xf32>, %y: tensor<3x4x4xf32>) {
  %0 = relay.nn.batch_matmul %x, %y : (tensor<2x4x4xf32>, tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  func.return
}

// -----

// CHECK: 'tensor_a' is tensor<4x4xf32>, expected rank 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_matmul_2"
func.func @batch_matmul_2(%x: tensor<4x4xf32>, %y: tensor<3x4x4xf32>) {
  %0 = relay.nn.batch_matmul %x, %y : (tensor<4x4xf32>, tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  func.return
}

// -----

// Pooling.

// CHECK: 'pool_size' is [2], expected two positive numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool2d_1"
func.func @max_pool2d_1(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: the window covers 9 elements, the padded height is only 8
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "avg_pool2d_1"
func.func @avg_pool2d_1(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.avg_pool2d %x {pool_size = array<i64: 9, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'layout' is "NHWD", expected the axes of "NCHW" in any order
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "max_pool2d_2"
func.func @max_pool2d_2(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NHWD"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'data' is tensor<3x8x8xf32>, expected rank 4
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "global_avg_pool2d_1"
func.func @global_avg_pool2d_1(%x: tensor<3x8x8xf32>) {
  %0 = relay.nn.global_avg_pool2d %x : (tensor<3x8x8xf32>) -> tensor<3x1x1xf32>
  func.return
}

// -----

// CHECK: 'method' is "cubic", accepted is "nearest_neighbor" or "bilinear" or "bicubic"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling_1"
func.func @upsampling_1(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.upsampling %x {scale_h = 1.0 : f64, scale_w = 1.0 : f64, method = "cubic"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'layout' is "NCHW2h", which splits H; only C may be split
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling_2"
func.func @upsampling_2(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.upsampling %x {scale_h = 1.0 : f64, scale_w = 1.0 : f64, layout = "NCHW2h"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'scale_h' and 'scale_w' are (0.0, 1.0), expected positive finite numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling_3"
func.func @upsampling_3(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.upsampling %x {scale_h = 0.0 : f64, scale_w = 1.0 : f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// CHECK: 'scale_h' and 'scale_w' are (1.0, inf), expected positive finite numbers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "upsampling_4"
func.func @upsampling_4(%x: tensor<1x3x8x8xf32>) {
  %0 = relay.nn.upsampling %x {scale_h = 1.0 : f64, scale_w = 0x7FF0000000000000 : f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  func.return
}

// -----

// Normalisation.

// CHECK: 'bias' is tensor<1x3xf32>, expected rank 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bias_add_1"
func.func @bias_add_1(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) {
  %0 = relay.nn.bias_add %x, %y : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type f32, 'bias' of f64
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bias_add_2"
func.func @bias_add_2(%x: tensor<2x3xf32>, %y: tensor<3xf64>) {
  %0 = relay.nn.bias_add %x, %y : (tensor<2x3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'bias' has 2 elements, axis 1 of 'data' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "bias_add_3"
func.func @bias_add_3(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %0 = relay.nn.bias_add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type i32, expected floating point
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_norm_1"
func.func @batch_norm_1(%x: tensor<2x3xi32>, %c: tensor<3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.batch_norm %x, %c, %c, %g, %c : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3xi32>, tensor<3xf32>, tensor<3xf32>>
  func.return
}

// -----

// CHECK: 'moving_mean' has 2 elements, axis 1 of 'data' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_norm_2"
func.func @batch_norm_2(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<2xf32>) {
  %0 = relay.nn.batch_norm %x, %c, %c, %g, %c : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>>
  func.return
}

// -----

// CHECK: 'data' has elements of type f32, 'moving_mean' of f64
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_norm_3"
func.func @batch_norm_3(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<3xf64>) {
  %0 = relay.nn.batch_norm %x, %c, %c, %g, %c : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>) -> tuple<tensor<2x3xf32>, tensor<3xf64>, tensor<3xf32>>
  func.return
}

// -----

// CHECK: 'moving_mean' is tensor<1x3xf32>, expected rank 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_norm_4"
func.func @batch_norm_4(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<1x3xf32>) {
  %0 = relay.nn.batch_norm %x, %c, %c, %g, %c : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<1x3xf32>, tensor<3xf32>) -> tuple<tensor<2x3xf32>, tensor<1x3xf32>, tensor<3xf32>>
  func.return
}

// -----

// CHECK: 'axis' is 2, accepted range is [-2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "softmax_1"
func.func @softmax_1(%x: tensor<2x3xf32>) {
  %0 = relay.nn.softmax %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'size' is 0, expected at least 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "lrn_1"
func.func @lrn_1(%x: tensor<2x3xf32>) {
  %0 = relay.nn.lrn %x {size = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// Reshape.

// CHECK: 'newshape' [4] gives [4] with 4 elements, 'data' [2, 3] has 6
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_1"
func.func @reshape_1(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: 4>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: code 0 of 'newshape' [2, 3, 0] needs more dimensions than 'data' [2, 3] has
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_2"
func.func @reshape_2(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: 2, 3, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: code -3 of 'newshape' [2, -3] needs more dimensions than 'data' [2, 3] has
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_3"
func.func @reshape_3(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: 2, -3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'newshape' [-1, -1] has more than one -1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_4"
func.func @reshape_4(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -1, -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: -4 in 'newshape' [-4, 2] needs two numbers after it
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_5"
func.func @reshape_5(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -4, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'newshape' [-5] has the unknown code -5
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_6"
func.func @reshape_6(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -5>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: -1 in 'newshape' [-1, 0] stands beside a dimension of 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_7"
func.func @reshape_7(%x: tensor<2x0xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -1, 0>} : (tensor<2x0xf32>) -> tensor<2x0xf32>
  func.return
}

// -----

// CHECK: 'data' [2, 3] does not divide into 'newshape' [4, -1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_8"
func.func @reshape_8(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: 4, -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: -4 in 'newshape' is followed by two -1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_9"
func.func @reshape_9(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -4, -1, -1, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: -4 in 'newshape' is followed by -1 and 0, expected positive numbers or -1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_10"
func.func @reshape_10(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -4, -1, 0, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: -4 in 'newshape' splits 2 into 2 times 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "reshape_11"
func.func @reshape_11(%x: tensor<2x3xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: -4, 2, 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// Other changes of shape.

// CHECK: 'data' is tensor<f32>, expected at least rank 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "batch_flatten_1"
func.func @batch_flatten_1(%x: tensor<f32>) {
  %0 = relay.nn.batch_flatten %x : (tensor<f32>) -> tensor<1x1xf32>
  func.return
}

// -----

// CHECK: 'axis' is absent and 'data' [?, 1] has an unknown dimension
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "squeeze_1"
func.func @squeeze_1(%x: tensor<?x1xf32>) {
  %0 = relay.squeeze %x : (tensor<?x1xf32>) -> tensor<?xf32>
  func.return
}

// -----

// CHECK: 'axis' names dimension 1 of length 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "squeeze_2"
func.func @squeeze_2(%x: tensor<2x3xf32>) {
  %0 = relay.squeeze %x {axis = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'num_newaxis' is -1, accepted range is [0, 64]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "expand_dims_1"
func.func @expand_dims_1(%x: tensor<2x3xf32>) {
  %0 = relay.expand_dims %x {axis = 0 : i64, num_newaxis = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'axis' is 3, accepted range is [-3, 2]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "expand_dims_2"
func.func @expand_dims_2(%x: tensor<2x3xf32>) {
  %0 = relay.expand_dims %x {axis = 3 : i64} : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  func.return
}

// -----

// CHECK: 'axes' is [0], expected all 2 dimensions
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "transpose_1"
func.func @transpose_1(%x: tensor<2x3xf32>) {
  %0 = relay.transpose %x {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'axes' [0, 0] names a dimension twice
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "transpose_2"
func.func @transpose_2(%x: tensor<2x3xf32>) {
  %0 = relay.transpose %x {axes = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'shape' is [-2, 3], expected no number below -1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "broadcast_to_1"
func.func @broadcast_to_1(%x: tensor<2x3xf32>) {
  %0 = relay.broadcast_to %x {shape = array<i64: -2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'shape' [3] has fewer dimensions than 'data'
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "broadcast_to_2"
func.func @broadcast_to_2(%x: tensor<2x3xf32>) {
  %0 = relay.broadcast_to %x {shape = array<i64: 3>} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: 'data' [2, 3] does not broadcast to 'shape' [2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "broadcast_to_3"
func.func @broadcast_to_3(%x: tensor<2x3xf32>) {
  %0 = relay.broadcast_to %x {shape = array<i64: 2, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' [2, 3] and 'shape' [2, 4] do not broadcast: 3 and 4 in dimension 1 of the result
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "broadcast_to_4"
func.func @broadcast_to_4(%x: tensor<2x3xf32>) {
  %0 = relay.broadcast_to %x {shape = array<i64: 2, 4>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'reps' is [-1], expected no negative number
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "tile_1"
func.func @tile_1(%x: tensor<2x3xf32>) {
  %0 = relay.tile %x {reps = array<i64: -1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'repeats' is -1, expected at least 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "repeat_1"
func.func @repeat_1(%x: tensor<2x3xf32>) {
  %0 = relay.repeat %x {repeats = -1 : i64, axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'slice_mode' is "step", accepted is "end" or "size"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "strided_slice_1"
func.func @strided_slice_1(%x: tensor<2x3xf32>) {
  %0 = relay.strided_slice %x {begin = array<i64: 0>, end = array<i64: 1>, slice_mode = "step"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'begin' [0, 0] and 'end' [1] do not have one number for each of 'axes' [0, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "strided_slice_2"
func.func @strided_slice_2(%x: tensor<2x3xf32>) {
  %0 = relay.strided_slice %x {begin = array<i64: 0, 0>, end = array<i64: 1>, axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'begin' [0, 0], 'end' [1] and 'strides' [1, 1, 1] have numbers for 3 axes, there are 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "strided_slice_lengths"
func.func @strided_slice_lengths(%x: tensor<2x3xf32>) {
  %0 = relay.strided_slice %x {begin = array<i64: 0, 0>, end = array<i64: 1>, strides = array<i64: 1, 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'strides' has a 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "strided_slice_3"
func.func @strided_slice_3(%x: tensor<2x3xf32>) {
  %0 = relay.strided_slice %x {begin = array<i64: 0>, end = array<i64: 1>, strides = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// Padding.

// CHECK: 'pad_mode' is "wrap", accepted is "constant" or "edge" or "reflect"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_1"
func.func @pad_1(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>], pad_mode = "wrap"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'pad_val' is tensor<1xi32>, expected a scalar
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_2"
func.func @pad_2(%x: tensor<2x3xf32>, %v: tensor<1xi32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 0, 0>, array<i64: 0, 0>]} : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'pad_width' is [[0, 0]], expected two numbers for each of 2 axes
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_3"
func.func @pad_3(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 0, 0>]} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'pad_width' [-2, -2] leaves out more than an axis of length 3 has
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_4"
func.func @pad_4(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 0, 0>, array<i64: -2, -2>]} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'pad_width' [2, 0] is too wide for mode "reflect" on an axis of length 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_5"
func.func @pad_5(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 2, 0>, array<i64: 0, 0>], pad_mode = "reflect"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'pad_width' [1, 0] is too wide for mode "edge" on an axis of length 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "pad_6"
func.func @pad_6(%x: tensor<0x3xf32>, %v: tensor<f32>) {
  %0 = relay.nn.pad %x, %v {pad_width = [array<i64: 1, 0>, array<i64: 0, 0>], pad_mode = "edge"} : (tensor<0x3xf32>, tensor<f32>) -> tensor<0x3xf32>
  func.return
}

// -----

// Joining and cutting.

// CHECK: 'data' is the empty tuple, expected at least one tensor
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "concatenate_1"
func.func @concatenate_1(%x: tuple<>) {
  %0 = relay.concatenate %x : (tuple<>) -> tensor<0xf32>
  func.return
}

// -----

// CHECK: field 1 of 'data' is tuple<>, expected a ranked tensor
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "concatenate_2"
func.func @concatenate_2(%x: tuple<tensor<2xf32>, tuple<>>) {
  %0 = relay.concatenate %x : (tuple<tensor<2xf32>, tuple<>>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: field 1 of 'data' is tensor<2xi32>, field 0 is tensor<2xf32>
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "concatenate_3"
func.func @concatenate_3(%x: tuple<tensor<2xf32>, tensor<2xi32>>) {
  %0 = relay.concatenate %x : (tuple<tensor<2xf32>, tensor<2xi32>>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: field 1 of 'data' has length 4 in dimension 1, others 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "concatenate_4"
func.func @concatenate_4(%x: tuple<tensor<2x3xf32>, tensor<2x4xf32>>) {
  %0 = relay.concatenate %x : (tuple<tensor<2x3xf32>, tensor<2x4xf32>>) -> tensor<4x3xf32>
  func.return
}

// -----

// CHECK: 'axis' is 1, accepted range is [-1, 0]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "concatenate_5"
func.func @concatenate_5(%x: tuple<tensor<2xf32>>) {
  %0 = relay.concatenate %x {axis = 1 : i64} : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: field 1 of 'data' has length 3 in dimension 0, others 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "stack_1"
func.func @stack_1(%x: tuple<tensor<2xf32>, tensor<3xf32>>) {
  %0 = relay.stack %x : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: 'indices_or_sections' is 2, which does not divide the length 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "split_1"
func.func @split_1(%x: tensor<2x3xf32>) {
  %0 = relay.split %x {indices_or_sections = 2 : i64, axis = 1 : i64} : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>>
  func.return
}

// -----

// CHECK: 'indices_or_sections' is 0, accepted range is [1, 1048576]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "split_2"
func.func @split_2(%x: tensor<?xf32>) {
  %0 = relay.split %x {indices_or_sections = 0 : i64} : (tensor<?xf32>) -> tuple<>
  func.return
}

// -----

// CHECK: 'indices_or_sections' [2, 1] is not ascending within the axis [4]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "split_3"
func.func @split_3(%x: tensor<4xf32>) {
  %0 = relay.split %x {indices_or_sections = array<i64: 2, 1>} : (tensor<4xf32>) -> tuple<>
  func.return
}

// -----

// CHECK: 'indices_or_sections' [5] is not ascending within the axis [4]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "split_4"
func.func @split_4(%x: tensor<4xf32>) {
  %0 = relay.split %x {indices_or_sections = array<i64: 5>} : (tensor<4xf32>) -> tuple<>
  func.return
}

// -----

// Selection.

// CHECK: 'indices' is tensor<4xf32>, expected integers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_1"
func.func @take_1(%x: tensor<2x3xf32>, %i: tensor<4xf32>) {
  %0 = relay.take %x, %i : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' is tensor<4xi1>, expected integers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_2"
func.func @take_2(%x: tensor<2x3xf32>, %i: tensor<4xi1>) {
  %0 = relay.take %x, %i : (tensor<2x3xf32>, tensor<4xi1>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'mode' is "raise", accepted is "clip" or "wrap" or "fast"
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_3"
func.func @take_3(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  %0 = relay.take %x, %i {mode = "raise"} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'batch_dims' is 1, but 'axis' is absent
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_4"
func.func @take_4(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  %0 = relay.take %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'batch_dims' is 2, accepted range is [0, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_5"
func.func @take_5(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  %0 = relay.take %x, %i {axis = 1 : i64, batch_dims = 2 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: the first 1 dimensions of 'data' [2, 3] and 'indices' [4] differ
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_6"
func.func @take_6(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  %0 = relay.take %x, %i {axis = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' takes elements of an axis of length 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "take_7"
func.func @take_7(%x: tensor<0xf32>, %i: tensor<4xi64>) {
  %0 = relay.take %x, %i : (tensor<0xf32>, tensor<4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' is tensor<2x4xf32>, expected integers
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_1"
func.func @gather_nd_1(%x: tensor<2x3xf32>, %i: tensor<2x4xf32>) {
  %0 = relay.gather_nd %x, %i : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' is tensor<i64>, expected at least rank 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_2"
func.func @gather_nd_2(%x: tensor<2x3xf32>, %i: tensor<i64>) {
  %0 = relay.gather_nd %x, %i : (tensor<2x3xf32>, tensor<i64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: the first dimension of 'indices' is unknown
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_3"
func.func @gather_nd_3(%x: tensor<2x3xf32>, %i: tensor<?x4xi64>) {
  %0 = relay.gather_nd %x, %i : (tensor<2x3xf32>, tensor<?x4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' [2, 4] with 'batch_dims' 1 names 3 axes, 'data' has 2
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_4"
func.func @gather_nd_4(%x: tensor<2x3xf32>, %i: tensor<2x4xi64>) {
  %0 = relay.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: the first 1 dimensions of 'data' and 'indices' differ
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_5"
func.func @gather_nd_5(%x: tensor<2x3xf32>, %i: tensor<1x4xi64>) {
  %0 = relay.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<1x4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'indices' takes elements of an axis of length 0
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "gather_nd_6"
func.func @gather_nd_6(%x: tensor<0x3xf32>, %i: tensor<1x4xi64>) {
  %0 = relay.gather_nd %x, %i : (tensor<0x3xf32>, tensor<1x4xi64>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: 'x' has elements of type f32, 'y' of f64
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "where_2"
func.func @where_2(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf64>) {
  %0 = relay.where %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'x' [2] and 'y' [3] do not broadcast: 2 and 3 in dimension 0 of the result
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "where_3"
func.func @where_3(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = relay.where %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'condition' [3] and 'x and y' [2] do not broadcast: 3 and 2 in dimension 0 of the result
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "where_4"
func.func @where_4(%c: tensor<3xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) {
  %0 = relay.where %c, %x, %y : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type i32, expected floating point
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "layer_norm_1"
func.func @layer_norm_1(%x: tensor<2x3xi32>, %c: tensor<3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.layer_norm %x, %c, %g : (tensor<2x3xi32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xi32>
  func.return
}

// -----

// CHECK: 'beta' has 2 elements, axis 1 of 'data' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "layer_norm_2"
func.func @layer_norm_2(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<2xf32>) {
  %0 = relay.nn.layer_norm %x, %c, %g : (tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'axis' is 2, accepted range is [-2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "layer_norm_3"
func.func @layer_norm_3(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.layer_norm %x, %c, %g {axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type i32, expected floating point
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "rms_norm_1"
func.func @rms_norm_1(%x: tensor<2x3xi32>, %g: tensor<3xf32>) {
  %0 = relay.nn.rms_norm %x, %g : (tensor<2x3xi32>, tensor<3xf32>) -> tensor<2x3xi32>
  func.return
}

// -----

// CHECK: 'gamma' has 2 elements, axis 1 of 'data' 3
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "rms_norm_2"
func.func @rms_norm_2(%x: tensor<2x3xf32>, %g: tensor<2xf32>) {
  %0 = relay.nn.rms_norm %x, %g : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'axis' is 2, accepted range is [-2, 1]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "rms_norm_3"
func.func @rms_norm_3(%x: tensor<2x3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.rms_norm %x, %g {axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: 'data' has elements of type f32, 'gamma' of f64
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "instance_norm_1"
func.func @instance_norm_1(%x: tensor<2x3x4xf32>, %c: tensor<3xf64>, %g: tensor<3xf32>) {
  %0 = relay.nn.instance_norm %x, %c, %g : (tensor<2x3x4xf32>, tensor<3xf64>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return
}

// -----

// CHECK: 'num_groups' is 0, expected a divisor of the 3 channels along axis 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "group_norm_1"
func.func @group_norm_1(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.group_norm %x, %c, %g : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return
}

// -----

// CHECK: 'num_groups' is 2, expected a divisor of the 3 channels along axis 1
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "group_norm_2"
func.func @group_norm_2(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %g: tensor<3xf32>) {
  %0 = relay.nn.group_norm %x, %c, %g {num_groups = 2 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return
}

// -----

// CHECK: 'num_newaxis' is 9223372036854775807, accepted range is [0, 64]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "too_many_axes"
func.func @too_many_axes(%x: tensor<2xf32>) {
  %0 = relay.expand_dims %x {axis = 0 : i64, num_newaxis = 9223372036854775807 : i64} : (tensor<2xf32>) -> tensor<1x2xf32>
  func.return
}

// -----

// CHECK: 'indices_or_sections' is 9223372036854775807, accepted range is [1, 1048576]
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "too_many_parts"
func.func @too_many_parts(%x: tensor<0x2xf32>) {
  %0 = relay.split %x {indices_or_sections = 9223372036854775807 : i64} : (tensor<0x2xf32>) -> tuple<tensor<0x2xf32>>
  func.return
}

// -----

// CHECK: 'size' is tensor<f32>, expected a scalar integer
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "size_of_storage"
func.func @size_of_storage(%size: tensor<f32>, %n: tensor<i64>) {
  %0 = relay.memory.alloc_storage %size, %n {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<f32>, tensor<i64>) -> !relay.adt<@Storage, []>
  func.return
}

// -----

// CHECK: 'alignment' is tensor<1xi64>, expected a scalar integer
// CHECK-NEXT: "builtin.module"
// CHECK-NEXT: sym_name = "alignment_of_storage"
func.func @alignment_of_storage(%n: tensor<i64>, %alignment: tensor<1xi64>) {
  %0 = relay.memory.alloc_storage %n, %alignment {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", unit>} : (tensor<i64>, tensor<1xi64>) -> !relay.adt<@Storage, []>
  func.return
}

// -----

// CHECK: 'device_type' of relay.virtual_device is 0, expected at least 1, or -1 where it is not decided
func.func @device_type(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.on_device %x {virtual_device = #relay.virtual_device<0 : i64, 0 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: 'device_id' of relay.virtual_device is -2, expected at least 0, or -1 where it is not decided
func.func @device_id(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.on_device %x {virtual_device = #relay.virtual_device<1 : i64, -2 : i64, "", unit>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// CHECK: 'target' of relay.virtual_device is "llvm", expected a dictionary, or `unit` where it is not decided
func.func @device_target(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.on_device %x {virtual_device = #relay.virtual_device<1 : i64, 0 : i64, "", "llvm">} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
