// RUN: xdsl-opt -p fuse-ops,convert-relay-to-kernels{target=x86-64-v3},convert-kernels-to-llvm -t llvm %s | filecheck %s

// From relay to textual LLVM IR with the stock tool: the example of the documentation.
func.func @main(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %bias = relay.constant dense<1.000000e+00> : tensor<16x1x1xf32>
  %half = relay.constant dense<5.000000e-01> : tensor<f32>
  %conv = relay.nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %0 = relay.add %conv, %bias : (tensor<1x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = relay.nn.relu %0 : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %2 = relay.multiply %conv, %half : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x8x8xf32>
  %3 = relay.add %1, %2 : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  func.return %3 : tensor<1x16x8x8xf32>
}

// One kernel of five operators, and the entry function with its plain C signature.
// CHECK:     define void @"fused_nn_conv2d_add_nn_relu_multiply_add"(
// CHECK:       call <8 x float> @"llvm.fma.v8f32"(
// CHECK:       call <8 x float> @"llvm.maximum.v8f32"(
// CHECK:       fmul <8 x float>
// CHECK:       ret void
// CHECK:     define void @"main"(ptr %{{.*}}, ptr %{{.*}}, ptr %{{.*}}, ptr %{{.*}})
// CHECK:       call ccc void @"fused_nn_conv2d_add_nn_relu_multiply_add"(
// CHECK-NOT:   call
// CHECK:       ret void
