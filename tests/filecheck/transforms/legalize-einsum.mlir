// RUN: xdsl-opt -p legalize %s | filecheck %s
// RUN: xdsl-opt -p legalize,legalize %s | filecheck %s

// Queries times keys, heads of which lie between.
// CHECK-LABEL: func.func @scores(%x: tensor<2x5x3x4xf32>, %y: tensor<2x6x3x4xf32>) -> tensor<2x3x5x6xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.transpose %x {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape [[V1]] {newshape = array<i64: 6, 5, 4>} : (tensor<2x3x5x4xf32>) -> tensor<6x5x4xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.transpose %y {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.reshape [[V3]] {newshape = array<i64: 6, 6, 4>} : (tensor<2x3x6x4xf32>) -> tensor<6x6x4xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.nn.batch_matmul [[V2]], [[V4]] {transpose_b = true} : (tensor<6x5x4xf32>, tensor<6x6x4xf32>) -> tensor<6x5x6xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.reshape [[V5]] {newshape = array<i64: 2, 3, 5, 6>} : (tensor<6x5x6xf32>) -> tensor<2x3x5x6xf32>
// CHECK-NEXT: func.return [[V6]] : tensor<2x3x5x6xf32>
// CHECK-NEXT: }
func.func @scores(%x: tensor<2x5x3x4xf32>, %y: tensor<2x6x3x4xf32>) -> tensor<2x3x5x6xf32> {
  %t = relay.tuple %x, %y : (tensor<2x5x3x4xf32>, tensor<2x6x3x4xf32>) -> tuple<tensor<2x5x3x4xf32>, tensor<2x6x3x4xf32>>
  %0 = relay.einsum %t {equation = "bihd,bjhd->bhij"} : (tuple<tensor<2x5x3x4xf32>, tensor<2x6x3x4xf32>>) -> tensor<2x3x5x6xf32>
  return %0 : tensor<2x3x5x6xf32>
}

// One matrix for all rows.
// CHECK-LABEL: func.func @projected(%x: tensor<2x5x6xf32>, %y: tensor<6x3x4xf32>) -> tensor<2x3x5x4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.reshape %x {newshape = array<i64: 10, 6>} : (tensor<2x5x6xf32>) -> tensor<10x6xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape %y {newshape = array<i64: 6, 12>} : (tensor<6x3x4xf32>) -> tensor<6x12xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.matmul [[V1]], [[V2]] : (tensor<10x6xf32>, tensor<6x12xf32>) -> tensor<10x12xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.reshape [[V3]] {newshape = array<i64: 2, 5, 3, 4>} : (tensor<10x12xf32>) -> tensor<2x5x3x4xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.transpose [[V4]] {axes = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x4xf32>) -> tensor<2x3x5x4xf32>
// CHECK-NEXT: func.return [[V5]] : tensor<2x3x5x4xf32>
// CHECK-NEXT: }
func.func @projected(%x: tensor<2x5x6xf32>, %y: tensor<6x3x4xf32>) -> tensor<2x3x5x4xf32> {
  %t = relay.tuple %x, %y : (tensor<2x5x6xf32>, tensor<6x3x4xf32>) -> tuple<tensor<2x5x6xf32>, tensor<6x3x4xf32>>
  %0 = relay.einsum %t {equation = "bsd,dhe->bhse"} : (tuple<tensor<2x5x6xf32>, tensor<6x3x4xf32>>) -> tensor<2x3x5x4xf32>
  return %0 : tensor<2x3x5x4xf32>
}

// The product of the last two has fewer elements.
// CHECK-LABEL: func.func @chain(%x: tensor<9x8xf32>, %y: tensor<8x7xf32>, %z: tensor<7x1xf32>) -> tensor<9x1xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.reshape %z {newshape = array<i64: 7>} : (tensor<7x1xf32>) -> tensor<7xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape [[V1]] {newshape = array<i64: 1, 7>} : (tensor<7xf32>) -> tensor<1x7xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.nn.matmul [[V2]], %y {transpose_b = true} : (tensor<1x7xf32>, tensor<8x7xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.reshape [[V3]] {newshape = array<i64: 8>} : (tensor<1x8xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.reshape [[V4]] {newshape = array<i64: 1, 8>} : (tensor<8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.nn.matmul [[V5]], %x {transpose_b = true} : (tensor<1x8xf32>, tensor<9x8xf32>) -> tensor<1x9xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.reshape [[V6]] {newshape = array<i64: 9>} : (tensor<1x9xf32>) -> tensor<9xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.reshape [[V7]] {newshape = array<i64: 9, 1>} : (tensor<9xf32>) -> tensor<9x1xf32>
// CHECK-NEXT: func.return [[V8]] : tensor<9x1xf32>
// CHECK-NEXT: }
func.func @chain(%x: tensor<9x8xf32>, %y: tensor<8x7xf32>, %z: tensor<7x1xf32>) -> tensor<9x1xf32> {
  %t = relay.tuple %x, %y, %z : (tensor<9x8xf32>, tensor<8x7xf32>, tensor<7x1xf32>) -> tuple<tensor<9x8xf32>, tensor<8x7xf32>, tensor<7x1xf32>>
  %0 = relay.einsum %t {equation = "ij,jk,kl->il"} : (tuple<tensor<9x8xf32>, tensor<8x7xf32>, tensor<7x1xf32>>) -> tensor<9x1xf32>
  return %0 : tensor<9x1xf32>
}

// Nothing is summed.
// CHECK-LABEL: func.func @outer(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.reshape %x {newshape = array<i64: 3, 1>} : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.reshape %y {newshape = array<i64: 1, 4>} : (tensor<4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.multiply [[V1]], [[V2]] : (tensor<3x1xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<3x4xf32>
// CHECK-NEXT: }
func.func @outer(%x: tensor<3xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  %t = relay.tuple %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tuple<tensor<3xf32>, tensor<4xf32>>
  %0 = relay.einsum %t {equation = "i,j->ij"} : (tuple<tensor<3xf32>, tensor<4xf32>>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Nothing but the batch is left.
// CHECK-LABEL: func.func @rows(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.multiply %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.sum [[V1]] {axis = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<3xf32>
// CHECK-NEXT: }
func.func @rows(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3xf32> {
  %t = relay.tuple %x, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tuple<tensor<3x4xf32>, tensor<3x4xf32>>
  %0 = relay.einsum %t {equation = "bi,bi->b"} : (tuple<tensor<3x4xf32>, tensor<3x4xf32>>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// An axis of length 1 is repeated; what one operand has alone is summed before, in f32.
// CHECK-LABEL: func.func @repeated(%x: tensor<3x4x5xf16>, %y: tensor<1x5xf16>) -> tensor<3xf16> {
// CHECK-NEXT: [[V1:%.*]] = relay.cast %x {dtype = f32} : (tensor<3x4x5xf16>) -> tensor<3x4x5xf32>
// CHECK-NEXT: [[V2:%.*]] = relay.cast %y {dtype = f32} : (tensor<1x5xf16>) -> tensor<1x5xf32>
// CHECK-NEXT: [[V3:%.*]] = relay.reshape [[V2]] {newshape = array<i64: 5>} : (tensor<1x5xf32>) -> tensor<5xf32>
// CHECK-NEXT: [[V4:%.*]] = relay.sum [[V1]] {axis = array<i64: 1>} : (tensor<3x4x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT: [[V5:%.*]] = relay.reshape [[V3]] {newshape = array<i64: 1, 5>} : (tensor<5xf32>) -> tensor<1x5xf32>
// CHECK-NEXT: [[V6:%.*]] = relay.nn.matmul [[V5]], [[V4]] {transpose_b = true} : (tensor<1x5xf32>, tensor<3x5xf32>) -> tensor<1x3xf32>
// CHECK-NEXT: [[V7:%.*]] = relay.reshape [[V6]] {newshape = array<i64: 3>} : (tensor<1x3xf32>) -> tensor<3xf32>
// CHECK-NEXT: [[V8:%.*]] = relay.cast [[V7]] {dtype = f16} : (tensor<3xf32>) -> tensor<3xf16>
// CHECK-NEXT: func.return [[V8]] : tensor<3xf16>
// CHECK-NEXT: }
func.func @repeated(%x: tensor<3x4x5xf16>, %y: tensor<1x5xf16>) -> tensor<3xf16> {
  %t = relay.tuple %x, %y : (tensor<3x4x5xf16>, tensor<1x5xf16>) -> tuple<tensor<3x4x5xf16>, tensor<1x5xf16>>
  %0 = relay.einsum %t {equation = "abc,bc->a"} : (tuple<tensor<3x4x5xf16>, tensor<1x5xf16>>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}

// Diagonals have kernels.
// CHECK-LABEL: func.func @diagonal(%x: tensor<3x3xf32>, %y: tensor<3x4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.tuple %x, %y : (tensor<3x3xf32>, tensor<3x4xf32>) -> tuple<tensor<3x3xf32>, tensor<3x4xf32>>
// CHECK-NEXT: [[V2:%.*]] = relay.einsum [[V1]] {equation = "ii,ij->j"} : (tuple<tensor<3x3xf32>, tensor<3x4xf32>>) -> tensor<4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<4xf32>
// CHECK-NEXT: }
func.func @diagonal(%x: tensor<3x3xf32>, %y: tensor<3x4xf32>) -> tensor<4xf32> {
  %t = relay.tuple %x, %y : (tensor<3x3xf32>, tensor<3x4xf32>) -> tuple<tensor<3x3xf32>, tensor<3x4xf32>>
  %0 = relay.einsum %t {equation = "ii,ij->j"} : (tuple<tensor<3x3xf32>, tensor<3x4xf32>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// As bools do, whose products are conjunctions.
// CHECK-LABEL: func.func @bools(%x: tensor<3x3xi1>, %y: tensor<3x4xi1>) -> tensor<3x4xi1> {
// CHECK-NEXT: [[V1:%.*]] = relay.tuple %x, %y : (tensor<3x3xi1>, tensor<3x4xi1>) -> tuple<tensor<3x3xi1>, tensor<3x4xi1>>
// CHECK-NEXT: [[V2:%.*]] = relay.einsum [[V1]] {equation = "ij,jk->ik"} : (tuple<tensor<3x3xi1>, tensor<3x4xi1>>) -> tensor<3x4xi1>
// CHECK-NEXT: func.return [[V2]] : tensor<3x4xi1>
// CHECK-NEXT: }
func.func @bools(%x: tensor<3x3xi1>, %y: tensor<3x4xi1>) -> tensor<3x4xi1> {
  %t = relay.tuple %x, %y : (tensor<3x3xi1>, tensor<3x4xi1>) -> tuple<tensor<3x3xi1>, tensor<3x4xi1>>
  %0 = relay.einsum %t {equation = "ij,jk->ik"} : (tuple<tensor<3x3xi1>, tensor<3x4xi1>>) -> tensor<3x4xi1>
  return %0 : tensor<3x4xi1>
}

// Unknown dimensions are known when other passes have run.
// CHECK-LABEL: func.func @unknown(%x: tensor<?x3xf32>, %y: tensor<3x4xf32>) -> tensor<?x4xf32> {
// CHECK-NEXT: [[V1:%.*]] = relay.tuple %x, %y : (tensor<?x3xf32>, tensor<3x4xf32>) -> tuple<tensor<?x3xf32>, tensor<3x4xf32>>
// CHECK-NEXT: [[V2:%.*]] = relay.einsum [[V1]] {equation = "ij,jk->ik"} : (tuple<tensor<?x3xf32>, tensor<3x4xf32>>) -> tensor<?x4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<?x4xf32>
// CHECK-NEXT: }
func.func @unknown(%x: tensor<?x3xf32>, %y: tensor<3x4xf32>) -> tensor<?x4xf32> {
  %t = relay.tuple %x, %y : (tensor<?x3xf32>, tensor<3x4xf32>) -> tuple<tensor<?x3xf32>, tensor<3x4xf32>>
  %0 = relay.einsum %t {equation = "ij,jk->ik"} : (tuple<tensor<?x3xf32>, tensor<3x4xf32>>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
