// RUN: xdsl-opt -p 'fuse-ops{rules=extended}' %s | filecheck %s
// RUN: xdsl-opt -p 'fuse-ops{rules=extended},fuse-ops{rules=extended}' %s | filecheck %s
// RUN: xdsl-opt -p fuse-ops %s | filecheck %s --check-prefix=RELAY

// Rules 38 and 39: softmax that is written out is one function.
func.func @written_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %m = relay.max %x {axis = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %d = relay.subtract %x, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %e = relay.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = relay.sum %e {axis = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %r = relay.divide %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  func.return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @written_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    %r = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %m = relay.max %p0 {axis = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:      %d = relay.subtract %p0, %m : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %e = relay.exp %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %s = relay.sum %e {axis = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
// CHECK-NEXT:      %r_1 = relay.divide %e, %s : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      relay.yield %r_1 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %r : tensor<4x8xf32>
// CHECK-NEXT:  }

// A third reduction stays outside, and so does one whose result lies along another axis.
func.func @keep_third_reduction(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = relay.max %x {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %2 = relay.sum %1 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %3 = relay.add %x, %2 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %4 = relay.mean %3 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %5 = relay.add %x, %4 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  func.return %5 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @keep_third_reduction(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8x1xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %1 = relay.max %p0 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8x1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %x, %0 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x1xf32>):
// CHECK-NEXT:      %2 = relay.subtract %p0, %p1 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      %3 = relay.sum %2 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT:      %4 = relay.add %p0, %3 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      %5 = relay.mean %4 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT:      %6 = relay.add %p0, %5 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %6 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1 : tensor<8x8xf32>
// CHECK-NEXT:  }

func.func @keep_not_aligned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = relay.sum %x {axis = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  %1 = relay.add %x, %0 : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @keep_not_aligned(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %1 = relay.sum %p0 {axis = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %x, %0 : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8xf32>):
// CHECK-NEXT:      %2 = relay.add %p0, %p1 : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1 : tensor<8x8xf32>
// CHECK-NEXT:  }

func.func @keep_other_axes(%x: tensor<8x8xf32>) -> tensor<1x8xf32> {
  %0 = relay.max %x {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = relay.subtract %x, %0 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %2 = relay.sum %1 {axis = array<i64: 0>, keepdims = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  func.return %2 : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @keep_other_axes(%x: tensor<8x8xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8x1xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %1 = relay.max %p0 {axis = array<i64: 1>, keepdims = true} : (tensor<8x8xf32>) -> tensor<8x1xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8x1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %x, %0 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x1xf32>):
// CHECK-NEXT:      %2 = relay.subtract %p0, %p1 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      %3 = relay.sum %2 {axis = array<i64: 0>, keepdims = true} : (tensor<8x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:      relay.yield %3 : tensor<1x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1 : tensor<1x8xf32>
// CHECK-NEXT:  }

// Rule 38: what moves elements is computed where it is reduced, and where softmax reads it.
func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = relay.transpose %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = relay.sum %0 {axis = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// CHECK-LABEL: func.func @into_reduction(%x: tensor<4x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %1 = relay.transpose %p0 : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK-NEXT:      %2 = relay.sum %1 {axis = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0 : tensor<8xf32>
// CHECK-NEXT:  }

func.func @into_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.nn.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @into_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %2 = relay.nn.softmax %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0 : tensor<4x8xf32>
// CHECK-NEXT:  }

func.func @keep_before_dense(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.nn.dense %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keep_before_dense(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %2 = relay.nn.dense %p0, %p1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1 : tensor<4x8xf32>
// CHECK-NEXT:  }

// Rule 40: a value that is used inside and outside.
func.func @several_outputs(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @several_outputs(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %2 = relay.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %3 = relay.tuple %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
// CHECK-NEXT:      relay.yield %3 : tuple<tensor<4x8xf32>, tensor<4x8xf32>>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.tuple_get_item %0[0] : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
// CHECK-NEXT:    %2 = relay.tuple_get_item %0[1] : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
// CHECK-NEXT:    func.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT:  }

// The dense, whose result the last group takes, needs the value: it cannot be computed there.
func.func @keep_value_that_comes_back(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = relay.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = relay.nn.dense %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = relay.nn.softmax %1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = relay.transpose %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = relay.add %0, %3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %4 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @keep_value_that_comes_back(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %2 = relay.nn.dense %p0, %p1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %2 = relay.fused %1 : (tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %3 = relay.nn.softmax %p0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %3 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %3 = relay.fused %2, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %4 = relay.transpose %p0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      %5 = relay.add %p1, %4 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %5 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %3 : tensor<8x8xf32>
// CHECK-NEXT:  }

// Rule 41: casts and scalar constants are computed by each of their users.
func.func @copies(%x: tensor<4x8xi8>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<1x8xf32>) {
  %half = relay.constant dense<0.5> : tensor<f32>
  %0 = relay.cast %x {dtype = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1 = relay.multiply %0, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = relay.sum %1 {axis = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %3 = relay.add %0, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %4 = relay.max %3 {axis = array<i64: 0>, keepdims = true} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  func.return %2, %4 : tensor<4xf32>, tensor<1x8xf32>
}

// CHECK-LABEL: func.func @copies(%x: tensor<4x8xi8>, %w: tensor<8x8xf32>) -> (tensor<4xf32>, tensor<1x8xf32>) {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xi8>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xi8>):
// CHECK-NEXT:      %half = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:      %1 = relay.cast %p0 {dtype = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
// CHECK-NEXT:      %2 = relay.multiply %1, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %3 = relay.sum %2 {axis = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK-NEXT:      relay.yield %3 : tensor<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %x : (tensor<4x8xi8>) -> tensor<1x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xi8>):
// CHECK-NEXT:      %half = relay.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:      %2 = relay.cast %p0 {dtype = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
// CHECK-NEXT:      %3 = relay.add %2, %half : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %4 = relay.max %3 {axis = array<i64: 0>, keepdims = true} : (tensor<4x8xf32>) -> tensor<1x8xf32>
// CHECK-NEXT:      relay.yield %4 : tensor<1x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0, %1 : tensor<4xf32>, tensor<1x8xf32>
// CHECK-NEXT:  }

func.func @keep_cast_before_dense(%x: tensor<8x8xi8>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
  %0 = relay.cast %x {dtype = f32} : (tensor<8x8xi8>) -> tensor<8x8xf32>
  %1 = relay.nn.dense %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = relay.sum %0 {axis = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %1, %2 : tensor<8x8xf32>, tensor<8xf32>
}

// CHECK-LABEL: func.func @keep_cast_before_dense(%x: tensor<8x8xi8>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8xf32>) {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xi8>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xi8>):
// CHECK-NEXT:      %1 = relay.cast %p0 {dtype = f32} : (tensor<8x8xi8>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %2 = relay.nn.dense %p0, %p1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %2 = relay.fused %0 : (tensor<8x8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %3 = relay.sum %p0 {axis = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
// CHECK-NEXT:      relay.yield %3 : tensor<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %1, %2 : tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT:  }

// Rule 42: siblings.
func.func @siblings(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = relay.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = relay.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.subtract %y, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @siblings(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<4x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>> {
// CHECK-NEXT:    ^bb0(%p0: tensor<4x8xf32>, %p1: tensor<4x8xf32>):
// CHECK-NEXT:      %2 = relay.add %p0, %p1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %3 = relay.subtract %p1, %p0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:      %4 = relay.tuple %2, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tuple<tensor<4x8xf32>, tensor<4x8xf32>>
// CHECK-NEXT:      relay.yield %4 : tuple<tensor<4x8xf32>, tensor<4x8xf32>>
// CHECK-NEXT:    }
// CHECK-NEXT:    %2 = relay.tuple_get_item %1[0] : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
// CHECK-NEXT:    %3 = relay.tuple_get_item %1[1] : (tuple<tensor<4x8xf32>, tensor<4x8xf32>>) -> tensor<4x8xf32>
// CHECK-NEXT:    func.return %2, %0, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT:  }

func.func @keep_dependent(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = relay.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = relay.nn.dense %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = relay.tanh %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = relay.nn.dense %2, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %3 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @keep_dependent(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    %0 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %1 = relay.exp %p0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %1 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %1 = relay.fused %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %2 = relay.nn.dense %p0, %p1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %2 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %2 = relay.fused %x : (tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>):
// CHECK-NEXT:      %3 = relay.tanh %p0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %3 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %3 = relay.fused %2, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
// CHECK-NEXT:    ^bb0(%p0: tensor<8x8xf32>, %p1: tensor<8x8xf32>):
// CHECK-NEXT:      %4 = relay.nn.dense %p0, %p1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT:      relay.yield %4 : tensor<8x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %3 : tensor<8x8xf32>
// CHECK-NEXT:  }

// Rule 43: what follows a normalisation works on its registers. Two users are two kernels.
// CHECK-LABEL: func.func @quantised_normalisation
// CHECK: relay.fused %x, %g, %b
// CHECK: relay.nn.layer_norm
// CHECK-NEXT: relay.round
// CHECK-NEXT: relay.cast
// CHECK-NEXT: relay.yield
// CHECK: func.return
// RELAY-LABEL: func.func @quantised_normalisation
// RELAY: relay.nn.layer_norm
// RELAY-NEXT: relay.yield
func.func @quantised_normalisation(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xui8> {
  %0 = relay.nn.layer_norm %x, %g, %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = relay.round %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = relay.cast %1 {dtype = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  return %2 : tensor<4x8xui8>
}

// CHECK-LABEL: func.func @keep_normalisation_that_more_use
// CHECK: relay.nn.layer_norm
// CHECK-NEXT: relay.yield
func.func @keep_normalisation_that_more_use(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xui8>) {
  %0 = relay.nn.layer_norm %x, %g, %b : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = relay.cast %0 {dtype = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xui8>
}
