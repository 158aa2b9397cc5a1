// RUN: xrelay-opt -p widen-floats %s | filecheck %s
// RUN: xrelay-opt -p widen-floats,widen-floats %s | filecheck %s
// RUN: xrelay-opt -p 'widen-floats{dtypes=bfloat16}' %s | filecheck %s --check-prefix BFLOAT
// RUN: xrelay-opt -p widen-floats,narrow-weights %s | filecheck %s --check-prefix WEIGHTS
// RUN: not xrelay-opt -p 'widen-floats{dtypes=float8}' %s 2>&1 | filecheck %s --check-prefix TYPE

// TYPE: pass 'widen-floats': 'dtypes' is 'float8', expected one of float16, bfloat16

// CHECK: builtin.module attributes {relay.narrow_weights = [f16]}
// BFLOAT: builtin.module attributes {relay.narrow_weights = [bf16]}
// WEIGHTS: builtin.module attributes {relay.narrow_weights = [f16]}

// Nothing is rounded between operators; results are.
// CHECK-LABEL: func.func @products
// CHECK-NEXT: [[X:%.*]] = relay.cast %x {dtype = f32}
// CHECK-NEXT: [[W:%.*]] = relay.constant dense<1.099{{.*}}> : tensor<4x4xf32>
// CHECK-NEXT: [[D:%.*]] = relay.nn.dense [[X]], [[W]] {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[S:%.*]] = relay.nn.softmax [[D]]
// CHECK-NEXT: [[R:%.*]] = relay.cast [[S]] {dtype = f16}
// CHECK-NEXT: return [[R]] : tensor<2x4xf16>
// Weights of products get their bits back.
// WEIGHTS-LABEL: func.func @products
// WEIGHTS-DAG: [[X:%.*]] = relay.cast %x {dtype = f32}
// WEIGHTS-DAG: [[W:%.*]] = relay.constant dense<1.099{{.*}}> : tensor<4x4xf16>
// WEIGHTS: [[D:%.*]] = relay.nn.dense [[X]], [[W]] {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x4xf16>) -> tensor<2x4xf32>
func.func @products(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %w = relay.constant dense<1.1> : tensor<4x4xf16>
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  %1 = relay.nn.softmax %0 : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %1 : tensor<2x4xf16>
}

// A table is moved as it is; what was cast to f16 by the program is not rounded on the way to what computes.
// CHECK-LABEL: func.func @moved
// CHECK: [[T:%.*]] = relay.take {{%.*}}, %i {{.*}} -> tensor<2x4xf16>
// CHECK-NEXT: [[C:%.*]] = relay.cast [[T]] {dtype = f32}
// CHECK: [[E:%.*]] = relay.exp %x : (tensor<2x4xf32>)
// CHECK: [[A:%.*]] = relay.add [[C]], [[E]] : (tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[A]] {{.*}} : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK-NEXT: [[S:%.*]] = relay.cast [[R]] {dtype = f32} : (tensor<8xf32>)
// CHECK-NEXT: return [[S]]
func.func @moved(%i: tensor<2xi64>, %x: tensor<2x4xf32>) -> tensor<8xf32> {
  %t = relay.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf16>
  %0 = relay.take %t, %i {axis = 0 : i64, mode = "clip"} : (tensor<2x4xf16>, tensor<2xi64>) -> tensor<2x4xf16>
  %1 = relay.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = relay.cast %1 {dtype = f16} : (tensor<2x4xf32>) -> tensor<2x4xf16>
  %3 = relay.add %0, %2 : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %4 = relay.reshape %3 {newshape = array<i64: 8>} : (tensor<2x4xf16>) -> tensor<8xf16>
  %5 = relay.cast %4 {dtype = f32} : (tensor<8xf16>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}

// A program that only rounds does so.
// CHECK-LABEL: func.func @rounds
// CHECK-NEXT: [[R:%.*]] = relay.cast %x {dtype = f16}
// CHECK-NEXT: [[W:%.*]] = relay.cast [[R]] {dtype = f32}
// CHECK-NEXT: return [[W]]
func.func @rounds(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.cast %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = relay.cast %0 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Bits are those of the type.
// CHECK-LABEL: func.func @bits
// CHECK: [[E:%.*]] = relay.exp {{.*}} : (tensor<4xf32>)
// CHECK-NEXT: [[R:%.*]] = relay.cast [[E]] {dtype = f16}
// CHECK-NEXT: relay.reinterpret [[R]] {{.*}} : (tensor<4xf16>) -> tensor<4xi16>
func.func @bits(%x: tensor<4xf16>) -> tensor<4xi16> {
  %0 = relay.exp %x : (tensor<4xf16>) -> tensor<4xf16>
  %1 = relay.reinterpret %0 {dtype = i16} : (tensor<4xf16>) -> tensor<4xi16>
  return %1 : tensor<4xi16>
}

// Other types stay.
// CHECK-LABEL: func.func @brain
// CHECK-NEXT: relay.exp %x : (tensor<4xbf16>) -> tensor<4xbf16>
// BFLOAT-LABEL: func.func @brain
// BFLOAT-NEXT: [[X:%.*]] = relay.cast %x {dtype = f32}
// BFLOAT-NEXT: relay.exp [[X]] : (tensor<4xf32>) -> tensor<4xf32>
func.func @brain(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = relay.exp %x : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// Types that the program asks for stay, and so do operators without any of the type.
// CHECK-LABEL: func.func @asked
// CHECK: relay.nn.dense %x, %w {out_dtype = f64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf64>
// CHECK: relay.nn.matmul {{.*}} {out_dtype = f32} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
// CHECK: relay.nn.dense {{.*}} : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
func.func @asked(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>, %a: tensor<2x4xf16>, %b: tensor<4x3xf16>, %c: tensor<5x3xf16>) -> (tensor<2x3xf64>, tensor<2x5xf32>) {
  %0 = relay.nn.dense %x, %w {out_dtype = f64} : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf64>
  %1 = relay.nn.matmul %a, %b {out_dtype = f16} : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
  %2 = relay.nn.dense %1, %c {out_dtype = f32} : (tensor<2x3xf16>, tensor<5x3xf16>) -> tensor<2x5xf32>
  return %0, %2 : tensor<2x3xf64>, tensor<2x5xf32>
}

// What is fused is left as it is, and so are casts of other constants.
// CHECK-LABEL: func.func @kept
// CHECK: [[K:%.*]] = relay.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
// CHECK-NEXT: relay.cast [[K]] {dtype = f16}
// CHECK: relay.fused
// CHECK: relay.cast {{%.*}} {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
// CHECK-NEXT: relay.yield
func.func @kept(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xf32>) {
  %k = relay.constant dense<[1, 2, 3, 4]> : tensor<4xi8>
  %c = relay.cast %k {dtype = f16} : (tensor<4xi8>) -> tensor<4xf16>
  %f = relay.fused %x : (tensor<4xf16>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf16>):
    %w = relay.constant dense<1.0> : tensor<4xf16>
    %0 = relay.cast %w {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
    relay.yield %0 : tensor<4xf32>
  }
  return %c, %f : tensor<4xf16>, tensor<4xf32>
}
