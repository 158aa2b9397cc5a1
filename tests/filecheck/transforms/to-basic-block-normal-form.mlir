// RUN: xdsl-opt -p to-basic-block-normal-form %s | filecheck %s
// RUN: xdsl-opt -p to-basic-block-normal-form,to-basic-block-normal-form %s | filecheck %s

// CHECK-LABEL: func.func @shared
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[A:%.*]] = relay.let [[E]] :
// CHECK-NEXT: scf.if %c
// CHECK-NEXT:   [[N:%.*]] = relay.add [[A]], [[A]] :
// CHECK-NEXT:   scf.yield [[N]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   scf.yield [[A]]
func.func @shared(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %c -> (tensor<2xf32>) {
    %2 = relay.add %0, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %0 : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// One scope uses it, or its own does.
// CHECK-LABEL: func.func @keep_values_of_one_scope
// CHECK-NOT: relay.let
func.func @keep_values_of_one_scope(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.log %x : (tensor<2xf32>) -> tensor<2xf32>
  %2 = scf.if %c -> (tensor<2xf32>) {
    %3 = relay.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %3 : tensor<2xf32>
  } else {
    scf.yield %1 : tensor<2xf32>
  }
  %4 = relay.add %1, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %4 : tensor<2xf32>
}

// It has a name.
// CHECK-LABEL: func.func @keep_names
// CHECK: relay.let
// CHECK-NOT: relay.let
func.func @keep_names(%x: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %c -> (tensor<2xf32>) {
    %2 = relay.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    scf.yield %2 : tensor<2xf32>
  } else {
    scf.yield %a : tensor<2xf32>
  }
  return %1 : tensor<2xf32>
}

// A name that gets another one before it is used is known by the last, where that is known.
// CHECK-LABEL: func.func @last_name
// CHECK-NEXT: [[A:%.*]] = relay.let %x :
// CHECK-NEXT: [[I:%.*]] = scf.if %c
// CHECK-NEXT:   scf.yield [[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   [[B:%.*]] = relay.let %y :
// CHECK-NEXT:   scf.yield [[B]]
// CHECK-NEXT: }
// CHECK-NEXT: [[S:%.*]] = relay.add [[A]], %y :
// CHECK-NEXT: relay.add [[I]], [[S]] :
func.func @last_name(%x: tensor<2xf32>, %y: tensor<2xf32>, %c: i1) -> tensor<2xf32> {
  %a = relay.let %x : (tensor<2xf32>) -> tensor<2xf32>
  %0 = scf.if %c -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    %b = relay.let %y : (tensor<2xf32>) -> tensor<2xf32>
    scf.yield %y : tensor<2xf32>
  }
  %1 = relay.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = relay.add %0, %1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// What is used before is so where it is visited before: by a let in front.
// CHECK-LABEL: func.func @keep_first_name
// CHECK-NEXT: [[E:%.*]] = relay.exp %x :
// CHECK-NEXT: [[N:%.*]] = relay.let [[E]] :
// CHECK-NEXT: relay.let %x :
// CHECK-NEXT: relay.add [[N]], %x :
func.func @keep_first_name(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %n = relay.let %0 : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %n, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// What stands in front of the second name and is visited behind it uses that.
// CHECK-LABEL: func.func @visited_later
// CHECK-NEXT: [[A:%.*]] = relay.let %x :
// CHECK-NEXT: [[E:%.*]] = relay.exp [[A]] :
// CHECK-NEXT: func.return [[E]]
func.func @visited_later(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %a = relay.let %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
