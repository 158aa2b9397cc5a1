// RUN: xrelay-opt -p 'apply-placement{file="%S/inputs/mixed.json"}' %s | filecheck %s

// Of a region with two results the function returns a tuple. What the plan gives to own code stays. An engine that
// does not bind constants has them as parameters; what it runs as one operator is a composite.
func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = relay.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %sum = relay.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %left = relay.tanh %sum : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %right = relay.exp %sum : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %both = relay.multiply %left, %right : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %product = relay.nn.dense %both, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  %positive = relay.nn.relu %product : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %positive : tensor<2x2xf32>
}

// CHECK:       builtin.module {
// CHECK-NEXT:    func.func @main(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:      [[PAIR:%.*]] = func.call @tvmgen_default_fast_main_0(%x, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>>
// CHECK-NEXT:      %left = relay.tuple_get_item [[PAIR]][0]
// CHECK-NEXT:      %right = relay.tuple_get_item [[PAIR]][1]
// CHECK-NEXT:      %both = relay.multiply %left, %right
// CHECK-NEXT:      %w = relay.constant
// CHECK-NEXT:      %positive = func.call @tvmgen_default_plain_main_1(%both, %w) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:      func.return %positive : tensor<2x2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @tvmgen_default_fast_main_0(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tuple<tensor<2x4xf32>, tensor<2x4xf32>> attributes {Compiler = "fast", Primitive = 1 : i32, Inline = 1 : i32, global_symbol = "tvmgen_default_fast_main_0"} {
// CHECK-NEXT:      %sum = relay.add %x, %y
// CHECK-NEXT:      %left = relay.tanh %sum
// CHECK-NEXT:      %right = relay.exp %sum
// CHECK-NEXT:      [[MADE:%.*]] = relay.tuple %left, %right
// CHECK-NEXT:      func.return [[MADE]] : tuple<tensor<2x4xf32>, tensor<2x4xf32>>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.func private @tvmgen_default_plain_main_1(%both: tensor<2x4xf32>, %w: tensor<2x4xf32>) -> tensor<2x2xf32> attributes {Compiler = "plain", Primitive = 1 : i32, Inline = 1 : i32, global_symbol = "tvmgen_default_plain_main_1"} {
// CHECK-NEXT:      %positive = relay.composite "plain.dense_relu" %both, %w attributes {partitioned_from_pattern = "nn.dense_nn.relu_"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32> {
// CHECK-NEXT:      ^{{.*}}([[DATA:%.*]]: tensor<2x4xf32>, [[WEIGHT:%.*]]: tensor<2x4xf32>):
// CHECK-NEXT:        [[PRODUCT:%.*]] = relay.nn.dense [[DATA]], [[WEIGHT]]
// CHECK-NEXT:        [[POSITIVE:%.*]] = relay.nn.relu [[PRODUCT]]
// CHECK-NEXT:        relay.yield [[POSITIVE]] : tensor<2x2xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      func.return %positive : tensor<2x2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
