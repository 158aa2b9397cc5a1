// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: func.func @selection
func.func @selection(%d: tensor<?x8x6xf32>, %s: tensor<f32>, %c: tensor<?xi32>, %i: tensor<?x8xi32>, %n: tensor<i32>, %b: tensor<2x8x4xf32>, %p: tensor<2x3x8xf32>) {
  // CHECK-NEXT: %0 = relay.vision.get_valid_counts %d, %s {id_index = -1 : i64} : (tensor<?x8x6xf32>, tensor<f32>) -> tuple<tensor<?xi32>, tensor<?x8x6xf32>, tensor<?x8xi32>>
  %0 = relay.vision.get_valid_counts %d, %s {id_index = -1 : i64} : (tensor<?x8x6xf32>, tensor<f32>) -> tuple<tensor<?xi32>, tensor<?x8x6xf32>, tensor<?x8xi32>>
  // CHECK-NEXT: %1 = relay.vision.non_max_suppression %d, %c, %i, %n, %s : (tensor<?x8x6xf32>, tensor<?xi32>, tensor<?x8xi32>, tensor<i32>, tensor<f32>) -> tuple<tensor<?x8xi32>, tensor<?x1xi32>>
  %1 = relay.vision.non_max_suppression %d, %c, %i, %n, %s : (tensor<?x8x6xf32>, tensor<?xi32>, tensor<?x8xi32>, tensor<i32>, tensor<f32>) -> tuple<tensor<?x8xi32>, tensor<?x1xi32>>
  // CHECK-NEXT: %2 = relay.vision.non_max_suppression %d, %c, %i, %n, %s {force_suppress = true, top_k = 4 : i64, return_indices = false, invalid_to_bottom = true} : (tensor<?x8x6xf32>, tensor<?xi32>, tensor<?x8xi32>, tensor<i32>, tensor<f32>) -> tensor<?x8x6xf32>
  %2 = relay.vision.non_max_suppression %d, %c, %i, %n, %s {force_suppress = true, top_k = 4 : i64, return_indices = false, invalid_to_bottom = true} : (tensor<?x8x6xf32>, tensor<?xi32>, tensor<?x8xi32>, tensor<i32>, tensor<f32>) -> tensor<?x8x6xf32>
  // CHECK-NEXT: %3 = relay.vision.all_class_non_max_suppression %b, %p, %n, %s, %s : (tensor<2x8x4xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<tensor<48x3xi64>, tensor<1xi64>>
  %3 = relay.vision.all_class_non_max_suppression %b, %p, %n, %s, %s : (tensor<2x8x4xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<tensor<48x3xi64>, tensor<1xi64>>
  // CHECK-NEXT: %4 = relay.vision.all_class_non_max_suppression %b, %p, %n, %s, %s {output_format = "tensorflow"} : (tensor<2x8x4xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<tensor<2x24x2xi64>, tensor<2x24xf32>, tensor<2xi64>>
  %4 = relay.vision.all_class_non_max_suppression %b, %p, %n, %s, %s {output_format = "tensorflow"} : (tensor<2x8x4xf32>, tensor<2x3x8xf32>, tensor<i32>, tensor<f32>, tensor<f32>) -> tuple<tensor<2x24x2xi64>, tensor<2x24xf32>, tensor<2xi64>>
  func.return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<?x4x6x8xf32>, %r: tensor<5x5xf32>, %p: tensor<2x3x8xf32>, %m: tensor<2x32xf32>, %a: tensor<1x8x4xf32>, %s: tensor<2x4x6x8xf32>, %d: tensor<2x8x6x8xf32>, %i: tensor<2x3xf32>) {
  // CHECK-NEXT: %0 = relay.vision.multibox_prior %x {sizes = array<f64: 5.000000e-01, 2.500000e-01>, ratios = array<f64: 1.000000e+00, 2.000000e+00>, clip = true} : (tensor<?x4x6x8xf32>) -> tensor<1x144x4xf32>
  %0 = relay.vision.multibox_prior %x {sizes = array<f64: 0.5, 0.25>, ratios = array<f64: 1.0, 2.0>, clip = true} : (tensor<?x4x6x8xf32>) -> tensor<1x144x4xf32>
  // CHECK-NEXT: %1 = relay.vision.multibox_transform_loc %p, %m, %a {threshold = 5.000000e-01 : f64} : (tensor<2x3x8xf32>, tensor<2x32xf32>, tensor<1x8x4xf32>) -> tuple<tensor<2x8x6xf32>, tensor<2xi32>>
  %1 = relay.vision.multibox_transform_loc %p, %m, %a {threshold = 0.5 : f64} : (tensor<2x3x8xf32>, tensor<2x32xf32>, tensor<1x8x4xf32>) -> tuple<tensor<2x8x6xf32>, tensor<2xi32>>
  // CHECK-NEXT: %2 = relay.vision.proposal %s, %d, %i {scales = array<f64: 4.000000e+00, 8.000000e+00>, ratios = array<f64: 1.000000e+00>, rpn_post_nms_top_n = 10 : i64} : (tensor<2x4x6x8xf32>, tensor<2x8x6x8xf32>, tensor<2x3xf32>) -> tensor<20x5xf32>
  %2 = relay.vision.proposal %s, %d, %i {scales = array<f64: 4.0, 8.0>, ratios = array<f64: 1.0>, rpn_post_nms_top_n = 10 : i64} : (tensor<2x4x6x8xf32>, tensor<2x8x6x8xf32>, tensor<2x3xf32>) -> tensor<20x5xf32>
  // CHECK-NEXT: %3 = relay.vision.roi_align %x, %r {pooled_size = array<i64: 2, 3>, spatial_scale = 5.000000e-01 : f64, sample_ratio = 2 : i64, mode = "max"} : (tensor<?x4x6x8xf32>, tensor<5x5xf32>) -> tensor<5x4x2x3xf32>
  %3 = relay.vision.roi_align %x, %r {pooled_size = array<i64: 2, 3>, spatial_scale = 0.5 : f64, sample_ratio = 2 : i64, mode = "max"} : (tensor<?x4x6x8xf32>, tensor<5x5xf32>) -> tensor<5x4x2x3xf32>
  // CHECK-NEXT: %4 = relay.vision.roi_pool %x, %r {pooled_size = array<i64: 2, 3>, spatial_scale = 1.000000e+00 : f64, layout = "NHWC"} : (tensor<?x4x6x8xf32>, tensor<5x5xf32>) -> tensor<5x2x3x8xf32>
  %4 = relay.vision.roi_pool %x, %r {pooled_size = array<i64: 2, 3>, spatial_scale = 1.0 : f64, layout = "NHWC"} : (tensor<?x4x6x8xf32>, tensor<5x5xf32>) -> tensor<5x2x3x8xf32>
  // CHECK-NEXT: %5 = relay.vision.yolo_reorg %x {stride = 2 : i64} : (tensor<?x4x6x8xf32>) -> tensor<?x16x3x4xf32>
  %5 = relay.vision.yolo_reorg %x {stride = 2 : i64} : (tensor<?x4x6x8xf32>) -> tensor<?x16x3x4xf32>
  func.return
}
