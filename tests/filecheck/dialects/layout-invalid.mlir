// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Layouts.

// CHECK: 'src_layout' is "NCHWc", expected axes in upper case and blocks as a number and an axis in lower case, as in "NCHW16c"
func.func @no_number(%x: tensor<1x4x8x8x4xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHWc", dst_layout = "NCHW"} : (tensor<1x4x8x8x4xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// CHECK: 'dst_layout' is "", expected axes in upper case
func.func @no_axes(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = ""} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// CHECK: 'src_layout' is "NCHC", which has an axis or its block twice
func.func @axis_twice(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHC", dst_layout = "NCHW"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// CHECK: 'dst_layout' is "NHW4c", which has a block of C without C
func.func @block_without_axis(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NHW4c"} : (tensor<1x4x8x8xf32>) -> tensor<1x8x8x4xf32>
  func.return
}

// -----

// CHECK: 'dst_layout' is "NCHD", expected the axes of 'src_layout', "NCHW"
func.func @other_axes(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHD"} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return
}

// -----

// CHECK: 'data' is tensor<1x4x8x8xf32>, expected rank 5
func.func @rank(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x4x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return
}

// -----

// CHECK: 'data' is tensor<1x4x8x8x8xf32>, which has blocks of 8 along C, 'src_layout' is "NCHW4c"
func.func @block_length(%x: tensor<1x4x8x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW4c", dst_layout = "NCHW"} : (tensor<1x4x8x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return
}

// -----

// CHECK: result type is tensor<1x1x8x8x8xf32>, but the operands give tensor<1x1x8x8x16xf32>
func.func @result(%x: tensor<1x4x8x8xf32>) {
  %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW16c"} : (tensor<1x4x8x8xf32>) -> tensor<1x1x8x8x8xf32>
  func.return
}

// -----

// Images in blocks.

// CHECK: 'data' in the layout NCHW4c is tensor<1x4x8x8xf32>, expected rank 5
func.func @conv_rank(%x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW4c"} : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x2x6x6x4xf32>
  func.return
}

// -----

// CHECK: 'data' in the layout NCHW4c is tensor<1x1x8x8x8xf32>, expected blocks of 4 along C
func.func @conv_block(%x: tensor<1x1x8x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW4c"} : (tensor<1x1x8x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x2x6x6x4xf32>
  func.return
}

// -----

// CHECK: 'data' has 2 blocks of 4 channels, 'weight' takes 4 in each of 1 groups
func.func @conv_channels(%x: tensor<1x2x8x8x4xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW4c"} : (tensor<1x2x8x8x4xf32>, tensor<6x4x3x3xf32>) -> tensor<1x2x6x6x4xf32>
  func.return
}

// -----

// CHECK: 'out_layout' is "NCHW", accepted is "NCHW4c" or ""
func.func @pool_out_layout(%x: tensor<1x2x8x8x4xf32>) {
  %0 = relay.nn.max_pool2d %x {pool_size = array<i64: 2, 2>, layout = "NCHW4c", out_layout = "NCHW"} : (tensor<1x2x8x8x4xf32>) -> tensor<1x8x7x7xf32>
  func.return
}

// -----

// CHECK: 'data' in the layout NCHW4c is tensor<1x2x8x8xf32>, expected rank 5
func.func @global_pool_rank(%x: tensor<1x2x8x8xf32>) {
  %0 = relay.nn.global_avg_pool2d %x {layout = "NCHW4c"} : (tensor<1x2x8x8xf32>) -> tensor<1x2x1x1x4xf32>
  func.return
}

// -----

// Lines, transposes and gaps.

// CHECK: 'data' has 9 channels, 'weight' takes 4 in each of 1 groups
func.func @line_layout(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  %0 = relay.nn.conv1d %x, %w {data_layout = "NWC"} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  func.return
}

// -----

// CHECK: 'strides' is [1, 1], expected one positive number
func.func @line_strides(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  %0 = relay.nn.conv1d %x, %w {strides = array<i64: 1, 1>} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  func.return
}

// -----

// CHECK: 'padding' is [1, 1, 1], expected 1 or 2 numbers
func.func @line_padding(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3xf32>) {
  %0 = relay.nn.conv1d %x, %w {padding = array<i64: 1, 1, 1>} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>
  func.return
}

// -----

// CHECK: 'data' has 4 channels, 'weight' takes 3 ('kernel_layout' is "HWIO")
func.func @transpose_layout(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %x, %w {kernel_layout = "HWIO"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  func.return
}

// -----

// CHECK: 'data' has 4 channels, 'weight' takes 6 ('kernel_layout' is "IOHW")
func.func @transpose_channels(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %x, %w {kernel_layout = "IOHW"} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  func.return
}

// -----

// CHECK: 'weight' takes 4 channels, not a multiple of 3 groups
func.func @transpose_groups(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %x, %w {groups = 3 : i64} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x18x7x7xf32>
  func.return
}

// -----

// CHECK: 'output_padding' is [1], expected two numbers that are not negative
func.func @transpose_output_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %x, %w {output_padding = array<i64: 1>} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  func.return
}

// -----

// CHECK: the height of the result is -1, expected at least 1
func.func @transpose_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<6x4x3x3xf32>) {
  %0 = relay.nn.conv2d_transpose %x, %w {padding = array<i64: 4>} : (tensor<1x4x5x5xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x7x7xf32>
  func.return
}

// -----

// CHECK: 'strides' is [2], expected two positive numbers
func.func @gaps(%x: tensor<4x5xf32>) {
  %0 = relay.nn.dilate %x {strides = array<i64: 2>} : (tensor<4x5xf32>) -> tensor<4x9xf32>
  func.return
}
