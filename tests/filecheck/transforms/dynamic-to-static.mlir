// RUN: xdsl-opt -p dynamic-to-static %s | filecheck %s
// RUN: xdsl-opt -p dynamic-to-static,dynamic-to-static %s | filecheck %s
// RUN: xdsl-opt -p dynamic-to-static{max-bytes=8} %s | filecheck %s --check-prefix=FEW
// RUN: not xrelay-opt -p dynamic-to-static{limit=8} %s 2>&1 | filecheck %s --check-prefix=LIMIT

// LIMIT: pass 'dynamic-to-static': relay.{{.*}}: the constant that it gives has {{[0-9]+}} bytes, the limit (max_bytes) is 8

// Shapes that become known make those known that follow from them, all in one run.
func.func @chain(%x: tensor<2x3x4xf32>, %y: tensor<8x3xf32>) -> tensor<?x?xf32> {
  %s = relay.shape_of %y : (tensor<8x3xf32>) -> tensor<2xi32>
  %r = relay.dyn.reshape %x, %s : (tensor<2x3x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %e = relay.exp %r : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %s2 = relay.shape_of %e : (tensor<?x?xf32>) -> tensor<2xi32>
  %z = relay.dyn.ones %s2 {dtype = f32} : (tensor<2xi32>) -> tensor<?x?xf32>
  %a = relay.add %z, %e : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  func.return %a : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @chain(
// CHECK-SAME:  -> tensor<8x3xf32> {
// CHECK-NEXT:   %[[R:.*]] = relay.reshape %{{.*}} {newshape = array<i64: 8, 3>} : (tensor<2x3x4xf32>) -> tensor<8x3xf32>
// CHECK-NEXT:   %[[E:.*]] = relay.exp %[[R]] : (tensor<8x3xf32>) -> tensor<8x3xf32>
// CHECK-NEXT:   %[[Z:.*]] = relay.ones {{.*}} : tensor<8x3xf32>
// CHECK-NEXT:   %[[A:.*]] = relay.add %[[Z]], %[[E]]
// CHECK-NEXT:   func.return %[[A]] : tensor<8x3xf32>

// In branches, and through calls to functions that come later.
func.func @branches(%p: i1, %x: tensor<6xf32>) -> tensor<?x?xf32> {
  %s = relay.constant dense<[2, 3]> : tensor<2xi64>
  %0 = scf.if %p -> (tensor<?x?xf32>) {
    %1 = relay.dyn.reshape %x, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    scf.yield %1 : tensor<?x?xf32>
  } else {
    %1 = func.call @callee(%x) : (tensor<6xf32>) -> tensor<?x?xf32>
    scf.yield %1 : tensor<?x?xf32>
  }
  func.return %0 : tensor<?x?xf32>
}

func.func @callee(%x: tensor<6xf32>) -> tensor<?x?xf32> {
  %s = relay.constant dense<[2, 3]> : tensor<2xi64>
  %0 = relay.dyn.reshape %x, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @branches(
// CHECK-NEXT:   %[[I:.*]] = scf.if %{{.*}} -> (tensor<2x3xf32>) {
// CHECK-NEXT:     relay.reshape
// CHECK:          func.call @callee(%{{.*}}) : (tensor<6xf32>) -> tensor<2x3xf32>
// CHECK:        func.return %[[I]] : tensor<2x3xf32>

// What is not known stays, and so do shapes of unknown dimensions.
func.func @keep_unknown(%x: tensor<6xf32>, %s: tensor<2xi64>, %u: tensor<?x3xf32>) -> (tensor<?x?xf32>, tensor<2xi32>) {
  %0 = relay.dyn.reshape %x, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = relay.shape_of %u : (tensor<?x3xf32>) -> tensor<2xi32>
  func.return %0, %1 : tensor<?x?xf32>, tensor<2xi32>
}

// CHECK-LABEL: func.func @keep_unknown(
// CHECK-NEXT:   relay.dyn.reshape %{{.*}} -> tensor<?x?xf32>
// CHECK-NEXT:   relay.shape_of %{{.*}} : (tensor<?x3xf32>) -> tensor<2xi32>

// CHECK-LABEL: func.func @branch_taken
// CHECK-SAME: -> tensor<1x4xi64>
// CHECK-NEXT: [[ROW:%.*]] = relay.reshape %x
// CHECK-NEXT: func.return [[ROW]] : tensor<1x4xi64>
func.func @branch_taken(%x: tensor<2x2xi64>) -> tensor<?x?xi64> {
  %0 = relay.constant dense<1> : tensor<i32>
  %1 = relay.cast %0 {dtype = i1} : (tensor<i32>) -> tensor<i1>
  %2 = tensor.extract %1[] : tensor<i1>
  %3 = scf.if %2 -> (tensor<?x?xi64>) {
    %4 = relay.reshape %x {newshape = array<i64: 1, 4>} : (tensor<2x2xi64>) -> tensor<1x4xi64>
    scf.yield %4 : tensor<1x4xi64>
  } else {
    %5 = relay.reshape %x {newshape = array<i64: 4, 1>} : (tensor<2x2xi64>) -> tensor<4x1xi64>
    scf.yield %5 : tensor<4x1xi64>
  }
  return %3 : tensor<?x?xi64>
}

// How many elements are not zero is known with the elements.
// CHECK-LABEL: func.func @elements_decide
// CHECK-SAME: -> (tensor<3x1xf32>, tensor<3x1xf32>) {
// CHECK-NEXT: relay.ones {shape = array<i64: 3, 1>, dtype = f32} : tensor<3x1xf32>
// CHECK-NEXT: relay.broadcast_to %{{.*}} {shape = array<i64: 3, 1>}
func.func @elements_decide(%x: tensor<1x1xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = relay.constant dense<[1, 0, 1, 1]> : tensor<4xi64>
  %1 = relay.argwhere %0 : (tensor<4xi64>) -> tensor<?x1xi32>
  %2 = relay.shape_of %1 : (tensor<?x1xi32>) -> tensor<2xi32>
  %3 = relay.dyn.ones %2 {dtype = f32} : (tensor<2xi32>) -> tensor<?x?xf32>
  %4 = relay.dyn.broadcast_to %x, %2 : (tensor<1x1xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  func.return %3, %4 : tensor<?x?xf32>, tensor<?x?xf32>
}

// What takes no other type gets the stated one.
// CHECK-LABEL: func.func @through_a_call
// CHECK-NEXT: [[KNOWN:%.*]] = relay.constant dense<[{{.}}0], [2], [3]]> : tensor<3x1xi32>
// CHECK-NEXT: [[STATED:%.*]] = tensor.cast [[KNOWN]] : tensor<3x1xi32> to tensor<?x1xi32>
// CHECK-NEXT: func.call @takes_any([[STATED]])
func.func @through_a_call(%x: tensor<6xf32>) -> tensor<?x1xi32> {
  %0 = relay.constant dense<[1, 0, 1, 1]> : tensor<4xi64>
  %1 = relay.argwhere %0 : (tensor<4xi64>) -> tensor<?x1xi32>
  %2 = func.call @takes_any(%1) : (tensor<?x1xi32>) -> tensor<?x1xi32>
  %3 = relay.constant dense<[2, 3]> : tensor<2xi64>
  %4 = relay.dyn.reshape %x, %3 : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  func.return %2 : tensor<?x1xi32>
}

func.func @takes_any(%x: tensor<?x1xi32>) -> tensor<?x1xi32> {
  func.return %x : tensor<?x1xi32>
}

// What nothing uses is computed as well, so that a second run changes nothing.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT: relay.constant dense<0> : tensor<i32>
// CHECK-NEXT: relay.dyn.ones
func.func @unused(%n: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = relay.constant dense<-2> : tensor<i32>
  %1 = relay.constant dense<2> : tensor<i32>
  %2 = relay.add %0, %1 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %3 = relay.dyn.ones %n {dtype = f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  func.return %3 : tensor<?x?xf32>
}

// A shape that is computed of less than it has bytes itself, and is larger than it may be, stays.
// CHECK-LABEL: func.func @few_bytes() -> tensor<3x3xf32>
// FEW-LABEL: func.func @few_bytes() -> tensor<?x?xf32>
// FEW: [[S:%.*]] = relay.full
// FEW-NEXT: relay.dyn.ones [[S]]
func.func @few_bytes() -> tensor<?x?xf32> {
  %n = relay.constant dense<3> : tensor<i64>
  %s = relay.full %n {shape = array<i64: 2>} : (tensor<i64>) -> tensor<2xi64>
  %0 = relay.dyn.ones %s {dtype = f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  func.return %0 : tensor<?x?xf32>
}
