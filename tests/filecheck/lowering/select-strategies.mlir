// RUN: xrelay-opt -p 'fuse-ops,select-strategies{target=x86-64-v4 threads=2}' --split-input-file %s | filecheck %s
// RUN: xrelay-opt -p 'fuse-ops,select-strategies{target=x86-64-v4 threads=2},select-strategies{target=x86-64-v4 threads=2}' --split-input-file %s | filecheck %s
// RUN: xrelay-opt -p 'fuse-ops,select-strategies{target=x86-64-v4 threads=2 winograd=false}' --split-input-file %s | filecheck %s --check-prefix=EXACT

// A pointwise convolution: tiles of an image, and of one long row.
// CHECK-LABEL: func.func @main(%x: tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.conv2d" by "blocked", depth_parts = 1, rows = {{[0-9]+}}, columns = {{[0-9]+}}, vectors = {{[12]}}, flat_columns = {{[0-9]+}}, flat_vectors = {{[12]}}>]}
func.func @main(%x: tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32> {
  %w = relay.constant dense<0.5> : tensor<32x20x1x1xf32>
  %0 = relay.nn.conv2d %x, %w {data_layout = "NCHW16c"} : (tensor<1x2x8x8x16xf32>, tensor<32x20x1x1xf32>) -> tensor<1x2x8x8x16xf32>
  %1 = relay.nn.relu %0 : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
  func.return %1 : tensor<1x2x8x8x16xf32>
}

// -----

// Winograd's algorithm, unless it is not wanted.
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.conv2d" by "winograd-4", tiles = {{[0-9]+}}, shares = {{[0-9]+}}, positions = {{[0-9]+}}, vectors = {{[0-9]+}}>]}
// EXACT: "relay.nn.conv2d" by "blocked", depth_parts = {{[0-9]+}}, rows = {{[0-9]+}}, columns = {{[0-9]+}}, vectors = {{[0-9]+}}>]}
func.func @main(%x: tensor<1x4x28x28x16xf32>) -> tensor<1x4x28x28x16xf32> {
  %w = relay.constant dense<0.5> : tensor<64x64x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x4x28x28x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x4x28x28x16xf32>
  func.return %0 : tensor<1x4x28x28x16xf32>
}

// -----

// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.conv2d" by "depthwise", columns = 8>]}
func.func @main(%x: tensor<1x1x8x8x16xf32>) -> tensor<1x1x8x8x16xf32> {
  %w = relay.constant dense<0.5> : tensor<9x1x3x3xf32>
  %0 = relay.nn.conv2d %x, %w {groups = 9, padding = array<i64: 1, 1>, data_layout = "NCHW16c"} : (tensor<1x1x8x8x16xf32>, tensor<9x1x3x3xf32>) -> tensor<1x1x8x8x16xf32>
  func.return %0 : tensor<1x1x8x8x16xf32>
}

// -----

// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.conv2d" by "direct", channels = 8>]}
func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %0 = relay.nn.conv2d %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  func.return %0 : tensor<1x4x6x6xf32>
}

// -----

// Three products by three ways; between them a kernel without loops of its own.
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "panels", rows = {{[0-9]+}}, vectors = {{[0-9]+}}, depth_parts = {{[0-9]+}}>]}
// CHECK: strategies = []}
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.matmul" by "row-updates", rows = 1, vectors = {{[0-9]+}}>]}
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "dot-products", rows = 1, columns = {{[0-9]+}}>]}
func.func @main(%x: tensor<64x64xf32>, %v: tensor<64x33xf32>, %u: tensor<8x33xf32>) -> tensor<1x8xf32> {
  %w = relay.constant dense<0.5> : tensor<64x64xf32>
  %0 = relay.nn.dense %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = relay.strided_slice %0 {begin = array<i64: 0>, end = array<i64: 1>, axes = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<1x64xf32>
  %2 = relay.nn.matmul %1, %v : (tensor<1x64xf32>, tensor<64x33xf32>) -> tensor<1x33xf32>
  %3 = relay.nn.dense %2, %u : (tensor<1x33xf32>, tensor<8x33xf32>) -> tensor<1x8xf32>
  func.return %3 : tensor<1x8xf32>
}

// -----

// What is fused before stays. Two operators with loops, of which the last runs the rest of the group on its
// registers; then a group whose result is moved, which has no anchor.
// CHECK: relay.fused %x attributes {strategies = [#relay.strategy<operator 0 "relay.max" by "loops">, #relay.strategy<anchor 2 "relay.nn.softmax" by "three-pass">]}
// CHECK: relay.fused %0 attributes {strategies = [#relay.strategy<operator 0 "relay.nn.softmax" by "three-pass">]}
func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %1 = relay.max %a {axis = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %2 = relay.subtract %a, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %3 = relay.nn.softmax %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %4 = relay.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    relay.yield %4 : tensor<4x8xf32>
  }
  %5 = relay.fused %0 : (tensor<4x8xf32>) -> tensor<8x4xf32> {
  ^bb1(%b: tensor<4x8xf32>):
    %6 = relay.nn.softmax %b : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %7 = relay.transpose %6 : (tensor<4x8xf32>) -> tensor<8x4xf32>
    relay.yield %7 : tensor<8x4xf32>
  }
  func.return %5 : tensor<8x4xf32>
}

// -----

// CHECK: strategies = [#relay.strategy<anchor 0 "relay.transpose" by "transposed tiles">]}
func.func @main(%x: tensor<64x32xf32>) -> tensor<32x64xf32> {
  %0 = relay.transpose %x : (tensor<64x32xf32>) -> tensor<32x64xf32>
  func.return %0 : tensor<32x64xf32>
}

// -----

// What is stated stays; what it leaves open is chosen. A function that is not compiled has no part.
// CHECK-LABEL: func.func private @keep_other
// CHECK-NOT: strategies
// CHECK-LABEL: func.func @main
// CHECK: strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "dot-products", rows = 2, columns = 4>]}
func.func private @keep_other(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.nn.softmax %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %0 = relay.fused %x, %w attributes {strategies = [#relay.strategy<anchor 0 "relay.nn.dense" by "dot-products", rows = 2>]} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>):
    %1 = relay.nn.dense %a, %b : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    relay.yield %1 : tensor<4x16xf32>
  }
  func.return %0 : tensor<4x16xf32>
}
