// RUN: xrelay-opt -p 'to-mixed-precision{missing-op-mode=2}' %s | filecheck %s
// RUN: xrelay-opt -p to-mixed-precision %s 2>&1 | filecheck %s --check-prefix WARNS
// RUN: xrelay-opt -p 'to-mixed-precision{missing-op-mode=2},to-mixed-precision{missing-op-mode=2}' %s | filecheck %s
// RUN: xrelay-opt -p 'to-mixed-precision{keep-orig-output-dtype=true missing-op-mode=2}' %s | filecheck %s --check-prefix SAME
// RUN: xrelay-opt -p 'to-mixed-precision{mixed-precision-type="bfloat16" accumulation-type="float32" missing-op-mode=2}' %s | filecheck %s --check-prefix SUMS
// RUN: xrelay-opt -p 'to-mixed-precision{never="nn.conv2d" always="nn.softmax" missing-op-mode=2}' %s | filecheck %s --check-prefix LISTS
// RUN: xrelay-opt -p 'to-mixed-precision{original-type="float64" missing-op-mode=2}' %s | filecheck %s --check-prefix OTHER
// RUN: xrelay-opt -p 'to-mixed-precision{original-type="float32" missing-op-mode=2}' %s | filecheck %s --check-prefix INDICES
// RUN: xrelay-opt -p 'to-mixed-precision{constants-only=true missing-op-mode=2}' %s | filecheck %s --check-prefix OTHER
// RUN: xrelay-opt -p 'to-mixed-precision{follow="nn.softmax" missing-op-mode=2}' %s | filecheck %s --check-prefix FOLLOW
// RUN: not xrelay-opt -p 'to-mixed-precision{rules="cpus"}' %s 2>&1 | filecheck %s --check-prefix RULES
// RUN: not xrelay-opt -p 'to-mixed-precision{missing-op-mode=0}' %s 2>&1 | filecheck %s --check-prefix MISSING

// RULES: 'rules' is 'cpus', expected one of relay, cpu, wide; did you mean 'cpu'?
// WARNS: to-mixed-precision: no list says how many bits these operators need: cos (1)
// WARNS: builtin.module
// MISSING: pass 'to-mixed-precision': no list says how many bits these operators need: cos (1)

// CHECK-LABEL: func.func @convolution
// CHECK-SAME: -> tensor<1x5x2x2xf16>
// CHECK-NEXT: [[W:%.*]] = relay.cast %weight {dtype = f16}
// CHECK-NEXT: [[X:%.*]] = relay.cast %data {dtype = f16}
// CHECK-NEXT: [[Y:%.*]] = relay.nn.conv2d [[X]], [[W]] {out_dtype = f16} :
// CHECK-NEXT: return [[Y]]
// SAME-LABEL: func.func @convolution
// SAME-SAME: -> tensor<1x5x2x2xf32>
// SAME: [[Y:%.*]] = relay.nn.conv2d {{.*}} -> tensor<1x5x2x2xf16>
// SAME-NEXT: [[Z:%.*]] = relay.cast [[Y]] {dtype = f32}
// SAME-NEXT: return [[Z]]
// SUMS-LABEL: func.func @convolution
// SUMS: [[Y:%.*]] = relay.nn.conv2d {{.*}} {out_dtype = f32} : (tensor<1x3x4x4xbf16>, tensor<5x3x3x3xbf16>) -> tensor<1x5x2x2xf32>
// SUMS-NEXT: [[Z:%.*]] = relay.cast [[Y]] {dtype = bf16}
// SUMS-NEXT: return [[Z]]
// Nothing is of the type that is to be replaced, or no operand is a constant.
// OTHER-LABEL: func.func @convolution
// OTHER-NEXT: relay.nn.conv2d %data, %weight
// LISTS-LABEL: func.func @convolution
// LISTS-NEXT: relay.nn.conv2d %data, %weight {out_dtype = f32}
func.func @convolution(%data: tensor<1x3x4x4xf32>, %weight: tensor<5x3x3x3xf32>) -> tensor<1x5x2x2xf32> {
  %0 = relay.nn.conv2d %data, %weight {out_dtype = f32} : (tensor<1x3x4x4xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x2x2xf32>
  return %0 : tensor<1x5x2x2xf32>
}

// CHECK-LABEL: func.func @keep_softmax
// CHECK-NEXT: relay.nn.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// Parameters count as having fewer bits.
// FOLLOW-LABEL: func.func @keep_softmax
// FOLLOW: relay.nn.softmax {{.*}} : (tensor<2x3xf16>) -> tensor<2x3xf16>
// LISTS-LABEL: func.func @keep_softmax
// LISTS: relay.nn.softmax {{.*}} : (tensor<2x3xf16>) -> tensor<2x3xf16>
func.func @keep_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.nn.softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.cos %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// What others call keeps its type, and so does what a branch gives that the other one does not.
// CHECK-LABEL: func.func @called
// CHECK-SAME: -> tensor<2x2xf32>
// CHECK: [[Y:%.*]] = relay.nn.dense {{.*}} -> tensor<2x2xf16>
// CHECK-NEXT: [[Z:%.*]] = relay.cast [[Y]] {dtype = f32}
// CHECK-NEXT: return [[Z]]
func.func @called(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = relay.nn.dense %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @branches
// CHECK: [[Y:%.*]] = relay.nn.dense {{.*}} -> tensor<2x2xf16>
// CHECK-NEXT: [[Z:%.*]] = relay.cast [[Y]] {dtype = f32}
// CHECK-NEXT: scf.if %c -> (tensor<2x2xf32>) {
// CHECK-NEXT: [[W:%.*]] = func.call @called([[Z]])
// CHECK-NEXT: scf.yield [[W]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield [[Z]] : tensor<2x2xf32>
func.func @branches(%x: tensor<2x2xf32>, %c: i1) -> tensor<2x2xf32> {
  %0 = relay.nn.dense %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = scf.if %c -> (tensor<2x2xf32>) {
    %2 = func.call @called(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    scf.yield %2 : tensor<2x2xf32>
  } else {
    scf.yield %0 : tensor<2x2xf32>
  }
  return %1 : tensor<2x2xf32>
}

// A tuple that never-operators take is cast field by field.
// CHECK-LABEL: func.func @tuples
// CHECK: [[P:%.*]] = relay.split {{.*}} -> tuple<tensor<1x2xf16>, tensor<1x2xf16>>
// CHECK-NEXT: [[A:%.*]] = relay.tuple_get_item [[P]][0
// CHECK-NEXT: [[C:%.*]] = relay.cast [[A]] {dtype = f32}
// CHECK-NEXT: [[B:%.*]] = relay.tuple_get_item [[P]][1
// CHECK-NEXT: [[D:%.*]] = relay.cast [[B]] {dtype = f32}
// CHECK-NEXT: [[T:%.*]] = relay.tuple [[C]], [[D]]
// CHECK-NEXT: relay.fused [[T]]
func.func @tuples(%x: tensor<2x2xf32>) -> tensor<1x2xf32> {
  %0 = relay.nn.dense %x, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = relay.split %0 {indices_or_sections = 2 : i64, axis = 0 : i64} : (tensor<2x2xf32>) -> tuple<tensor<1x2xf32>, tensor<1x2xf32>>
  %2 = relay.fused %1 : (tuple<tensor<1x2xf32>, tensor<1x2xf32>>) -> tensor<1x2xf32> {
  ^bb0(%p: tuple<tensor<1x2xf32>, tensor<1x2xf32>>):
    %3 = relay.tuple_get_item %p[1] : (tuple<tensor<1x2xf32>, tensor<1x2xf32>>) -> tensor<1x2xf32>
    relay.yield %3 : tensor<1x2xf32>
  }
  return %2 : tensor<1x2xf32>
}

// What a loop carries stays as it was.
// CHECK-LABEL: func.func private @loop
// CHECK: scf.while
// CHECK: [[D:%.*]] = relay.nn.dense {{.*}} -> tensor<2x2xf16>
// CHECK-NEXT: [[W:%.*]] = relay.cast [[D]] {{.*}} -> tensor<2x2xf32>
// CHECK-NEXT: scf.yield %a{{.*}}, [[W]] : i1, tensor<2x2xf32>
func.func private @loop(%c: i1, %x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0, %1 = scf.while (%a = %c, %b = %x) : (i1, tensor<2x2xf32>) -> (i1, tensor<2x2xf32>) {
    scf.condition(%a) %a, %b : i1, tensor<2x2xf32>
  } do {
  ^bb0(%a: i1, %b: tensor<2x2xf32>):
    %2 = relay.nn.dense %b, %x : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    scf.yield %a, %2 : i1, tensor<2x2xf32>
  }
  return %1 : tensor<2x2xf32>
}

// Products of integers are sums of integers.
// CHECK-LABEL: func.func @no_integers
// CHECK-NEXT: relay.nn.dense %x, %x : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
func.func @no_integers(%x: tensor<2x2xi8>) -> tensor<2x2xi8> {
  %0 = relay.nn.dense %x, %x : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi8>
  return %0 : tensor<2x2xi8>
}

// Dimensions that the program leaves open stay so.
// CHECK-LABEL: func.func @open_dimensions
// CHECK-SAME: -> tensor<?x?xi8>
// CHECK-NEXT: relay.cast %x {dtype = i8} : (tensor<2x2xf32>) -> tensor<?x?xi8>
// SAME-LABEL: func.func @open_dimensions
// SAME-NEXT: [[C:%.*]] = relay.cast %x {dtype = i8} : (tensor<2x2xf32>) -> tensor<?x?xi8>
// SAME-NEXT: return [[C]]
func.func @open_dimensions(%x: tensor<2x2xf32>) -> tensor<?x?xi8> {
  %0 = relay.cast %x {dtype = i8} : (tensor<2x2xf32>) -> tensor<?x?xi8>
  return %0 : tensor<?x?xi8>
}

// Integers beside elements of the type that is replaced are no type that is to stay.
// INDICES-LABEL: func.func @indices
// INDICES-NEXT: [[X:%.*]] = relay.cast %x {dtype = f16}
// INDICES-NEXT: relay.take [[X]], %n {{.*}} : (tensor<4x2xf16>, tensor<3xi64>) -> tensor<3x2xf16>
// INDICES: func.return
func.func @indices(%x: tensor<4x2xf32>, %n: tensor<3xi64>) -> tensor<3x2xf32> {
  %0 = relay.take %x, %n {axis = 0 : i64} : (tensor<4x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
