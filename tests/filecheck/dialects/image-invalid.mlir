// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @another_rank(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize1d"(%a) {size = array<i64: 2>} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'data' is tensor<1x3x4x5xf32>, expected rank 3

// -----
func.func @another_size(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2>} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'size' is [2], expected 2 numbers that are not negative

// -----
func.func @negative_size(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, -1>} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'size' is [2, -1], expected 2 numbers that are not negative

// -----
func.func @another_layout(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, layout = "NCHW4c"} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'layout' is "NCHW4c", expected the letters of "NCHW" in some order

// -----
func.func @another_region(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, roi = array<f64: 0.0, 1.0>} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'roi' is [0.0, 1.0], expected 4 numbers

// -----
func.func @another_scale(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, scales = array<f64: 0.5, -0.5>} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'scales' is [0.5, -0.5], expected 2 positive numbers

// -----
func.func @another_method(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, method = "bilinear"} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'method' is "bilinear", accepted is "nearest_neighbor" or "linear" or "cubic"

// -----
func.func @another_mode(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, coordinate_transformation_mode = "half"} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'coordinate_transformation_mode' is "half", accepted is "half_pixel" or

// -----
func.func @another_rounding(%a: tensor<1x3x4x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>, rounding_method = "up"} : (tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'rounding_method' is "up", accepted is "round" or

// -----
func.func @empty_axis(%a: tensor<1x3x0x5xf32>) {
  %0 = "relay.image.resize2d"(%a) {size = array<i64: 2, 2>} : (tensor<1x3x0x5xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: axis 2 of 'data' is empty, 2 elements cannot be made

// -----
func.func @another_box(%a: tensor<1x3x4x5xf32>, %b: tensor<2x5xf32>, %c: tensor<2xi32>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2, 2>} : (tensor<1x3x4x5xf32>, tensor<2x5xf32>, tensor<2xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'boxes' is tensor<2x5xf32>, expected rows of four numbers of f32

// -----
func.func @whole_boxes(%a: tensor<1x3x4x5xf32>, %b: tensor<2x4xi32>, %c: tensor<2xi32>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2, 2>} : (tensor<1x3x4x5xf32>, tensor<2x4xi32>, tensor<2xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'boxes' is tensor<2x4xi32>, expected rows of four numbers of f32

// -----
func.func @another_count(%a: tensor<1x3x4x5xf32>, %b: tensor<2x4xf32>, %c: tensor<3xi32>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2, 2>} : (tensor<1x3x4x5xf32>, tensor<2x4xf32>, tensor<3xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'boxes' has 2 rows, 'box_indices' 3 elements

// -----
func.func @another_index(%a: tensor<1x3x4x5xf32>, %b: tensor<2x4xf32>, %c: tensor<2xi64>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2, 2>} : (tensor<1x3x4x5xf32>, tensor<2x4xf32>, tensor<2xi64>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'box_indices' is tensor<2xi64>, expected elements of i32

// -----
func.func @another_crop(%a: tensor<1x3x4x5xf32>, %b: tensor<2x4xf32>, %c: tensor<2xi32>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2>} : (tensor<1x3x4x5xf32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'crop_size' is [2], expected two numbers that are not negative

// -----
func.func @another_crop_method(%a: tensor<1x3x4x5xf32>, %b: tensor<2x4xf32>, %c: tensor<2xi32>) {
  %0 = "relay.image.crop_and_resize"(%a, %b, %c) {crop_size = array<i64: 2, 2>, method = "linear"} : (tensor<1x3x4x5xf32>, tensor<2x4xf32>, tensor<2xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'method' is "linear", accepted is "bilinear" or "nearest_neighbor"

// -----
func.func @another_matrix(%a: tensor<1x3x3xf32>) {
  %0 = "relay.image.affine_grid"(%a) {target_shape = array<i64: 4, 4>} : (tensor<1x3x3xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
// CHECK: 'data' is tensor<1x3x3xf32>, expected matrices [2, 3] of floating-point elements

// -----
func.func @narrow_grid(%a: tensor<1x2x3xf32>) {
  %0 = "relay.image.affine_grid"(%a) {target_shape = array<i64: 4, 1>} : (tensor<1x2x3xf32>) -> tensor<1x2x4x1xf32>
  func.return
}
// CHECK: 'target_shape' is [4, 1], expected two numbers of at least 2

// -----
func.func @sample_of_lines(%a: tensor<1x2x3xf32>, %b: tensor<1x2x3xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  func.return
}
// CHECK: 'data' is tensor<1x2x3xf32>, expected rank 4 or 5

// -----
func.func @sample_at_whole_numbers(%a: tensor<1x3x4x5xf32>, %b: tensor<1x2x2x2xi32>) {
  %0 = "relay.image.grid_sample"(%a, %b) : (tensor<1x3x4x5xf32>, tensor<1x2x2x2xi32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'grid' has elements of type i32, expected floating point

// -----
func.func @sample_in_three_dimensions(%a: tensor<1x3x4x5xf32>, %b: tensor<1x3x2x2xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) : (tensor<1x3x4x5xf32>, tensor<1x3x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'grid' has 3 coordinates, 'data' 2 axes

// -----
func.func @sample_of_more_images(%a: tensor<1x3x4x5xf32>, %b: tensor<2x2x2x2xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) : (tensor<1x3x4x5xf32>, tensor<2x2x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'data' has 1 images, 'grid' is for 2

// -----
func.func @cubic_volume(%a: tensor<1x2x3x4x5xf32>, %b: tensor<1x3x3x4x5xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) {method = "bicubic", layout = "NCDHW"} : (tensor<1x2x3x4x5xf32>, tensor<1x3x3x4x5xf32>) -> tensor<1x2x3x4x5xf32>
  func.return
}
// CHECK: 'method' is "bicubic", accepted is "bilinear" or "nearest"

// -----
func.func @another_padding(%a: tensor<1x3x4x5xf32>, %b: tensor<1x2x2x2xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) {padding_mode = "edge"} : (tensor<1x3x4x5xf32>, tensor<1x2x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'padding_mode' is "edge", accepted is "zeros" or "border" or "reflection"

// -----
func.func @empty_image(%a: tensor<1x3x0x5xf32>, %b: tensor<1x2x2x2xf32>) {
  %0 = "relay.image.grid_sample"(%a, %b) : (tensor<1x3x0x5xf32>, tensor<1x2x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'data' is tensor<1x3x0x5xf32>, expected images that are not empty

// -----
func.func @dilation_channels(%a: tensor<1x3x4x5xf32>, %b: tensor<2x2x2xf32>) {
  %0 = "relay.image.dilation2d"(%a, %b) : (tensor<1x3x4x5xf32>, tensor<2x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'data' has 3 channels, 'weight' has 2

// -----
func.func @dilation_layout(%a: tensor<1x3x4x5xf32>, %b: tensor<3x2x2xf32>) {
  %0 = "relay.image.dilation2d"(%a, %b) {kernel_layout = "OHW"} : (tensor<1x3x4x5xf32>, tensor<3x2x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: 'kernel_layout' is "OHW", expected the letters of "IHW" in some order

// -----
func.func @dilation_window(%a: tensor<1x3x4x5xf32>, %b: tensor<3x5x2xf32>) {
  %0 = "relay.image.dilation2d"(%a, %b) : (tensor<1x3x4x5xf32>, tensor<3x5x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}
// CHECK: the window covers 5 elements, the padded height is only 4
