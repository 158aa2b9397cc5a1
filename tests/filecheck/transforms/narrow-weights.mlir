// RUN: xrelay-opt -p narrow-weights %s | filecheck %s
// RUN: xrelay-opt -p narrow-weights,narrow-weights %s | filecheck %s

// What is exact in a type gets it, the first one that the attribute allows; other operators keep their constants.
// CHECK: builtin.module attributes {relay.narrow_weights = [f16, bf16]}
// CHECK: [[E:%.*]] = relay.constant dense<1.5{{.*}}> : tensor<4x4xf16>
// CHECK: relay.nn.dense %x, [[E]] {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x4xf16>) -> tensor<2x4xf32>
// CHECK: [[L:%.*]] = relay.constant dense<1.3{{.*}}> : tensor<4x4xbf16>
// CHECK: relay.nn.dense {{.*}}, [[L]] {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x4xbf16>) -> tensor<2x4xf32>
// CHECK: relay.nn.dense {{.*}} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// Nothing is known of numbers that did not come with the text.
// CHECK: [[B:%.*]] = relay.constant #relay.blob<"abc"> : tensor<4x4xf32>
// CHECK-NEXT: relay.nn.dense {{%.*}}, [[B]] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// CHECK: relay.add {{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
builtin.module attributes {relay.narrow_weights = [f16, bf16]} {
  func.func @products(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %exact = relay.constant dense<1.5> : tensor<4x4xf32>
    %0 = relay.nn.dense %x, %exact : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %large = relay.constant dense<131072.0> : tensor<4x4xf32>
    %1 = relay.nn.dense %0, %large : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %other = relay.constant dense<1.1> : tensor<4x4xf32>
    %2 = relay.nn.dense %1, %other : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %blob = relay.constant #relay.blob<"abc"> : tensor<4x4xf32>
    %b = relay.nn.dense %2, %blob : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %bias = relay.constant dense<0.5> : tensor<4xf32>
    %3 = relay.add %b, %bias : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    func.return %3 : tensor<2x4xf32>
  }
}
