// RUN: xdsl-opt %s --parsing-diagnostics | filecheck %s

// CHECK: 0x123456789 has more bits than f32
func.func @too_many_bits() {
  %0 = relay.constant dense<0x123456789> : tensor<f32>
  func.return
}
