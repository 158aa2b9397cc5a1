// RUN: xdsl-opt %s --parsing-diagnostics | filecheck %s

// CHECK: '-0x1' has a sign, expected bits of f32
func.func @sign() {
  %0 = relay.constant dense<-0x1> : tensor<f32>
  func.return
}
