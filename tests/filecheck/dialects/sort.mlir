// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

func.func @sort(%x: tensor<3x4xf32>, %row: tensor<4xf32>, %n: tensor<3x2xi64>, %old: tensor<2xi64>, %mean: tensor<3x1xf32>, %s: tensor<f32>, %one: tensor<1xf32>, %w: tensor<3xf32>, %t: tuple<tensor<3x4xf32>, tensor<4xf32>>) {
// CHECK-LABEL: func.func @sort(%x: tensor<3x4xf32>, %row: tensor<4xf32>, %n: tensor<3x2xi64>, %old: tensor<2xi64>, %mean: tensor<3x1xf32>, %s: tensor<f32>, %one: tensor<1xf32>, %w: tensor<3xf32>, %t: tuple<tensor<3x4xf32>, tensor<4xf32>>) {
  %sort = relay.sort %x {axis = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %sort = relay.sort %x {axis = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %order = relay.argsort %x {is_ascend = false, dtype = i64} : (tensor<3x4xf32>) -> tensor<3x4xi64>
  // CHECK-NEXT: %order = relay.argsort %x {is_ascend = false, dtype = i64} : (tensor<3x4xf32>) -> tensor<3x4xi64>
  %top = relay.topk %x {k = 2 : i64} : (tensor<3x4xf32>) -> tuple<tensor<3x2xf32>, tensor<3x2xi32>>
  // CHECK-NEXT: %top = relay.topk %x {k = 2 : i64} : (tensor<3x4xf32>) -> tuple<tensor<3x2xf32>, tensor<3x2xi32>>
  %values = relay.topk %x {ret_type = "values"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %values = relay.topk %x {ret_type = "values"} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %found = relay.searchsorted %row, %x {right = true} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xi32>
  // CHECK-NEXT: %found = relay.searchsorted %row, %x {right = true} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xi32>
  %unique = relay.unique %row : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>>
  // CHECK-NEXT: %unique = relay.unique %row : (tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<1xi32>>
  %where = relay.argwhere %x : (tensor<3x4xf32>) -> tensor<?x2xi32>
  // CHECK-NEXT: %where = relay.argwhere %x : (tensor<3x4xf32>) -> tensor<?x2xi32>
  %bounded = relay.bounded_argwhere %x : (tensor<3x4xf32>) -> tuple<tensor<12x2xi32>, tensor<1xi32>>
  // CHECK-NEXT: %bounded = relay.bounded_argwhere %x : (tensor<3x4xf32>) -> tuple<tensor<12x2xi32>, tensor<1xi32>>
  %sums = relay.cumsum %x {axis = 1 : i64, exclusive = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %sums = relay.cumsum %x {axis = 1 : i64, exclusive = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %products = relay.cumprod %x {dtype = f64} : (tensor<3x4xf32>) -> tensor<12xf64>
  // CHECK-NEXT: %products = relay.cumprod %x {dtype = f64} : (tensor<3x4xf32>) -> tensor<12xf64>
  %variance = relay.variance %x, %mean {axis = array<i64: 1>} : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3xf32>
  // CHECK-NEXT: %variance = relay.variance %x, %mean {axis = array<i64: 1>} : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3xf32>
  %einsum = relay.einsum %t {equation = "ij,j->i"} : (tuple<tensor<3x4xf32>, tensor<4xf32>>) -> tensor<3xf32>
  // CHECK-NEXT: %einsum = relay.einsum %t {equation = "ij,j->i"} : (tuple<tensor<3x4xf32>, tensor<4xf32>>) -> tensor<3xf32>
  %stft = relay.stft %x, %w {n_fft = 4 : i64, hop_length = 1 : i64, win_length = 3 : i64} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x3x1x2xf32>
  // CHECK-NEXT: %stft = relay.stft %x, %w {n_fft = 4 : i64, hop_length = 1 : i64, win_length = 3 : i64} : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x3x1x2xf32>
  %places = relay.sparse_reshape %n, %old, %old : (tensor<3x2xi64>, tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<3x2xi64>, tensor<2xi64>>
  // CHECK-NEXT: %places = relay.sparse_reshape %n, %old, %old : (tensor<3x2xi64>, tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<3x2xi64>, tensor<2xi64>>
  %rows = relay.sparse_fill_empty_rows %n, %w, %old, %one : (tensor<3x2xi64>, tensor<3xf32>, tensor<2xi64>, tensor<1xf32>) -> tuple<tensor<?x2xi64>, tensor<?xi64>, tensor<?xi64>>
  // CHECK-NEXT: %rows = relay.sparse_fill_empty_rows %n, %w, %old, %one : (tensor<3x2xi64>, tensor<3xf32>, tensor<2xi64>, tensor<1xf32>) -> tuple<tensor<?x2xi64>, tensor<?xi64>, tensor<?xi64>>
  %hint = relay.annotation.cast_hint %x {dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %hint = relay.annotation.cast_hint %x {dtype = i8} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %kept = relay.annotation.checkpoint %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %kept = relay.annotation.checkpoint %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %quantized = relay.relay.op.annotation.simulated_quantize %x, %s, %s, %s {kind = 1 : i64} : (tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %quantized = relay.relay.op.annotation.simulated_quantize %x, %s, %s, %s {kind = 1 : i64} : (tensor<3x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
  func.return
  // CHECK-NEXT: func.return
}
// CHECK-NEXT: }
