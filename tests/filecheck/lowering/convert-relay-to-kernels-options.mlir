// RUN: xdsl-opt -p "convert-relay-to-kernels{function=second target=x86-64}" %s | filecheck %s
// RUN: xdsl-opt --verify-diagnostics -p "convert-relay-to-kernels{function=first target=z80}" %s | filecheck %s --check-prefix TARGET
// RUN: xdsl-opt --verify-diagnostics -p convert-relay-to-kernels{function=third} %s | filecheck %s --check-prefix FUNCTION

func.func @first(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
func.func @second(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = relay.negative %x : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// CHECK-NOT: @first
// CHECK:     func.func private @{{\w*}}negative(
// CHECK-NOT: math.exp
// CHECK:     arith.negf {{.*}} : vector<4xf32>
// CHECK:     func.func @second(
// CHECK-NOT: @first

// TARGET: unknown target 'z80', known targets are native, x86-64, x86-64-v3, x86-64-v4

// FUNCTION: no function 'third'; the module has first, second
