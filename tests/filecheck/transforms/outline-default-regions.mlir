// RUN: xdsl-opt -p outline-default-regions %s | filecheck %s
// RUN: xdsl-opt -p outline-default-regions,outline-default-regions %s | filecheck %s
// RUN: xrelay-opt -p "outline-default-regions{function=other}" %s | filecheck %s --check-prefix OTHER
// RUN: xrelay-opt -p "outline-default-regions{function=calls}" %s | filecheck %s --check-prefix CALLS
// RUN: xrelay-opt -p "outline-default-regions{function=keep_calls}" %s | filecheck %s --check-prefix KEEP
// RUN: xrelay-opt -p "outline-default-regions{function=quantised}" %s | filecheck %s --check-prefix QUANT
// RUN: xrelay-opt -p "outline-default-regions{function=for_calls}" %s | filecheck %s --check-prefix FORCALLS
// RUN: xrelay-opt -p "outline-default-regions{function=in_tuple}" %s | filecheck %s --check-prefix INTUPLE
// RUN: xrelay-opt -p 'outline-default-regions{function="f{x}"}' %s | filecheck %s --check-prefix BRACES
// RUN: not xrelay-opt -p "outline-default-regions{function=nothing}" %s 2>&1 | filecheck %s --check-prefix NONE

// What does not wait for the call is taken before it, in one function, in whatever order it stands.
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %c = relay.constant dense<2.0> : tensor<f32>
  %0 = relay.exp %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @engine(%0) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = relay.multiply %1, %c : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %3 = relay.multiply %x, %c : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = relay.add %2, %3 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return %4, %1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %[[A:.*]], %[[B:.*]] = func.call @default_main_0(%{{.*}}) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
// CHECK-NEXT:    %[[C:.*]] = func.call @engine(%[[A]])
// CHECK-NEXT:    %[[D:.*]] = func.call @default_main_1(%[[C]], %[[B]])
// CHECK-NEXT:    func.return %[[D]], %[[C]]

func.func private @engine(%x: tensor<3xf32>) -> tensor<3xf32> attributes {Compiler = "engine"} {
  %0 = relay.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// Tuples are made where they are used, fields taken where the tuple is made.
func.func @other(%x: tensor<4xf32>) -> (tensor<6xf32>, tensor<2xf32>) {
  %0 = relay.split %x {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = relay.tuple_get_item %0[0] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %2 = relay.tuple_get_item %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %3 = func.call @pair(%1) : (tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>
  %4 = relay.tuple_get_item %3[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  %5 = relay.tuple %4, %2, %1 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>, tensor<2xf32>>
  %6 = relay.concatenate %5 : (tuple<tensor<2xf32>, tensor<2xf32>, tensor<2xf32>>) -> tensor<6xf32>
  func.return %6, %2 : tensor<6xf32>, tensor<2xf32>
}

func.func private @pair(%x: tensor<2xf32>) -> tuple<tensor<2xf32>, tensor<2xf32>>

// OTHER-LABEL: func.func @other(
// OTHER-NEXT:    %[[A:.*]], %[[B:.*]] = func.call @default_other_0(%{{.*}}) : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
// OTHER-NEXT:    %[[P:.*]] = func.call @pair(%[[A]])
// OTHER-NEXT:    %[[Q:.*]] = relay.tuple_get_item %[[P]][1]
// OTHER-NEXT:    %[[R:.*]] = func.call @default_other_1(%[[Q]], %[[B]], %[[A]])
// OTHER-NEXT:    func.return %[[R]], %[[B]]

// CHECK:       func.func private @default_main_0(
// CHECK-NEXT:    relay.constant dense<2.000000e+00>
// CHECK-NEXT:    relay.exp
// CHECK-NEXT:    relay.multiply
// CHECK-NEXT:    func.return
// CHECK:       func.func private @default_main_1(
// CHECK:         relay.multiply
// CHECK-NEXT:    relay.add

// OTHER:       func.func private @default_other_1(
// OTHER-NEXT:    relay.tuple
// OTHER-NEXT:    relay.concatenate

// NONE: error: pass 'outline-default-regions': there is no function @nothing of one block

// Calls of functions without effects (Primitive) are in no order: they run as soon as they can.
func.func @calls(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = func.call @pure(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = relay.exp %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = func.call @pure(%1) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = func.call @pure(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %4 = relay.exp %3 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %2, %4 : tensor<3xf32>, tensor<3xf32>
}
func.func private @pure(%x: tensor<3xf32>) -> tensor<3xf32> attributes {Compiler = "engine", Primitive = 1 : i32} {
  %0 = relay.tanh %x : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// CALLS-LABEL: func.func @calls(
// CALLS-NEXT:    %[[A:.*]] = func.call @pure(%x)
// CALLS-NEXT:    %[[B:.*]] = func.call @default_calls_0(%[[A]])
// CALLS-NEXT:    %[[C:.*]] = func.call @pure(%x)
// CALLS-NEXT:    %[[D:.*]] = func.call @default_calls_1(%[[C]])
// CALLS-NEXT:    %[[E:.*]] = func.call @pure(%[[B]])
// CALLS-NEXT:    func.return %[[E]], %[[D]]

// A function that only calls needs no other ones.
func.func @keep_calls(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @pure(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @engine(%0) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// KEEP-NOT:     @default_
// KEEP-LABEL: func.func @keep_calls(
// KEEP-NEXT:    %[[A:.*]] = func.call @pure(%x)
// KEEP-NEXT:    %[[B:.*]] = func.call @engine(%[[A]])
// KEEP-NEXT:    func.return %[[B]]
// KEEP-NOT:     @default_

// What is computed of quantised constants goes where it is used, and is computed for others once.
func.func @quantised(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %w = relay.constant dense<[1, 2, 3]> : tensor<3xi8>
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %w, %s, %z : (tensor<3xi8>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
  %1 = relay.negative %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = func.call @engine(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %3 = relay.multiply %2, %1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %4 = func.call @engine(%3) : (tensor<3xf32>) -> tensor<3xf32>
  %5 = relay.multiply %4, %0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %6 = func.call @engine(%0) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %5, %6 : tensor<3xf32>, tensor<3xf32>
}

// QUANT-LABEL: func.func @quantised(
// QUANT-NEXT:    %[[W:.*]] = func.call @default_quantised_0() : () -> tensor<3xf32>
// QUANT-NEXT:    %[[A:.*]] = func.call @engine(%{{.*}})
// QUANT-NEXT:    %[[B:.*]] = func.call @default_quantised_1(%[[A]])
// QUANT-NEXT:    %[[C:.*]] = func.call @engine(%[[B]])
// QUANT-NEXT:    %[[D:.*]] = func.call @default_quantised_2(%[[C]])
// QUANT-NEXT:    %[[E:.*]] = func.call @engine(%[[W]])
// QUANT-NEXT:    func.return %[[D]], %[[E]]
// QUANT:       func.func private @default_quantised_0() -> tensor<3xf32>
// QUANT:         relay.qnn.dequantize
// QUANT-NEXT:    func.return
// QUANT:       func.func private @default_quantised_1(
// QUANT:         relay.qnn.dequantize
// QUANT-NEXT:    relay.negative
// QUANT-NEXT:    relay.multiply
// QUANT:       func.func private @default_quantised_2(
// QUANT:         relay.qnn.dequantize
// QUANT-NEXT:    relay.multiply

// What calls alone use is computed once, with what it needs.
func.func @for_calls(%x: tensor<3xf32>) -> tensor<3xf32> {
  %w = relay.constant dense<[1, 2, 3]> : tensor<3xi8>
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %w, %s, %z : (tensor<3xi8>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
  %1 = relay.negative %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = func.call @engine(%1) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// FORCALLS-LABEL: func.func @for_calls(
// FORCALLS-NEXT:    %[[N:.*]] = func.call @default_for_calls_0() : () -> tensor<3xf32>
// FORCALLS-NEXT:    func.call @engine(%[[N]])
// FORCALLS:       func.func private @default_for_calls_0(
// FORCALLS:         relay.qnn.dequantize
// FORCALLS-NEXT:    relay.negative
// FORCALLS-NEXT:    func.return

// A tuple that has to stay keeps what it is made of.
func.func @in_tuple(%x: tensor<3xf32>) -> tensor<3xf32> {
  %w = relay.constant dense<[1, 2, 3]> : tensor<3xi8>
  %s = relay.constant dense<0.5> : tensor<f32>
  %z = relay.constant dense<0> : tensor<i32>
  %0 = relay.qnn.dequantize %w, %s, %z : (tensor<3xi8>, tensor<f32>, tensor<i32>) -> tensor<3xf32>
  %t = relay.tuple %0, %x : (tensor<3xf32>, tensor<3xf32>) -> tuple<tensor<?xf32>, tensor<3xf32>>
  %g = relay.tuple_get_item %t[0] : (tuple<tensor<?xf32>, tensor<3xf32>>) -> tensor<?xf32>
  %2 = func.call @any_length(%g) : (tensor<?xf32>) -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}
func.func private @any_length(%x: tensor<?xf32>) -> tensor<3xf32>

// INTUPLE-LABEL: func.func @in_tuple(
// INTUPLE-NEXT:    %[[N:.*]] = func.call @default_in_tuple_0() : () -> tensor<3xf32>
// INTUPLE-NEXT:    %[[T:.*]] = relay.tuple %[[N]], %{{.*}}
// INTUPLE-NEXT:    %[[G:.*]] = relay.tuple_get_item %[[T]][0]
// INTUPLE-NEXT:    func.call @any_length(%[[G]])

// A name is no format.
func.func @"f{x}"(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = relay.exp %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = func.call @engine(%0) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// BRACES-LABEL: func.func @"f{x}"(
// BRACES-NEXT:    %{{.*}} = func.call @"default_f{x}_0"(
