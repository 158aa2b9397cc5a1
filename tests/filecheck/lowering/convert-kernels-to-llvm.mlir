// RUN: xdsl-opt -p convert-kernels-to-llvm %s | filecheck %s
// RUN: xdsl-opt -p convert-kernels-to-llvm %s | xdsl-opt -p convert-kernels-to-llvm | filecheck %s
// RUN: xdsl-opt -p convert-kernels-to-llvm{triple=x86_64-unknown-linux-gnu} -t llvm %s | filecheck %s --check-prefix LLVM

// Kernel IR becomes the llvm dialect in one step, which the stock target prints as LLVM IR. What
// is converted stays as it is.

// Loops are tested at the top, for they may have no round; carried values are block arguments.
func.func @loop(%x: !llvm.ptr, %n: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %start = arith.constant dense<0.0> : vector<8xf32>
  %sum = scf.for %i = %zero to %n step %one iter_args(%s = %start) -> (vector<8xf32>) : i64 {
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %v = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
    %t = arith.addf %s, %v : vector<8xf32>
    scf.yield %t : vector<8xf32>
  }
  llvm.store %sum, %x {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
  func.return
}

// CHECK:      llvm.func internal @loop(%[[X:\w+]]: !llvm.ptr, %[[N:\w+]]: i64) {
// CHECK-NEXT:   %[[ZERO:\w+]] = llvm.mlir.constant(0) : i64
// CHECK-NEXT:   %[[ONE:\w+]] = llvm.mlir.constant(1) : i64
// CHECK-NEXT:   %[[START:\w+]] = llvm.mlir.constant(dense<0.000000e+00> : vector<8xf32>) : vector<8xf32>
// CHECK-NEXT:   llvm.br ^[[HEAD:\w+]](%[[ZERO]], %[[START]] : i64, vector<8xf32>)
// CHECK-NEXT: ^[[HEAD]](%[[I:\w+]]: i64, %[[S:\w+]]: vector<8xf32>):
// CHECK-NEXT:   %[[TEST:\w+]] = llvm.icmp "slt" %[[I]], %[[N]] : i64
// CHECK-NEXT:   llvm.cond_br %[[TEST]], ^[[BODY:\w+]], ^[[END:\w+]]
// CHECK-NEXT: ^[[BODY]]:
// CHECK-NEXT:   %[[P:\w+]] = llvm.getelementptr %[[X]][%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:   %[[V:\w+]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-NEXT:   %[[T:\w+]] = llvm.fadd %[[S]], %[[V]] : vector<8xf32>
// CHECK-NEXT:   %[[NEXT:\w+]] = llvm.add %[[I]], %[[ONE]] : i64
// CHECK-NEXT:   llvm.br ^[[HEAD]](%[[NEXT]], %[[T]] : i64, vector<8xf32>)
// CHECK-NEXT: ^[[END]]:
// CHECK-NEXT:   llvm.store %[[S]], %[[X]] {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK-NEXT:   llvm.return
// CHECK-NEXT: }

// LLVM:      target triple = "x86_64-unknown-linux-gnu"
// LLVM:      define void @"loop"(ptr %{{.*}}, i64 %{{.*}})
// LLVM:        phi  i64
// LLVM:        phi  <8 x float>
// LLVM:        fadd <8 x float>
// LLVM:        store <8 x float> {{.*}}, align 4

// Both branches of a condition pass its results on.
func.func @condition(%x: !llvm.ptr, %c: i1, %a: f32) {
  %r = scf.if %c -> (f32) {
    scf.yield %a : f32
  } else {
    %b = arith.negf %a : f32
    scf.yield %b : f32
  }
  llvm.store %r, %x {alignment = 4 : i64} : f32, !llvm.ptr
  func.return
}

// CHECK-NEXT: llvm.func internal @condition(%[[X:\w+]]: !llvm.ptr, %[[C:\w+]]: i1, %[[A:\w+]]: f32) {
// CHECK-NEXT:   llvm.cond_br %[[C]], ^[[THEN:\w+]], ^[[ELSE:\w+]]
// CHECK-NEXT: ^[[THEN]]:
// CHECK-NEXT:   llvm.br ^[[END:\w+]](%[[A]] : f32)
// CHECK-NEXT: ^[[ELSE]]:
// CHECK-NEXT:   %[[B:\w+]] = llvm.fneg %[[A]] : f32
// CHECK-NEXT:   llvm.br ^[[END]](%[[B]] : f32)
// CHECK-NEXT: ^[[END]](%[[R:\w+]]: f32):
// CHECK-NEXT:   llvm.store %[[R]], %[[X]]
// CHECK-NEXT:   llvm.return
// CHECK-NEXT: }

// Math operations are intrinsics of LLVM; functions that it has no vector code for have been
// written out before.
func.func @functions(%x: !llvm.ptr, %i: i64) {
  %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<2xf32>
  %sqrt = math.sqrt %v : vector<2xf32>
  %max = arith.maximumf %sqrt, %v : vector<2xf32>
  %max_i = arith.maxsi %i, %i : i64
  %scalar = vector.broadcast %max_i : i64 to vector<2xi64>
  llvm.store %max, %x {alignment = 4 : i64} : vector<2xf32>, !llvm.ptr
  llvm.store %scalar, %x {alignment = 8 : i64} : vector<2xi64>, !llvm.ptr
  func.return
}

// CHECK-NEXT: llvm.func internal @functions(
// CHECK:        %[[V:\w+]] = llvm.load {{.*}} -> vector<2xf32>
// CHECK-NEXT:   %[[SQRT:\w+]] = llvm.call_intrinsic "llvm.sqrt.v2f32"(%[[V]])
// CHECK-NEXT:   llvm.call_intrinsic "llvm.maximum.v2f32"(%[[SQRT]], %[[V]])
// CHECK:        llvm.call_intrinsic "llvm.smax.i64"
// CHECK:        llvm.return

// The entry function is the one that others may call.
func.func @entry(%x: !llvm.ptr, %n: i64) attributes {xrelay.entry} {
  func.call @loop(%x, %n) : (!llvm.ptr, i64) -> ()
  func.return
}

// CHECK:      llvm.func @entry(%[[X:\w+]]: !llvm.ptr, %[[N:\w+]]: i64) attributes {xrelay.entry} {
// CHECK-NEXT:   llvm.call @loop(%[[X]], %[[N]]) : (!llvm.ptr, i64) -> ()
// CHECK-NEXT:   llvm.return
// CHECK-NEXT: }

// LLVM:      define void @"entry"
// LLVM-NEXT: {
// LLVM:        call ccc void @"loop"(
