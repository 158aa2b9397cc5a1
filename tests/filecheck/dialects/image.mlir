// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: func.func @resizing
func.func @resizing(%l: tensor<2x3x4xf32>, %x: tensor<?x3x4x5xf32>, %v: tensor<1x2x3x4x5xi8>, %h: tensor<1x4x5x3xf16>, %b: tensor<?x4xf32>, %i: tensor<6xi32>) {
  // CHECK-NEXT: %0 = relay.image.resize1d %l {size = array<i64: 7>} : (tensor<2x3x4xf32>) -> tensor<2x3x7xf32>
  %0 = relay.image.resize1d %l {size = array<i64: 7>} : (tensor<2x3x4xf32>) -> tensor<2x3x7xf32>
  // CHECK-NEXT: %1 = relay.image.resize1d %l {size = array<i64: 7>, layout = "NWC", out_dtype = f64} : (tensor<2x3x4xf32>) -> tensor<2x7x4xf64>
  %1 = relay.image.resize1d %l {size = array<i64: 7>, layout = "NWC", out_dtype = f64} : (tensor<2x3x4xf32>) -> tensor<2x7x4xf64>
  // CHECK-NEXT: %2 = relay.image.resize2d %x {size = array<i64: 8, 10>, roi = array<f64: 0.000000e+00, 0.000000e+00, 1.000000e+00, 5.000000e-01>, method = "cubic", coordinate_transformation_mode = "tf_crop_and_resize", cubic_alpha = -7.500000e-01 : f64, cubic_exclude = 1 : i64, extrapolation_value = 2.000000e+00 : f64} : (tensor<?x3x4x5xf32>) -> tensor<?x3x8x10xf32>
  %2 = relay.image.resize2d %x {size = array<i64: 8, 10>, roi = array<f64: 0.0, 0.0, 1.0, 0.5>, method = "cubic", coordinate_transformation_mode = "tf_crop_and_resize", cubic_alpha = -0.75 : f64, cubic_exclude = 1 : i64, extrapolation_value = 2.0 : f64} : (tensor<?x3x4x5xf32>) -> tensor<?x3x8x10xf32>
  // CHECK-NEXT: %3 = relay.image.resize2d %h {size = array<i64: 8, 10>, layout = "NHWC", method = "nearest_neighbor", coordinate_transformation_mode = "asymmetric", rounding_method = ""} : (tensor<1x4x5x3xf16>) -> tensor<1x8x10x3xf16>
  %3 = relay.image.resize2d %h {size = array<i64: 8, 10>, layout = "NHWC", method = "nearest_neighbor", coordinate_transformation_mode = "asymmetric", rounding_method = ""} : (tensor<1x4x5x3xf16>) -> tensor<1x8x10x3xf16>
  // CHECK-NEXT: %4 = relay.image.resize3d %v {size = array<i64: 6, 8, 10>} : (tensor<1x2x3x4x5xi8>) -> tensor<1x2x6x8x10xi8>
  %4 = relay.image.resize3d %v {size = array<i64: 6, 8, 10>} : (tensor<1x2x3x4x5xi8>) -> tensor<1x2x6x8x10xi8>
  // CHECK-NEXT: %5 = relay.image.crop_and_resize %x, %b, %i {crop_size = array<i64: 2, 3>, method = "nearest_neighbor"} : (tensor<?x3x4x5xf32>, tensor<?x4xf32>, tensor<6xi32>) -> tensor<6x3x2x3xf32>
  %5 = relay.image.crop_and_resize %x, %b, %i {crop_size = array<i64: 2, 3>, method = "nearest_neighbor"} : (tensor<?x3x4x5xf32>, tensor<?x4xf32>, tensor<6xi32>) -> tensor<6x3x2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @sampling_and_morphology
func.func @sampling_and_morphology(%a: tensor<?x2x3xf32>, %x: tensor<?x3x4x5xf32>, %g: tensor<2x2x6x7xf32>, %w: tensor<3x2x2xf32>) {
  // CHECK-NEXT: %0 = relay.image.affine_grid %a {target_shape = array<i64: 6, 7>} : (tensor<?x2x3xf32>) -> tensor<?x2x6x7xf32>
  %0 = relay.image.affine_grid %a {target_shape = array<i64: 6, 7>} : (tensor<?x2x3xf32>) -> tensor<?x2x6x7xf32>
  // CHECK-NEXT: %1 = relay.image.grid_sample %x, %g {method = "bicubic", padding_mode = "reflection", align_corners = false} : (tensor<?x3x4x5xf32>, tensor<2x2x6x7xf32>) -> tensor<2x3x6x7xf32>
  %1 = relay.image.grid_sample %x, %g {method = "bicubic", padding_mode = "reflection", align_corners = false} : (tensor<?x3x4x5xf32>, tensor<2x2x6x7xf32>) -> tensor<2x3x6x7xf32>
  // CHECK-NEXT: %2 = relay.image.dilation2d %x, %w {strides = array<i64: 1, 2>, padding = array<i64: 1>} : (tensor<?x3x4x5xf32>, tensor<3x2x2xf32>) -> tensor<?x3x5x3xf32>
  %2 = relay.image.dilation2d %x, %w {strides = array<i64: 1, 2>, padding = array<i64: 1>} : (tensor<?x3x4x5xf32>, tensor<3x2x2xf32>) -> tensor<?x3x5x3xf32>
  func.return
}
