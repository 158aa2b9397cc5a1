// RUN: xrelay-opt -p 'store-rounded{shared-rank=1}' %s | filecheck %s
// RUN: xrelay-opt -p 'store-rounded{shared-rank=1},store-rounded{shared-rank=1}' %s | filecheck %s
// RUN: xrelay-opt -p 'store-rounded{moves="reshape" shared-rank=1}' %s | filecheck %s --check-prefix SOME
// RUN: xrelay-opt -p store-rounded %s | filecheck %s --check-prefix BOTH
// RUN: xrelay-opt -p 'store-rounded{dtype="float16"}' %s | filecheck %s --check-prefix OTHER
// RUN: not xrelay-opt -p 'store-rounded{dtype="bfloat"}' %s 2>&1 | filecheck %s --check-prefix TYPE
// RUN: not xrelay-opt -p 'store-rounded{moves="exp"}' %s 2>&1 | filecheck %s --check-prefix MOVES

// TYPE: pass 'store-rounded': 'dtype' is 'bfloat', expected one of float16, bfloat16; did you mean 'bfloat16'?
// MOVES: pass 'store-rounded': 'moves' has 'exp', which computes: expected some of broadcast_to,

// Casts move in front of what moves elements, and other users take what was rounded.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: [[S:%.*]] = relay.cast [[E]] {dtype = bf16}
// CHECK-NEXT: [[T:%.*]] = relay.transpose [[S]] {{.*}} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[T]] {{.*}} : (tensor<3x2xbf16>) -> tensor<6xbf16>
// CHECK-NEXT: [[W:%.*]] = relay.cast [[T]] {dtype = f32}
// CHECK-NEXT: [[L:%.*]] = relay.log [[W]]
// CHECK-NEXT: return [[R]], [[L]]
// BOTH-LABEL: func.func @shared
// BOTH-NEXT: [[E:%.*]] = relay.exp %x
// BOTH-NEXT: [[T:%.*]] = relay.transpose [[E]] {{.*}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// BOTH-NEXT: [[S:%.*]] = relay.cast [[T]] {dtype = bf16}
// BOTH-NEXT: [[R:%.*]] = relay.reshape [[S]]
// BOTH-NEXT: [[L:%.*]] = relay.log [[T]]
// SOME-LABEL: func.func @shared
// SOME-NEXT: [[E:%.*]] = relay.exp %x
// SOME-NEXT: [[T:%.*]] = relay.transpose [[E]] {{.*}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// SOME-NEXT: [[S:%.*]] = relay.cast [[T]] {dtype = bf16}
// SOME-NEXT: relay.reshape [[S]]
// OTHER-LABEL: func.func @shared
// OTHER: [[R:%.*]] = relay.reshape {{.*}} : (tensor<3x2xf32>) -> tensor<6xf32>
// OTHER-NEXT: relay.cast [[R]] {dtype = bf16}
func.func @shared(%x: tensor<2x3xf32>) -> (tensor<6xbf16>, tensor<3x2xf32>) {
  %0 = relay.exp %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = relay.transpose %0 {axes = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = relay.reshape %1 {newshape = array<i64: 6>} : (tensor<3x2xf32>) -> tensor<6xf32>
  %3 = relay.cast %2 {dtype = bf16} : (tensor<6xf32>) -> tensor<6xbf16>
  %4 = relay.log %1 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %3, %4 : tensor<6xbf16>, tensor<3x2xf32>
}

// Of images of products that meet, the one that is computed last is stored rounded; not what another one uses as well, and
// no products of others than rounded operands.
// BOTH-LABEL: func.func @meeting
// BOTH-NEXT: [[P:%.*]] = relay.nn.conv2d %x, %v
// BOTH-NEXT: [[M:%.*]] = relay.nn.conv2d %x, %w
// BOTH-NEXT: [[S:%.*]] = relay.add [[P]], %b
// BOTH-NEXT: [[N:%.*]] = relay.negative [[M]]
// BOTH-NEXT: [[R:%.*]] = relay.cast [[N]] {dtype = bf16}
// BOTH-NEXT: [[W:%.*]] = relay.cast [[R]] {dtype = f32}
// BOTH-NEXT: [[A:%.*]] = relay.add [[W]], [[S]]
// BOTH-NEXT: [[D:%.*]] = relay.add [[A]], [[A]]
// BOTH-NEXT: [[O:%.*]] = relay.nn.conv2d %x, %v
// BOTH-NEXT: [[F:%.*]] = relay.nn.conv2d %y, %u
// BOTH-NEXT: [[E:%.*]] = relay.add [[D]], [[O]]
// BOTH-NEXT: relay.add [[E]], [[F]]
// BOTH-NEXT: return
func.func @meeting(%x: tensor<1x8x5x5xbf16>, %y: tensor<1x8x5x5xf32>, %v: tensor<8x8x1x1xbf16>, %w: tensor<8x8x1x1xbf16>, %u: tensor<8x8x1x1xf32>, %b: tensor<8x1x1xf32>) -> (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) {
  %0 = relay.nn.conv2d %x, %v {out_dtype = f32} : (tensor<1x8x5x5xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w {out_dtype = f32} : (tensor<1x8x5x5xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x5x5xf32>
  %2 = relay.add %0, %b : (tensor<1x8x5x5xf32>, tensor<8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %3 = relay.negative %1 : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %4 = relay.add %3, %2 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %5 = relay.add %4, %4 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %6 = relay.nn.conv2d %x, %v {out_dtype = f32} : (tensor<1x8x5x5xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x5x5xf32>
  %7 = relay.nn.conv2d %y, %u : (tensor<1x8x5x5xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x5x5xf32>
  %8 = relay.add %5, %6 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  %9 = relay.add %8, %7 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %9, %6 : tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>
}

// Not in another block, whose operators no kernel of a product has.
// BOTH-LABEL: func.func @branch
// BOTH: scf.if
// BOTH-NEXT: relay.add
// BOTH-NEXT: scf.yield
func.func @branch(%x: tensor<1x8x5x5xbf16>, %v: tensor<8x8x1x1xbf16>, %w: tensor<8x8x1x1xbf16>, %c: i1, %y: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  %0 = relay.nn.conv2d %x, %v {out_dtype = f32} : (tensor<1x8x5x5xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x5x5xf32>
  %1 = relay.nn.conv2d %x, %w {out_dtype = f32} : (tensor<1x8x5x5xbf16>, tensor<8x8x1x1xbf16>) -> tensor<1x8x5x5xf32>
  %2 = scf.if %c -> (tensor<1x8x5x5xf32>) {
    %3 = relay.add %0, %1 : (tensor<1x8x5x5xf32>, tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
    scf.yield %3 : tensor<1x8x5x5xf32>
  } else {
    scf.yield %y : tensor<1x8x5x5xf32>
  }
  return %2 : tensor<1x8x5x5xf32>
}

// One cast of a value, behind it; the fields of what is joined are cast.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: [[S:%.*]] = relay.cast [[E]] {dtype = bf16}
// CHECK-NEXT: [[Y:%.*]] = relay.cast %y {dtype = bf16}
// CHECK-NEXT: [[T:%.*]] = relay.tuple [[S]], [[Y]]
// CHECK-NEXT: [[C:%.*]] = relay.concatenate [[T]]
// CHECK-SAME: -> tensor<5xbf16>
// CHECK-NEXT: return [[C]], [[S]]
func.func @joined(%x: tensor<2xf32>, %y: tensor<3xf32>) -> (tensor<5xbf16>, tensor<2xbf16>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.tuple %0, %y : (tensor<2xf32>, tensor<3xf32>) -> tuple<tensor<2xf32>, tensor<3xf32>>
  %2 = relay.concatenate %1 : (tuple<tensor<2xf32>, tensor<3xf32>>) -> tensor<5xf32>
  %3 = relay.cast %2 {dtype = bf16} : (tensor<5xf32>) -> tensor<5xbf16>
  %4 = relay.cast %0 {dtype = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
  return %3, %4 : tensor<5xbf16>, tensor<2xbf16>
}

// Results, parameters and what only moves these stay as they are for others.
// CHECK-LABEL: func.func @keep_results
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: [[S:%.*]] = relay.cast [[E]] {dtype = bf16}
// CHECK-NEXT: return [[E]], [[S]]
func.func @keep_results(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xbf16>) {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.cast %0 {dtype = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
  return %0, %1 : tensor<2xf32>, tensor<2xbf16>
}

// CHECK-LABEL: func.func @keep_parameters
// CHECK-NEXT: [[R:%.*]] = relay.reshape %x
// CHECK-NEXT: [[S:%.*]] = relay.cast [[R]] {dtype = bf16}
// CHECK-NEXT: [[L:%.*]] = relay.log [[R]]
// CHECK-NEXT: return [[S]], [[L]]
func.func @keep_parameters(%x: tensor<2x3xf32>) -> (tensor<6xbf16>, tensor<6xf32>) {
  %0 = relay.reshape %x {newshape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %1 = relay.cast %0 {dtype = bf16} : (tensor<6xf32>) -> tensor<6xbf16>
  %2 = relay.log %0 : (tensor<6xf32>) -> tensor<6xf32>
  return %1, %2 : tensor<6xbf16>, tensor<6xf32>
}

// CHECK-LABEL: func.func @keep_bodies
// CHECK: [[E:%.*]] = relay.exp
// CHECK-NEXT: [[R:%.*]] = relay.reshape [[E]]
// CHECK-NEXT: [[S:%.*]] = relay.cast [[R]]
func.func @keep_bodies(%x: tensor<2x3xf32>) -> tensor<6xbf16> {
  %0 = relay.composite "own" %x : (tensor<2x3xf32>) -> tensor<6xbf16> {
  ^bb0(%a: tensor<2x3xf32>):
    %1 = relay.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = relay.reshape %1 {newshape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
    %3 = relay.cast %2 {dtype = bf16} : (tensor<6xf32>) -> tensor<6xbf16>
    relay.yield %3 : tensor<6xbf16>
  }
  return %0 : tensor<6xbf16>
}

// Casts in two branches stay there.
// CHECK-LABEL: func.func @keep_branches
// CHECK-NEXT: [[E:%.*]] = relay.exp %x
// CHECK-NEXT: scf.if
// CHECK-NEXT: relay.cast [[E]] {dtype = bf16}
// CHECK: else
// CHECK-NEXT: relay.cast [[E]] {dtype = bf16}
func.func @keep_branches(%x: tensor<2xf32>, %c: i1) -> tensor<2xbf16> {
  %0 = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = scf.if %c -> (tensor<2xbf16>) {
    %2 = relay.cast %0 {dtype = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
    scf.yield %2 : tensor<2xbf16>
  } else {
    %3 = relay.cast %0 {dtype = bf16} : (tensor<2xf32>) -> tensor<2xbf16>
    %4 = relay.abs %3 : (tensor<2xbf16>) -> tensor<2xbf16>
    scf.yield %4 : tensor<2xbf16>
  }
  return %1 : tensor<2xbf16>
}
