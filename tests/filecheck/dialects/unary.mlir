// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @unary(%x: tensor<2x3xf32>, %n: tensor<2x3xi32>, %c: tensor<2x3xi1>) {
// CHECK-LABEL: func.func @unary(%x: tensor<2x3xf32>, %n: tensor<2x3xi32>, %c: tensor<2x3xi1>) {
  %abs = relay.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %abs = relay.abs %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %ceil = relay.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %ceil = relay.ceil %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %copy = relay.copy %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %copy = relay.copy %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cos = relay.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %cos = relay.cos %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %erf = relay.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %erf = relay.erf %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %exp = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %exp = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %floor = relay.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %floor = relay.floor %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %log = relay.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %log = relay.log %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %negative = relay.negative %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %negative = relay.negative %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %round = relay.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %round = relay.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %rsqrt = relay.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %rsqrt = relay.rsqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sigmoid = relay.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sigmoid = relay.sigmoid %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sign = relay.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sign = relay.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sin = relay.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sin = relay.sin %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %sqrt = relay.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %sqrt = relay.sqrt %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %tanh = relay.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %tanh = relay.tanh %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %trunc = relay.trunc %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %trunc = relay.trunc %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %relu = relay.nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %relu = relay.nn.relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %leaky_relu = relay.nn.leaky_relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %leaky_relu = relay.nn.leaky_relu %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %abs_i = relay.abs %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %abs_i = relay.abs %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %copy_i = relay.copy %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %copy_i = relay.copy %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %negative_i = relay.negative %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %negative_i = relay.negative %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %sign_i = relay.sign %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %sign_i = relay.sign %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %relu_i = relay.nn.relu %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK-NEXT: %relu_i = relay.nn.relu %n : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %slope = relay.nn.leaky_relu %x {alpha = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %slope = relay.nn.leaky_relu %x {alpha = 1.000000e-02 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %clip = relay.clip %x {a_min = 0.000000e+00 : f64, a_max = 6.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %clip = relay.clip %x {a_min = 0.000000e+00 : f64, a_max = 6.000000e+00 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %cast = relay.cast %x {dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
  // CHECK-NEXT: %cast = relay.cast %x {dtype = ui8} : (tensor<2x3xf32>) -> tensor<2x3xui8>
  %not = relay.logical_not %c : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK-NEXT: %not = relay.logical_not %c : (tensor<2x3xi1>) -> tensor<2x3xi1>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
