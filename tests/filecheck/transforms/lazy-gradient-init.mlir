// RUN: xdsl-opt -p lazy-gradient-init{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p lazy-gradient-init{unsafe=true},lazy-gradient-init{unsafe=true} %s | filecheck %s
// RUN: xdsl-opt -p lazy-gradient-init %s | filecheck %s --check-prefix=SAFE
// RUN: xdsl-opt -p lazy-gradient-init,lazy-gradient-init %s | filecheck %s --check-prefix=SAFE

// CHECK-LABEL: func.func @sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
// CHECK-NEXT: [[Y:%.*]] = relay.construct @GradCell::@Raw(%y)
// CHECK-NEXT: [[M:%.*]] = relay.closure : !relay.fn<() -> tensor<2xf32>> {
// CHECK-NEXT:   [[Z:%.*]] = relay.zeros {shape = array<i64: 2>, dtype = f32}
// CHECK-NEXT:   relay.yield [[Z]]
// CHECK-NEXT: }
// CHECK-NEXT: [[ZERO:%.*]] = relay.construct @GradCell::@Zero([[M]])
// CHECK-NEXT: [[ADD:%.*]] = relay.closure : !relay.fn<(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>> {
// CHECK-NEXT: ^{{.*}}([[A:%.*]]: tensor<2xf32>, [[B:%.*]]: tensor<2xf32>):
// CHECK-NEXT:   [[C:%.*]] = relay.add [[A]], [[B]]
// CHECK-NEXT:   relay.yield [[C]]
// CHECK-NEXT: }
// CHECK-NEXT: [[F:%.*]] = relay.global_var @AddGradCell
// CHECK-NEXT: [[S:%.*]] = relay.apply [[F]]([[ADD]], [[ZERO]], [[Y]])
// CHECK-NEXT: [[T:%.*]] = relay.global_var @FromGradCell
// CHECK-NEXT: [[R:%.*]] = relay.apply [[T]]([[S]])
// CHECK-NEXT: func.return [[R]]
// -0 and zeros are +0.
// SAFE-LABEL: func.func @sum(
// SAFE-NOT: @AddGradCell
// SAFE: [[Z:%.*]] = relay.apply
// SAFE-NEXT: [[R:%.*]] = relay.add [[Z]], %y
// SAFE-NEXT: func.return [[R]]
func.func @sum(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.zeros_like %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %0, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @product(%x: tensor<f32>)
// CHECK:      relay.ones {shape = array<i64>, dtype = f32}
// CHECK:      [[ONE:%.*]] = relay.construct @GradCell::@One
// CHECK:      [[F:%.*]] = relay.global_var @MultiplyGradCell
// CHECK-NEXT: relay.apply [[F]]({{%.*}}, [[ONE]], {{%.*}})
// SAFE-LABEL: func.func @product(
// SAFE: [[ONE:%.*]] = relay.construct @GradCell::@One
// SAFE: [[F:%.*]] = relay.global_var @ScaleGradCell
// SAFE-NEXT: relay.apply [[F]]({{%.*}}, [[ONE]], {{%.*}})
func.func @product(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.ones {shape = array<i64>, dtype = f32} : tensor<f32>
  %1 = relay.multiply %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// Integers know no NaN.
// SAFE-LABEL: func.func @product_of_integers(%x: tensor<i32>)
// SAFE: [[ZERO:%.*]] = relay.construct @GradCell::@Zero
// SAFE: [[F:%.*]] = relay.global_var @MultiplyGradCell
// SAFE-NEXT: [[P:%.*]] = relay.apply [[F]]({{%.*}}, [[ZERO]], {{%.*}})
// SAFE: [[G:%.*]] = relay.global_var @AddGradCell
// SAFE-NEXT: relay.apply [[G]]({{%.*}}, [[P]], [[ZERO]])
func.func @product_of_integers(%x: tensor<i32>) -> tensor<i32> {
  %0 = relay.zeros {shape = array<i64>, dtype = i32} : tensor<i32>
  %1 = relay.multiply %0, %x : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %2 = relay.add %1, %0 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %2 : tensor<i32>
}

// Of an unknown length zeros need the tensor.
// CHECK-LABEL: func.func @unknown(%x: tensor<?xf32>)
// CHECK:      relay.closure : !relay.fn<() -> tensor<?xf32>> {
// CHECK-NEXT:   [[Z:%.*]] = relay.zeros_like %x
// CHECK-NEXT:   relay.yield [[Z]]
// CHECK-NEXT: }
func.func @unknown(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = relay.zeros_like %x : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Operands that broadcasting repeats are made: the other one is not the result.
// CHECK-LABEL: func.func @broadcast
// CHECK:      [[T:%.*]] = relay.global_var @FromGradCell
// CHECK-NEXT: [[Z:%.*]] = relay.apply [[T]]
// CHECK-NEXT: [[S:%.*]] = relay.add [[Z]], %x
// CHECK-NEXT: func.return [[S]]
func.func @broadcast(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = relay.zeros {shape = array<i64: 3>, dtype = f32} : tensor<3xf32>
  %1 = relay.add %0, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Cells go through references, in the order of effects; where both operands are tensors nothing changes.
// CHECK-LABEL: func.func @reference(%x: tensor<f32>, %t: tuple<tensor<f32>, tensor<f32>>)
// CHECK:      [[R:%.*]] = relay.ref_create {{%.*}} : (!relay.adt<@GradCell, [tensor<f32>]>) -> !relay.ref<!relay.adt<@GradCell, [tensor<f32>]>>
// CHECK:      relay.add %x, %x
// CHECK:      relay.ref_write [[R]]
// CHECK-NEXT: relay.ref_read [[R]]
func.func @reference(%x: tensor<f32>, %t: tuple<tensor<f32>, tensor<f32>>) -> (tensor<f32>, tuple<tensor<f32>, tensor<f32>>) {
  %0 = relay.zeros_like %x : (tensor<f32>) -> tensor<f32>
  %r = relay.ref_create %0 : (tensor<f32>) -> !relay.ref<tensor<f32>>
  %1 = relay.add %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = relay.ref_write %r, %1 : (!relay.ref<tensor<f32>>, tensor<f32>) -> tuple<>
  %3 = relay.ref_read %r : (!relay.ref<tensor<f32>>) -> tensor<f32>
  return %3, %t : tensor<f32>, tuple<tensor<f32>, tensor<f32>>
}

// Functions of the module take and give tensors.
// CHECK-LABEL: func.func @call(%x: tensor<f32>)
// CHECK:      [[A:%.*]] = relay.apply {{%.*}}({{%.*}}) : (!relay.fn<(!relay.adt<@GradCell, [tensor<f32>]>) -> tensor<f32>>
// CHECK-NEXT: func.call @keep_what_has_no_zeros([[A]])
func.func @call(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.zeros_like %x : (tensor<f32>) -> tensor<f32>
  %1 = func.call @keep_what_has_no_zeros(%0) : (tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_what_has_no_zeros
// CHECK-NEXT: [[S:%.*]] = relay.add %x, %x
// CHECK-NEXT: func.return [[S]]
func.func @keep_what_has_no_zeros(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.add %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @keep_what_another_compiler_takes
// CHECK-NEXT: relay.zeros_like %x
func.func @keep_what_another_compiler_takes(%x: tensor<f32>) -> tensor<f32> attributes {Compiler = "other"} {
  %0 = relay.zeros_like %x : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Functions of `relay.fused` take and give tensors.
// CHECK-LABEL: func.func @fused(%x: tensor<f32>)
// CHECK:      [[F:%.*]] = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<f32>):
// CHECK-NEXT:   relay.exp [[P]]
// CHECK:      [[T:%.*]] = relay.apply {{.*}} -> tensor<f32>
// CHECK:      relay.apply [[F]]([[T]])
func.func @fused(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.zeros_like %x : (tensor<f32>) -> tensor<f32>
  %f = relay.closure attributes {Primitive = 1 : i32} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%p: tensor<f32>):
    %1 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    relay.yield %1 : tensor<f32>
  }
  %2 = relay.apply %f(%0) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// So do those of functions for other compilers.
// CHECK-LABEL: func.func @keep_literal_of_a_compiler(%x: tensor<f32>)
// CHECK:      [[F:%.*]] = relay.closure attributes {Compiler = "other"} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
// CHECK-NEXT: ^{{.*}}([[P:%.*]]: tensor<f32>):
// CHECK-NEXT:   relay.exp [[P]]
// CHECK:      [[T:%.*]] = relay.apply {{.*}} -> tensor<f32>
// CHECK:      relay.apply [[F]]([[T]])
func.func @keep_literal_of_a_compiler(%x: tensor<f32>) -> tensor<f32> {
  %0 = relay.zeros_like %x : (tensor<f32>) -> tensor<f32>
  %f = relay.closure attributes {Compiler = "other"} : !relay.fn<(tensor<f32>) -> tensor<f32>> {
  ^bb0(%p: tensor<f32>):
    %1 = relay.exp %p : (tensor<f32>) -> tensor<f32>
    relay.yield %1 : tensor<f32>
  }
  %2 = relay.apply %f(%0) : (!relay.fn<(tensor<f32>) -> tensor<f32>>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// CHECK: relay.type_def @GradCell ["T"] [#relay.constructor<"Raw", [!relay.type_var<"T">]>, #relay.constructor<"One", [!relay.fn<() -> !relay.type_var<"T">>]>, #relay.constructor<"Zero", [!relay.fn<() -> !relay.type_var<"T">>]>]
// CHECK: func.func private @FromGradCell
// CHECK: func.func private @MultiplyGradCell
// CHECK: func.func private @AddGradCell
// CHECK-NOT: func.func
// SAFE: func.func private @MultiplyGradCell
// SAFE: func.func private @ScaleGradCell
// SAFE: func.func private @AddGradCell
