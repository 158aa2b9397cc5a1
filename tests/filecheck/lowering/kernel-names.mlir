// RUN: xdsl-opt -p 'fuse-ops,convert-relay-to-kernels{target=x86-64}' %s | filecheck %s

// The first name has 80 characters, the second one more; the third is the second's, of another shape.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>) {
  %a0 = relay.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  %a1 = relay.tanh %a0 : (tensor<4xf32>) -> tensor<4xf32>
  %a2 = relay.tanh %a1 : (tensor<4xf32>) -> tensor<4xf32>
  %a3 = relay.tanh %a2 : (tensor<4xf32>) -> tensor<4xf32>
  %a4 = relay.tanh %a3 : (tensor<4xf32>) -> tensor<4xf32>
  %a5 = relay.tanh %a4 : (tensor<4xf32>) -> tensor<4xf32>
  %a6 = relay.tanh %a5 : (tensor<4xf32>) -> tensor<4xf32>
  %a7 = relay.tanh %a6 : (tensor<4xf32>) -> tensor<4xf32>
  %a8 = relay.tanh %a7 : (tensor<4xf32>) -> tensor<4xf32>
  %a9 = relay.tanh %a8 : (tensor<4xf32>) -> tensor<4xf32>
  %a10 = relay.tanh %a9 : (tensor<4xf32>) -> tensor<4xf32>
  %a11 = relay.tanh %a10 : (tensor<4xf32>) -> tensor<4xf32>
  %a12 = relay.tanh %a11 : (tensor<4xf32>) -> tensor<4xf32>
  %a13 = relay.tanh %a12 : (tensor<4xf32>) -> tensor<4xf32>
  %a14 = relay.tanh %a13 : (tensor<4xf32>) -> tensor<4xf32>
  %b0 = relay.tanh %y : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = relay.tanh %b0 : (tensor<4xf32>) -> tensor<4xf32>
  %b2 = relay.tanh %b1 : (tensor<4xf32>) -> tensor<4xf32>
  %b3 = relay.tanh %b2 : (tensor<4xf32>) -> tensor<4xf32>
  %b4 = relay.tanh %b3 : (tensor<4xf32>) -> tensor<4xf32>
  %b5 = relay.tanh %b4 : (tensor<4xf32>) -> tensor<4xf32>
  %b6 = relay.tanh %b5 : (tensor<4xf32>) -> tensor<4xf32>
  %b7 = relay.tanh %b6 : (tensor<4xf32>) -> tensor<4xf32>
  %b8 = relay.tanh %b7 : (tensor<4xf32>) -> tensor<4xf32>
  %b9 = relay.tanh %b8 : (tensor<4xf32>) -> tensor<4xf32>
  %b10 = relay.tanh %b9 : (tensor<4xf32>) -> tensor<4xf32>
  %b11 = relay.tanh %b10 : (tensor<4xf32>) -> tensor<4xf32>
  %b12 = relay.tanh %b11 : (tensor<4xf32>) -> tensor<4xf32>
  %b13 = relay.tanh %b12 : (tensor<4xf32>) -> tensor<4xf32>
  %b14 = relay.floor %b13 : (tensor<4xf32>) -> tensor<4xf32>
  %c0 = relay.tanh %z : (tensor<3xf32>) -> tensor<3xf32>
  %c1 = relay.tanh %c0 : (tensor<3xf32>) -> tensor<3xf32>
  %c2 = relay.tanh %c1 : (tensor<3xf32>) -> tensor<3xf32>
  %c3 = relay.tanh %c2 : (tensor<3xf32>) -> tensor<3xf32>
  %c4 = relay.tanh %c3 : (tensor<3xf32>) -> tensor<3xf32>
  %c5 = relay.tanh %c4 : (tensor<3xf32>) -> tensor<3xf32>
  %c6 = relay.tanh %c5 : (tensor<3xf32>) -> tensor<3xf32>
  %c7 = relay.tanh %c6 : (tensor<3xf32>) -> tensor<3xf32>
  %c8 = relay.tanh %c7 : (tensor<3xf32>) -> tensor<3xf32>
  %c9 = relay.tanh %c8 : (tensor<3xf32>) -> tensor<3xf32>
  %c10 = relay.tanh %c9 : (tensor<3xf32>) -> tensor<3xf32>
  %c11 = relay.tanh %c10 : (tensor<3xf32>) -> tensor<3xf32>
  %c12 = relay.tanh %c11 : (tensor<3xf32>) -> tensor<3xf32>
  %c13 = relay.tanh %c12 : (tensor<3xf32>) -> tensor<3xf32>
  %c14 = relay.floor %c13 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %a14, %b14, %c14 : tensor<4xf32>, tensor<4xf32>, tensor<3xf32>
}

// CHECK:      func.func private @fused_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh(
// CHECK:      func.func private @fused_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_floo_4a9a168c9f7d2568_(
// CHECK:      func.func private @fused_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_tanh_floo_4a9a168c9f7d2568__1(
// CHECK-NOT:  func.func private @fused
