// RUN: xdsl-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @whole_boxes(%a: tensor<2x8x6xi32>, %b: tensor<f32>) {
  %0 = "relay.vision.get_valid_counts"(%a, %b) : (tensor<2x8x6xi32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'data' has elements of type i32, expected floating point

// -----
func.func @many_thresholds(%a: tensor<2x8x6xf32>, %b: tensor<2xf32>) {
  %0 = "relay.vision.get_valid_counts"(%a, %b) : (tensor<2x8x6xf32>, tensor<2xf32>) -> tuple<>
  func.return
}
// CHECK: 'score_threshold' is tensor<2xf32>, expected one element of f32

// -----
func.func @another_score(%a: tensor<2x8x6xf32>, %b: tensor<f32>) {
  %0 = "relay.vision.get_valid_counts"(%a, %b) {score_index = 6 : i64} : (tensor<2x8x6xf32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'score_index' is 6, accepted are 0 to 5

// -----
func.func @another_class(%a: tensor<2x8x6xf32>, %b: tensor<f32>) {
  %0 = "relay.vision.get_valid_counts"(%a, %b) {id_index = 9 : i64} : (tensor<2x8x6xf32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'id_index' is 9, accepted are any negative number or 0 to 5

// -----
func.func @another_count(%a: tensor<2x8x6xf32>, %b: tensor<3xi32>, %c: tensor<2x8xi32>, %d: tensor<i32>, %e: tensor<f32>) {
  %0 = "relay.vision.non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x6xf32>, tensor<3xi32>, tensor<2x8xi32>, tensor<i32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'valid_count' is tensor<3xi32>, expected tensor<2xi32>

// -----
func.func @another_index(%a: tensor<2x8x6xf32>, %b: tensor<2xi32>, %c: tensor<2x7xi32>, %d: tensor<i32>, %e: tensor<f32>) {
  %0 = "relay.vision.non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x6xf32>, tensor<2xi32>, tensor<2x7xi32>, tensor<i32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'indices' is tensor<2x7xi32>, expected tensor<2x8xi32>

// -----
func.func @no_place_for_corners(%a: tensor<2x8x6xf32>, %b: tensor<2xi32>, %c: tensor<2x8xi32>, %d: tensor<i32>, %e: tensor<f32>) {
  %0 = "relay.vision.non_max_suppression"(%a, %b, %c, %d, %e) {coord_start = 3 : i64} : (tensor<2x8x6xf32>, tensor<2xi32>, tensor<2x8xi32>, tensor<i32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'coord_start' is 3, accepted are 0 to 2

// -----
func.func @short_rows(%a: tensor<2x8x2xf32>, %b: tensor<2xi32>, %c: tensor<2x8xi32>, %d: tensor<i32>, %e: tensor<f32>) {
  %0 = "relay.vision.non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x2xf32>, tensor<2xi32>, tensor<2x8xi32>, tensor<i32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'data' is tensor<2x8x2xf32>, expected rows of at least 4 numbers

// -----
func.func @real_size(%a: tensor<2x8x6xf32>, %b: tensor<2xi32>, %c: tensor<2x8xi32>, %d: tensor<f32>, %e: tensor<f32>) {
  %0 = "relay.vision.non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x6xf32>, tensor<2xi32>, tensor<2x8xi32>, tensor<f32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'max_output_size' is tensor<f32>, expected one element of i32 or i64

// -----
func.func @long_boxes(%a: tensor<2x8x5xf32>, %b: tensor<2x3x8xf32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<f32>) {
  %0 = "relay.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x5xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'boxes' is tensor<2x8x5xf32>, expected four numbers for each box

// -----
func.func @other_scores(%a: tensor<2x8x4xf32>, %b: tensor<2x3x7xf32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<f32>) {
  %0 = "relay.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x4xf32>, tensor<2x3x7xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'boxes' is tensor<2x8x4xf32> and 'scores' tensor<2x3x7xf32>, expected [B, N, 4] and [B, C, N]

// -----
func.func @half_scores(%a: tensor<2x8x4xf32>, %b: tensor<2x3x8xf16>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<f32>) {
  %0 = "relay.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) : (tensor<2x8x4xf32>, tensor<2x3x8xf16>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'scores' is tensor<2x3x8xf16>, expected elements of f32

// -----
func.func @another_format(%a: tensor<2x8x4xf32>, %b: tensor<2x3x8xf32>, %c: tensor<i32>, %d: tensor<f32>, %e: tensor<f32>) {
  %0 = "relay.vision.all_class_non_max_suppression"(%a, %b, %c, %d, %e) {output_format = "tf"} : (tensor<2x8x4xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<>
  func.return
}
// CHECK: 'output_format' is "tf", accepted is "onnx" or "tensorflow"

// -----
func.func @no_size(%a: tensor<1x4x6x8xf32>) {
  %0 = "relay.vision.multibox_prior"(%a) {sizes = array<f64>} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'sizes' is [], expected at least one of numbers

// -----
func.func @negative_ratio(%a: tensor<1x4x6x8xf32>) {
  %0 = "relay.vision.multibox_prior"(%a) {ratios = array<f64: -1.0>} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'ratios' is [-1.0], expected at least one of positive numbers

// -----
func.func @one_step(%a: tensor<1x4x6x8xf32>) {
  %0 = "relay.vision.multibox_prior"(%a) {steps = array<f64: 1.0>} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'steps' is [1.0], expected 2 numbers

// -----
func.func @other_moves(%a: tensor<2x3x8xf32>, %b: tensor<2x31xf32>, %c: tensor<1x8x4xf32>) {
  %0 = "relay.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x8xf32>, tensor<2x31xf32>, tensor<1x8x4xf32>) -> tuple<>
  func.return
}
// CHECK: 'loc_pred' is tensor<2x31xf32>, expected tensor<2x32xf32>

// -----
func.func @other_anchors(%a: tensor<2x3x8xf32>, %b: tensor<2x32xf32>, %c: tensor<2x8x4xf32>) {
  %0 = "relay.vision.multibox_transform_loc"(%a, %b, %c) : (tensor<2x3x8xf32>, tensor<2x32xf32>, tensor<2x8x4xf32>) -> tuple<>
  func.return
}
// CHECK: 'anchor' is tensor<2x8x4xf32>, expected tensor<1x8x4xf32>

// -----
func.func @other_channels(%a: tensor<2x4x6x8xf32>, %b: tensor<2x8x6x8xf32>, %c: tensor<2x3xf32>) {
  %0 = "relay.vision.proposal"(%a, %b, %c) : (tensor<2x4x6x8xf32>, tensor<2x8x6x8xf32>, tensor<2x3xf32>) -> tensor<600x5xf32>
  func.return
}
// CHECK: 'cls_prob' is tensor<2x4x6x8xf32>, expected tensor<2x24x6x8xf32> for 12 boxes around each place

// -----
func.func @no_stride(%a: tensor<2x24x6x8xf32>, %b: tensor<2x48x6x8xf32>, %c: tensor<2x3xf32>) {
  %0 = "relay.vision.proposal"(%a, %b, %c) {feature_stride = 0 : i64} : (tensor<2x24x6x8xf32>, tensor<2x48x6x8xf32>, tensor<2x3xf32>) -> tensor<600x5xf32>
  func.return
}
// CHECK: 'feature_stride' is 0, expected at least 1

// -----
func.func @other_regions(%a: tensor<1x4x6x8xf32>, %b: tensor<5x4xf32>) {
  %0 = "relay.vision.roi_align"(%a, %b) {pooled_size = array<i64: 2, 2>, spatial_scale = 1.0 : f64} : (tensor<1x4x6x8xf32>, tensor<5x4xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'rois' is tensor<5x4xf32>, expected rows of five numbers of f32

// -----
func.func @another_mode(%a: tensor<1x4x6x8xf32>, %b: tensor<5x5xf32>) {
  %0 = "relay.vision.roi_align"(%a, %b) {pooled_size = array<i64: 2, 2>, spatial_scale = 1.0 : f64, mode = "sum"} : (tensor<1x4x6x8xf32>, tensor<5x5xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'mode' is "sum", accepted is "avg" or "max"

// -----
func.func @another_layout(%a: tensor<1x4x6x8xf32>, %b: tensor<5x5xf32>) {
  %0 = "relay.vision.roi_pool"(%a, %b) {pooled_size = array<i64: 2, 2>, spatial_scale = 1.0 : f64, layout = "CHWN"} : (tensor<1x4x6x8xf32>, tensor<5x5xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'layout' is "CHWN", accepted is "NCHW" or "NHWC"

// -----
func.func @no_image(%a: tensor<0x4x6x8xf32>, %b: tensor<5x5xf32>) {
  %0 = "relay.vision.roi_pool"(%a, %b) {pooled_size = array<i64: 2, 2>, spatial_scale = 1.0 : f64} : (tensor<0x4x6x8xf32>, tensor<5x5xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'data' is tensor<0x4x6x8xf32>, expected images that are not empty

// -----
func.func @no_parts(%a: tensor<1x4x6x8xf32>, %b: tensor<5x5xf32>) {
  %0 = "relay.vision.roi_pool"(%a, %b) {pooled_size = array<i64: 0, 2>, spatial_scale = 1.0 : f64} : (tensor<1x4x6x8xf32>, tensor<5x5xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'pooled_size' is [0, 2], expected two positive numbers

// -----
func.func @odd_columns(%a: tensor<1x9x6x8xf32>) {
  %0 = "relay.vision.yolo_reorg"(%a) {stride = 3 : i64} : (tensor<1x9x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'data' has 8 columns, expected a multiple of 3

// -----
func.func @few_channels(%a: tensor<1x4x6x8xf32>) {
  %0 = "relay.vision.yolo_reorg"(%a) {stride = 3 : i64} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'data' has 4 channels, expected a multiple of 9

// -----
func.func @stride_of_nothing(%a: tensor<1x4x6x8xf32>) {
  %0 = "relay.vision.yolo_reorg"(%a) {stride = 0 : i64} : (tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  func.return
}
// CHECK: 'stride' is 0, expected at least 1
