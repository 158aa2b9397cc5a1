// RUN: xrelay-opt -p reduce-precision %s | filecheck %s
// RUN: xrelay-opt -p reduce-precision,reduce-precision %s | filecheck %s
// RUN: xrelay-opt -p 'reduce-precision{dtype="float16" products=false}' %s | filecheck %s --check-prefix WEIGHTS
// RUN: xrelay-opt -p 'reduce-precision{never="nn.dense" always="nn.softmax"}' %s | filecheck %s --check-prefix LISTS
// RUN: xrelay-opt -p 'reduce-precision{follow="nn.softmax"}' %s | filecheck %s --check-prefix FOLLOW
// RUN: not xrelay-opt -p 'reduce-precision{never="nn.densee"}' %s 2>&1 | filecheck %s --check-prefix NONE

// RUN: not xrelay-opt -p 'reduce-precision{never="nn.dense" always="nn.dense"}' %s 2>&1 | filecheck %s --check-prefix TWICE

// NONE: there is no operator 'nn.densee'; did you mean 'nn.dense'?
// TWICE: 'nn.dense' is named 2 times, expected once

// Operands are rounded, sums and what follows them is f32, and functions keep their types.
// CHECK-LABEL: func.func @products
// CHECK: [[X:%.*]] = relay.cast %x {dtype = bf16}
// CHECK: [[W:%.*]] = relay.constant dense<1.101560e+00> : tensor<4x4xbf16>
// CHECK: [[D:%.*]] = relay.nn.dense [[X]], [[W]] {out_dtype = f32} : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xf32>
// CHECK-NEXT: [[R:%.*]] = relay.nn.relu [[D]]
// CHECK-NEXT: [[S:%.*]] = relay.cast [[R]] {dtype = bf16}
// CHECK-NEXT: [[E:%.*]] = relay.nn.dense [[S]], [[W]] {out_dtype = f32}
// CHECK-NEXT: [[F:%.*]] = relay.nn.softmax [[E]]
// CHECK-NEXT: return [[F]] : tensor<2x4xf32>
// WEIGHTS-LABEL: func.func @products
// WEIGHTS-NEXT: [[W:%.*]] = relay.constant dense<1.099610e+00> : tensor<4x4xf16>
// WEIGHTS-NEXT: [[D:%.*]] = relay.nn.dense %x, [[W]] {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x4xf16>) -> tensor<2x4xf32>
// WEIGHTS-NEXT: [[R:%.*]] = relay.nn.relu [[D]]
// WEIGHTS-NEXT: relay.nn.dense [[R]], [[W]] {out_dtype = f32}
// LISTS-LABEL: func.func @products
// LISTS: relay.nn.dense %x, {{.*}} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// LISTS: relay.nn.softmax {{.*}} : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
// FOLLOW-LABEL: func.func @products
// FOLLOW: relay.nn.relu
// FOLLOW: [[E:%.*]] = relay.nn.dense {{.*}} : (tensor<2x4xbf16>, tensor<4x4xbf16>) -> tensor<2x4xf32>
// FOLLOW-NEXT: [[S:%.*]] = relay.cast [[E]] {dtype = bf16}
// FOLLOW-NEXT: [[F:%.*]] = relay.nn.softmax [[S]] : (tensor<2x4xbf16>) -> tensor<2x4xbf16>
// FOLLOW-NEXT: [[R:%.*]] = relay.cast [[F]] {dtype = f32}
// FOLLOW-NEXT: return [[R]]
func.func @products(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = relay.constant dense<1.1> : tensor<4x4xf32>
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = relay.nn.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = relay.nn.dense %1, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = relay.nn.softmax %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// What is stored in other types stays in them.
// CHECK-LABEL: func.func @no_other_types
// CHECK-NEXT: relay.nn.dense %x, %x : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK-NEXT: relay.nn.dense %y, %y : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
// CHECK-NEXT: relay.nn.dense %z, %z : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
func.func @no_other_types(%x: tensor<2x2xf64>, %y: tensor<2x2xi8>, %z: tensor<2x2xf16>) -> (tensor<2x2xf64>, tensor<2x2xi8>, tensor<2x2xf16>) {
  %0 = relay.nn.dense %x, %x : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
  %1 = relay.nn.dense %y, %y : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  %2 = relay.nn.dense %z, %z : (tensor<2x2xf16>, tensor<2x2xf16>) -> tensor<2x2xf16>
  return %0, %1, %2 : tensor<2x2xf64>, tensor<2x2xi8>, tensor<2x2xf16>
}

// Two values, no weights.
// WEIGHTS-LABEL: func.func @no_weights
// WEIGHTS-NEXT: relay.nn.batch_matmul %x, %x {{.*}} : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
func.func @no_weights(%x: tensor<1x2x2xf32>) -> tensor<1x2x2xf32> {
  %0 = relay.nn.batch_matmul %x, %x {transpose_b = true} : (tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}
