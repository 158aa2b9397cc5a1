// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @norm(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %l: tensor<4xf32>) {
// CHECK-LABEL: func.func @norm(%x: tensor<2x3x4xf32>, %c: tensor<3xf32>, %l: tensor<4xf32>) {
  %bias = relay.nn.bias_add %x, %c : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bias = relay.nn.bias_add %x, %c : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %bias_last = relay.nn.bias_add %x, %l {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %bias_last = relay.nn.bias_add %x, %l {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %norm = relay.nn.batch_norm %x, %c, %c, %c, %c : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  // CHECK-NEXT: %norm = relay.nn.batch_norm %x, %c, %c, %c, %c : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>>
  %norm_last = relay.nn.batch_norm %x, %l, %l, %l, %l {axis = 2 : i64, epsilon = 1.000000e-03 : f64, center = false, scale = false} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>>
  // CHECK-NEXT: %norm_last = relay.nn.batch_norm %x, %l, %l, %l, %l {axis = 2 : i64, epsilon = 1.000000e-03 : f64, center = false, scale = false} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>>
  %layer = relay.nn.layer_norm %x, %l, %l : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %layer = relay.nn.layer_norm %x, %l, %l : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %layer_1 = relay.nn.layer_norm %x, %c, %c {axis = 1 : i64, epsilon = 1.000000e-03 : f64, center = false, scale = false} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %layer_1 = relay.nn.layer_norm %x, %c, %c {axis = 1 : i64, epsilon = 1.000000e-03 : f64, center = false, scale = false} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %rms = relay.nn.rms_norm %x, %l : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %rms = relay.nn.rms_norm %x, %l : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %rms_1 = relay.nn.rms_norm %x, %c {axis = 1 : i64, epsilon = 1.000000e-03 : f64, scale = false} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %rms_1 = relay.nn.rms_norm %x, %c {axis = 1 : i64, epsilon = 1.000000e-03 : f64, scale = false} : (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %instance = relay.nn.instance_norm %x, %c, %c : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %instance = relay.nn.instance_norm %x, %c, %c : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %instance_last = relay.nn.instance_norm %x, %l, %l {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %instance_last = relay.nn.instance_norm %x, %l, %l {axis = -1 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %group = relay.nn.group_norm %x, %c, %c {num_groups = 3 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %group = relay.nn.group_norm %x, %c, %c {num_groups = 3 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %group_last = relay.nn.group_norm %x, %l, %l {num_groups = 2 : i64, axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %group_last = relay.nn.group_norm %x, %l, %l {num_groups = 2 : i64, axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %softmax = relay.nn.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %softmax = relay.nn.softmax %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %log_softmax = relay.nn.log_softmax %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %log_softmax = relay.nn.log_softmax %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %lrn = relay.nn.lrn %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %lrn = relay.nn.lrn %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %lrn_last = relay.nn.lrn %x {size = 3 : i64, axis = 2 : i64, bias = 1.000000e+00 : f64, alpha = 5.000000e-01 : f64, beta = 5.000000e-01 : f64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %lrn_last = relay.nn.lrn %x {size = 3 : i64, axis = 2 : i64, bias = 1.000000e+00 : f64, alpha = 5.000000e-01 : f64, beta = 5.000000e-01 : f64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %dropout = relay.nn.dropout %x : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<2x3x4xf32>>
  // CHECK-NEXT: %dropout = relay.nn.dropout %x : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<2x3x4xf32>>
  %dropout_rate = relay.nn.dropout %x {rate = 1.000000e-01 : f64} : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<2x3x4xf32>>
  // CHECK-NEXT: %dropout_rate = relay.nn.dropout %x {rate = 1.000000e-01 : f64} : (tensor<2x3x4xf32>) -> tuple<tensor<2x3x4xf32>, tensor<2x3x4xf32>>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
