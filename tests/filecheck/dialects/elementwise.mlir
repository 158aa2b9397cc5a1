// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @elementwise(%x: tensor<2x3xf32>, %n: tensor<2x3xi32>) {
// CHECK-LABEL: func.func @elementwise(%x: tensor<2x3xf32>, %n: tensor<2x3xi32>) {
  %acos = relay.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %acos = relay.acos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %acosh = relay.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %acosh = relay.acosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %asin = relay.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %asin = relay.asin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %asinh = relay.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %asinh = relay.asinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atan = relay.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %atan = relay.atan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %atanh = relay.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %atanh = relay.atanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cosh = relay.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %cosh = relay.cosh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_erf = relay.fast_erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_erf = relay.fast_erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_exp = relay.fast_exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_exp = relay.fast_exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %fast_tanh = relay.fast_tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %fast_tanh = relay.fast_tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log10 = relay.log10 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log10 = relay.log10 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log2 = relay.log2 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log2 = relay.log2 %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sinh = relay.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sinh = relay.sinh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %tan = relay.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %tan = relay.tan %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %isfinite = relay.isfinite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %isfinite = relay.isfinite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %isinf = relay.isinf %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %isinf = relay.isinf %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %isnan = relay.isnan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK-NEXT: %isnan = relay.isnan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %not = relay.bitwise_not %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %not = relay.bitwise_not %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %bits = relay.reinterpret %x {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %bits = relay.reinterpret %x {dtype = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %fixed = relay.fixed_point_multiply %n {multiplier = 1073741824 : i64, shift = -3 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %fixed = relay.fixed_point_multiply %n {multiplier = 1073741824 : i64, shift = -3 : i64} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %trunc_divide = relay.trunc_divide %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %trunc_divide = relay.trunc_divide %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %trunc_mod = relay.trunc_mod %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %trunc_mod = relay.trunc_mod %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
