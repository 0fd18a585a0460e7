/**
 * The opcode table: everything this folder knows about each instruction. Consecutive opcodes that are alike share a row.
 * Source: the WebAssembly core specification 2.0 plus the threads, tail call and both exception handling proposals.
 * Invariant: an instruction that has no row, or whose row is `refused`, never reaches the output.
 */

/** The words of a text. */
type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

const LAYOUTS = [
  'none local i32 memarg label func global block labels catches type_table tag types heap table',
  'table2 elem elem_table data data_memory memory memory2 memarg_lane lane i64 bytes4 bytes8',
  'bytes16 refused',
] as const;

export type Immediate = Words<(typeof LAYOUTS)[number]>;

/**
 * Layouts of the bytes after the opcode; decode-instruction.ts has one reader for each. The lookup tables refer to them
 * by index, because the decoder reads millions of instructions and comparing strings is too slow.
 */
export const IMMEDIATES = LAYOUTS.flatMap((text) => text.split(' ')) as readonly Immediate[];

/**
 * Bulk instructions do an amount of work n given by the i32 on top of the stack. Their fuel is the fixed cost plus
 * (n << left) >>> right: 1 unit per 8 bytes moved, 8192 units per new memory page (64 KiB), 1 unit per table element.
 */
export const WEIGHTS = {
  bytes: { left: 0, right: 3 },
  pages: { left: 13, right: 0 },
  elements: { left: 0, right: 0 },
} as const;

type Weight = keyof typeof WEIGHTS;

/** `prefix` is 0 for one-byte opcodes. `note` is the weight of a bulk instruction or the reason for a refusal. */
export type OpcodeRow = readonly [
  prefix: number,
  code: number,
  name: string,
  immediate: Immediate,
  cost: number,
  note?: string,
];

const RELAXED_SIMD = 'nondeterministic relaxed SIMD';

/** Consecutive opcodes that differ only in their names: the first opcode, the layout, the cost, the names, the note. */
type OpcodeRun = readonly [
  prefix: number,
  first: number,
  immediate: Immediate,
  cost: number,
  names: string,
  note?: string,
];

const OPCODE_RUNS: readonly OpcodeRun[] = [
  // MVP, sign extension, reference types, tail calls, both exception proposals
  [0x00, 0x00, 'none', 0, 'unreachable nop'],
  [0x00, 0x02, 'block', 0, 'block loop'],
  [0x00, 0x04, 'block', 1, 'if'],
  [0x00, 0x05, 'none', 0, 'else'],
  [0x00, 0x06, 'block', 0, 'try'],
  [0x00, 0x07, 'tag', 0, 'catch'],
  [0x00, 0x08, 'tag', 1, 'throw'],
  [0x00, 0x09, 'label', 1, 'rethrow'],
  [0x00, 0x0a, 'none', 1, 'throw_ref'],
  [0x00, 0x0b, 'none', 0, 'end'],
  [0x00, 0x0c, 'label', 1, 'br br_if'],
  [0x00, 0x0e, 'labels', 1, 'br_table'],
  [0x00, 0x0f, 'none', 0, 'return'],
  [0x00, 0x10, 'func', 1, 'call'],
  [0x00, 0x11, 'type_table', 1, 'call_indirect'],
  [0x00, 0x12, 'func', 1, 'return_call'],
  [0x00, 0x13, 'type_table', 1, 'return_call_indirect'],
  [0x00, 0x14, 'refused', 1, 'call_ref return_call_ref', 'typed function references'],
  [0x00, 0x18, 'label', 0, 'delegate'],
  [0x00, 0x19, 'none', 0, 'catch_all drop'],
  [0x00, 0x1b, 'none', 1, 'select'],
  [0x00, 0x1c, 'types', 1, 'select_t'],
  [0x00, 0x1f, 'catches', 0, 'try_table'],
  [0x00, 0x20, 'local', 1, 'local.get local.set local.tee'],
  [0x00, 0x23, 'global', 1, 'global.get global.set'],
  [0x00, 0x25, 'table', 1, 'table.get table.set'],
  [0x00, 0x28, 'memarg', 1, 'i32.load i64.load f32.load f64.load i32.load8_s i32.load8_u i32.load16_s'],
  [0x00, 0x2f, 'memarg', 1, 'i32.load16_u i64.load8_s i64.load8_u i64.load16_s i64.load16_u i64.load32_s'],
  [0x00, 0x35, 'memarg', 1, 'i64.load32_u i32.store i64.store f32.store f64.store i32.store8 i32.store16'],
  [0x00, 0x3c, 'memarg', 1, 'i64.store8 i64.store16 i64.store32'],
  [0x00, 0x3f, 'memory', 1, 'memory.size'],
  [0x00, 0x40, 'memory', 1, 'memory.grow', 'pages'],
  [0x00, 0x41, 'i32', 1, 'i32.const'],
  [0x00, 0x42, 'i64', 1, 'i64.const'],
  [0x00, 0x43, 'bytes4', 1, 'f32.const'],
  [0x00, 0x44, 'bytes8', 1, 'f64.const'],
  [0x00, 0x45, 'none', 1, 'i32.eqz i32.eq i32.ne i32.lt_s i32.lt_u i32.gt_s i32.gt_u i32.le_s i32.le_u'],
  [0x00, 0x4e, 'none', 1, 'i32.ge_s i32.ge_u i64.eqz i64.eq i64.ne i64.lt_s i64.lt_u i64.gt_s i64.gt_u'],
  [0x00, 0x57, 'none', 1, 'i64.le_s i64.le_u i64.ge_s i64.ge_u f32.eq f32.ne f32.lt f32.gt f32.le f32.ge'],
  [0x00, 0x61, 'none', 1, 'f64.eq f64.ne f64.lt f64.gt f64.le f64.ge i32.clz i32.ctz i32.popcnt i32.add'],
  [0x00, 0x6b, 'none', 1, 'i32.sub i32.mul i32.div_s i32.div_u i32.rem_s i32.rem_u i32.and i32.or i32.xor'],
  [0x00, 0x74, 'none', 1, 'i32.shl i32.shr_s i32.shr_u i32.rotl i32.rotr i64.clz i64.ctz i64.popcnt i64.add'],
  [0x00, 0x7d, 'none', 1, 'i64.sub i64.mul i64.div_s i64.div_u i64.rem_s i64.rem_u i64.and i64.or i64.xor'],
  [0x00, 0x86, 'none', 1, 'i64.shl i64.shr_s i64.shr_u i64.rotl i64.rotr f32.abs f32.neg f32.ceil f32.floor'],
  [0x00, 0x8f, 'none', 1, 'f32.trunc f32.nearest f32.sqrt f32.add f32.sub f32.mul f32.div f32.min f32.max'],
  [0x00, 0x98, 'none', 1, 'f32.copysign f64.abs f64.neg f64.ceil f64.floor f64.trunc f64.nearest f64.sqrt'],
  [0x00, 0xa0, 'none', 1, 'f64.add f64.sub f64.mul f64.div f64.min f64.max f64.copysign i32.wrap_i64'],
  [0x00, 0xa8, 'none', 1, 'i32.trunc_f32_s i32.trunc_f32_u i32.trunc_f64_s i32.trunc_f64_u i64.extend_i32_s'],
  [0x00, 0xad, 'none', 1, 'i64.extend_i32_u i64.trunc_f32_s i64.trunc_f32_u i64.trunc_f64_s i64.trunc_f64_u'],
  [0x00, 0xb2, 'none', 1, 'f32.convert_i32_s f32.convert_i32_u f32.convert_i64_s f32.convert_i64_u'],
  [0x00, 0xb6, 'none', 1, 'f32.demote_f64 f64.convert_i32_s f64.convert_i32_u f64.convert_i64_s'],
  [0x00, 0xba, 'none', 1, 'f64.convert_i64_u f64.promote_f32 i32.reinterpret_f32 i64.reinterpret_f64'],
  [0x00, 0xbe, 'none', 1, 'f32.reinterpret_i32 f64.reinterpret_i64 i32.extend8_s i32.extend16_s'],
  [0x00, 0xc2, 'none', 1, 'i64.extend8_s i64.extend16_s i64.extend32_s'],
  [0x00, 0xd0, 'heap', 1, 'ref.null'],
  [0x00, 0xd1, 'none', 1, 'ref.is_null'],
  [0x00, 0xd2, 'func', 1, 'ref.func'],
  [0x00, 0xd3, 'refused', 1, 'ref.eq', 'garbage collection'],
  [0x00, 0xd4, 'refused', 1, 'ref.as_non_null br_on_null br_on_non_null', 'typed function references'],
  [0x00, 0xfb, 'refused', 1, 'gc', 'garbage collection'],
  // Prefix 0xfc: saturating conversion, bulk memory, table operations
  [0xfc, 0x00, 'none', 1, 'i32.trunc_sat_f32_s i32.trunc_sat_f32_u i32.trunc_sat_f64_s i32.trunc_sat_f64_u'],
  [0xfc, 0x04, 'none', 1, 'i64.trunc_sat_f32_s i64.trunc_sat_f32_u i64.trunc_sat_f64_s i64.trunc_sat_f64_u'],
  [0xfc, 0x08, 'data_memory', 1, 'memory.init', 'bytes'],
  [0xfc, 0x09, 'data', 1, 'data.drop'],
  [0xfc, 0x0a, 'memory2', 1, 'memory.copy', 'bytes'],
  [0xfc, 0x0b, 'memory', 1, 'memory.fill', 'bytes'],
  [0xfc, 0x0c, 'elem_table', 1, 'table.init', 'elements'],
  [0xfc, 0x0d, 'elem', 1, 'elem.drop'],
  [0xfc, 0x0e, 'table2', 1, 'table.copy', 'elements'],
  [0xfc, 0x0f, 'table', 1, 'table.grow', 'elements'],
  [0xfc, 0x10, 'table', 1, 'table.size'],
  [0xfc, 0x11, 'table', 1, 'table.fill', 'elements'],
  // Prefix 0xfd: SIMD
  [0xfd, 0x00, 'memarg', 1, 'v128.load v128.load8x8_s v128.load8x8_u v128.load16x4_s v128.load16x4_u'],
  [0xfd, 0x05, 'memarg', 1, 'v128.load32x2_s v128.load32x2_u v128.load8_splat v128.load16_splat'],
  [0xfd, 0x09, 'memarg', 1, 'v128.load32_splat v128.load64_splat v128.store'],
  [0xfd, 0x0c, 'bytes16', 1, 'v128.const i8x16.shuffle'],
  [0xfd, 0x0e, 'none', 1, 'i8x16.swizzle i8x16.splat i16x8.splat i32x4.splat i64x2.splat f32x4.splat'],
  [0xfd, 0x14, 'none', 1, 'f64x2.splat'],
  [0xfd, 0x15, 'lane', 1, 'i8x16.extract_lane_s i8x16.extract_lane_u i8x16.replace_lane'],
  [0xfd, 0x18, 'lane', 1, 'i16x8.extract_lane_s i16x8.extract_lane_u i16x8.replace_lane i32x4.extract_lane'],
  [0xfd, 0x1c, 'lane', 1, 'i32x4.replace_lane i64x2.extract_lane i64x2.replace_lane f32x4.extract_lane'],
  [0xfd, 0x20, 'lane', 1, 'f32x4.replace_lane f64x2.extract_lane f64x2.replace_lane'],
  [0xfd, 0x23, 'none', 1, 'i8x16.eq i8x16.ne i8x16.lt_s i8x16.lt_u i8x16.gt_s i8x16.gt_u i8x16.le_s'],
  [0xfd, 0x2a, 'none', 1, 'i8x16.le_u i8x16.ge_s i8x16.ge_u i16x8.eq i16x8.ne i16x8.lt_s i16x8.lt_u'],
  [0xfd, 0x31, 'none', 1, 'i16x8.gt_s i16x8.gt_u i16x8.le_s i16x8.le_u i16x8.ge_s i16x8.ge_u i32x4.eq'],
  [0xfd, 0x38, 'none', 1, 'i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u i32x4.le_s i32x4.le_u'],
  [0xfd, 0x3f, 'none', 1, 'i32x4.ge_s i32x4.ge_u f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge'],
  [0xfd, 0x47, 'none', 1, 'f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge v128.not v128.and'],
  [0xfd, 0x4f, 'none', 1, 'v128.andnot v128.or v128.xor v128.bitselect v128.any_true'],
  [0xfd, 0x54, 'memarg_lane', 1, 'v128.load8_lane v128.load16_lane v128.load32_lane v128.load64_lane'],
  [0xfd, 0x58, 'memarg_lane', 1, 'v128.store8_lane v128.store16_lane v128.store32_lane v128.store64_lane'],
  [0xfd, 0x5c, 'memarg', 1, 'v128.load32_zero v128.load64_zero'],
  [0xfd, 0x5e, 'none', 1, 'f32x4.demote_f64x2_zero f64x2.promote_low_f32x4 i8x16.abs i8x16.neg i8x16.popcnt'],
  [0xfd, 0x63, 'none', 1, 'i8x16.all_true i8x16.bitmask i8x16.narrow_i16x8_s i8x16.narrow_i16x8_u'],
  [0xfd, 0x67, 'none', 1, 'f32x4.ceil f32x4.floor f32x4.trunc f32x4.nearest i8x16.shl i8x16.shr_s'],
  [0xfd, 0x6d, 'none', 1, 'i8x16.shr_u i8x16.add i8x16.add_sat_s i8x16.add_sat_u i8x16.sub i8x16.sub_sat_s'],
  [0xfd, 0x73, 'none', 1, 'i8x16.sub_sat_u f64x2.ceil f64x2.floor i8x16.min_s i8x16.min_u i8x16.max_s'],
  [0xfd, 0x79, 'none', 1, 'i8x16.max_u f64x2.trunc i8x16.avgr_u i16x8.extadd_pairwise_i8x16_s'],
  [0xfd, 0x7d, 'none', 1, 'i16x8.extadd_pairwise_i8x16_u i32x4.extadd_pairwise_i16x8_s'],
  [0xfd, 0x7f, 'none', 1, 'i32x4.extadd_pairwise_i16x8_u i16x8.abs i16x8.neg i16x8.q15mulr_sat_s'],
  [0xfd, 0x83, 'none', 1, 'i16x8.all_true i16x8.bitmask i16x8.narrow_i32x4_s i16x8.narrow_i32x4_u'],
  [0xfd, 0x87, 'none', 1, 'i16x8.extend_low_i8x16_s i16x8.extend_high_i8x16_s i16x8.extend_low_i8x16_u'],
  [0xfd, 0x8a, 'none', 1, 'i16x8.extend_high_i8x16_u i16x8.shl i16x8.shr_s i16x8.shr_u i16x8.add'],
  [0xfd, 0x8f, 'none', 1, 'i16x8.add_sat_s i16x8.add_sat_u i16x8.sub i16x8.sub_sat_s i16x8.sub_sat_u'],
  [0xfd, 0x94, 'none', 1, 'f64x2.nearest i16x8.mul i16x8.min_s i16x8.min_u i16x8.max_s i16x8.max_u'],
  [0xfd, 0x9b, 'none', 1, 'i16x8.avgr_u i16x8.extmul_low_i8x16_s i16x8.extmul_high_i8x16_s'],
  [0xfd, 0x9e, 'none', 1, 'i16x8.extmul_low_i8x16_u i16x8.extmul_high_i8x16_u i32x4.abs i32x4.neg'],
  [0xfd, 0xa3, 'none', 1, 'i32x4.all_true i32x4.bitmask'],
  [0xfd, 0xa7, 'none', 1, 'i32x4.extend_low_i16x8_s i32x4.extend_high_i16x8_s i32x4.extend_low_i16x8_u'],
  [0xfd, 0xaa, 'none', 1, 'i32x4.extend_high_i16x8_u i32x4.shl i32x4.shr_s i32x4.shr_u i32x4.add'],
  [0xfd, 0xb1, 'none', 1, 'i32x4.sub'],
  [0xfd, 0xb5, 'none', 1, 'i32x4.mul i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i32x4.dot_i16x8_s'],
  [0xfd, 0xbc, 'none', 1, 'i32x4.extmul_low_i16x8_s i32x4.extmul_high_i16x8_s i32x4.extmul_low_i16x8_u'],
  [0xfd, 0xbf, 'none', 1, 'i32x4.extmul_high_i16x8_u i64x2.abs i64x2.neg'],
  [0xfd, 0xc3, 'none', 1, 'i64x2.all_true i64x2.bitmask'],
  [0xfd, 0xc7, 'none', 1, 'i64x2.extend_low_i32x4_s i64x2.extend_high_i32x4_s i64x2.extend_low_i32x4_u'],
  [0xfd, 0xca, 'none', 1, 'i64x2.extend_high_i32x4_u i64x2.shl i64x2.shr_s i64x2.shr_u i64x2.add'],
  [0xfd, 0xd1, 'none', 1, 'i64x2.sub'],
  [0xfd, 0xd5, 'none', 1, 'i64x2.mul i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s'],
  [0xfd, 0xdc, 'none', 1, 'i64x2.extmul_low_i32x4_s i64x2.extmul_high_i32x4_s i64x2.extmul_low_i32x4_u'],
  [0xfd, 0xdf, 'none', 1, 'i64x2.extmul_high_i32x4_u f32x4.abs f32x4.neg'],
  [0xfd, 0xe3, 'none', 1, 'f32x4.sqrt f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max'],
  [0xfd, 0xea, 'none', 1, 'f32x4.pmin f32x4.pmax f64x2.abs f64x2.neg'],
  [0xfd, 0xef, 'none', 1, 'f64x2.sqrt f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max'],
  [0xfd, 0xf6, 'none', 1, 'f64x2.pmin f64x2.pmax i32x4.trunc_sat_f32x4_s i32x4.trunc_sat_f32x4_u'],
  [0xfd, 0xfa, 'none', 1, 'f32x4.convert_i32x4_s f32x4.convert_i32x4_u i32x4.trunc_sat_f64x2_s_zero'],
  [0xfd, 0xfd, 'none', 1, 'i32x4.trunc_sat_f64x2_u_zero f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u'],
  [0xfd, 0x100, 'refused', 1, 'i8x16.relaxed_swizzle i32x4.relaxed_trunc_f32x4_s', RELAXED_SIMD],
  [0xfd, 0x102, 'refused', 1, 'i32x4.relaxed_trunc_f32x4_u i32x4.relaxed_trunc_f64x2_s_zero', RELAXED_SIMD],
  [0xfd, 0x104, 'refused', 1, 'i32x4.relaxed_trunc_f64x2_u_zero f32x4.relaxed_madd', RELAXED_SIMD],
  [0xfd, 0x106, 'refused', 1, 'f32x4.relaxed_nmadd f64x2.relaxed_madd f64x2.relaxed_nmadd', RELAXED_SIMD],
  [0xfd, 0x109, 'refused', 1, 'i8x16.relaxed_laneselect i16x8.relaxed_laneselect', RELAXED_SIMD],
  [0xfd, 0x10b, 'refused', 1, 'i32x4.relaxed_laneselect i64x2.relaxed_laneselect', RELAXED_SIMD],
  [0xfd, 0x10d, 'refused', 1, 'f32x4.relaxed_min f32x4.relaxed_max f64x2.relaxed_min', RELAXED_SIMD],
  [0xfd, 0x110, 'refused', 1, 'f64x2.relaxed_max i16x8.relaxed_q15mulr_s', RELAXED_SIMD],
  [0xfd, 0x112, 'refused', 1, 'i16x8.relaxed_dot_i8x16_i7x16_s', RELAXED_SIMD],
  [0xfd, 0x113, 'refused', 1, 'i32x4.relaxed_dot_i8x16_i7x16_add_s', RELAXED_SIMD],
  // Prefix 0xfe: threads and atomics
  [0xfe, 0x00, 'memarg', 1, 'memory.atomic.notify memory.atomic.wait32 memory.atomic.wait64'],
  [0xfe, 0x03, 'memory', 1, 'atomic.fence'],
  [0xfe, 0x10, 'memarg', 1, 'i32.atomic.load i64.atomic.load i32.atomic.load8_u i32.atomic.load16_u'],
  [0xfe, 0x14, 'memarg', 1, 'i64.atomic.load8_u i64.atomic.load16_u i64.atomic.load32_u i32.atomic.store'],
  [0xfe, 0x18, 'memarg', 1, 'i64.atomic.store i32.atomic.store8 i32.atomic.store16 i64.atomic.store8'],
  [0xfe, 0x1c, 'memarg', 1, 'i64.atomic.store16 i64.atomic.store32 i32.atomic.rmw.add i64.atomic.rmw.add'],
  [0xfe, 0x20, 'memarg', 1, 'i32.atomic.rmw8.add_u i32.atomic.rmw16.add_u i64.atomic.rmw8.add_u'],
  [0xfe, 0x23, 'memarg', 1, 'i64.atomic.rmw16.add_u i64.atomic.rmw32.add_u i32.atomic.rmw.sub'],
  [0xfe, 0x26, 'memarg', 1, 'i64.atomic.rmw.sub i32.atomic.rmw8.sub_u i32.atomic.rmw16.sub_u'],
  [0xfe, 0x29, 'memarg', 1, 'i64.atomic.rmw8.sub_u i64.atomic.rmw16.sub_u i64.atomic.rmw32.sub_u'],
  [0xfe, 0x2c, 'memarg', 1, 'i32.atomic.rmw.and i64.atomic.rmw.and i32.atomic.rmw8.and_u'],
  [0xfe, 0x2f, 'memarg', 1, 'i32.atomic.rmw16.and_u i64.atomic.rmw8.and_u i64.atomic.rmw16.and_u'],
  [0xfe, 0x32, 'memarg', 1, 'i64.atomic.rmw32.and_u i32.atomic.rmw.or i64.atomic.rmw.or'],
  [0xfe, 0x35, 'memarg', 1, 'i32.atomic.rmw8.or_u i32.atomic.rmw16.or_u i64.atomic.rmw8.or_u'],
  [0xfe, 0x38, 'memarg', 1, 'i64.atomic.rmw16.or_u i64.atomic.rmw32.or_u i32.atomic.rmw.xor'],
  [0xfe, 0x3b, 'memarg', 1, 'i64.atomic.rmw.xor i32.atomic.rmw8.xor_u i32.atomic.rmw16.xor_u'],
  [0xfe, 0x3e, 'memarg', 1, 'i64.atomic.rmw8.xor_u i64.atomic.rmw16.xor_u i64.atomic.rmw32.xor_u'],
  [0xfe, 0x41, 'memarg', 1, 'i32.atomic.rmw.xchg i64.atomic.rmw.xchg i32.atomic.rmw8.xchg_u'],
  [0xfe, 0x44, 'memarg', 1, 'i32.atomic.rmw16.xchg_u i64.atomic.rmw8.xchg_u i64.atomic.rmw16.xchg_u'],
  [0xfe, 0x47, 'memarg', 1, 'i64.atomic.rmw32.xchg_u i32.atomic.rmw.cmpxchg i64.atomic.rmw.cmpxchg'],
  [0xfe, 0x4a, 'memarg', 1, 'i32.atomic.rmw8.cmpxchg_u i32.atomic.rmw16.cmpxchg_u i64.atomic.rmw8.cmpxchg_u'],
  [0xfe, 0x4d, 'memarg', 1, 'i64.atomic.rmw16.cmpxchg_u i64.atomic.rmw32.cmpxchg_u'],
];

export const OPCODES: readonly OpcodeRow[] = OPCODE_RUNS.flatMap(
  ([prefix, first, immediate, cost, names, ...note]) =>
    names.split(' ').map((name, i): OpcodeRow => [prefix, first + i, name, immediate, cost, ...note]),
);

/**
 * Prefixed opcodes are mapped into one dense number range, so that the lookup tables below are flat arrays. The number
 * of a one-byte opcode is that byte. Instructions behind the GC prefix 0xfb are refused as a whole by its own row.
 */
const PREFIX_BASE: Readonly<Record<number, number>> = { 0: 0, 252: 0x100, 253: 0x200, 254: 0x400 };
const OPCODE_COUNT = 0x500;

/** Whether the byte is followed by a second opcode byte. */
export const isPrefix = (byte: number): boolean => byte >= 0xfc && byte <= 0xfe;

/** The dense number of an opcode; -1 if it is out of range. */
export function opcodeOf(prefix: number, code: number): number {
  const base = PREFIX_BASE[prefix];
  if (base === undefined || code < 0) return -1;
  return code < (prefix === 0xfd ? 0x200 : 0x100) ? base + code : -1;
}

const rows: (OpcodeRow | undefined)[] = new Array(OPCODE_COUNT).fill(undefined);
for (const row of OPCODES) rows[opcodeOf(row[0], row[1])] = row;

/** The row of an opcode, or undefined if there is no such instruction. */
export const rowOf = (opcode: number): OpcodeRow | undefined => rows[opcode];

const opcodeByName = new Map(OPCODES.map((row) => [row[2], opcodeOf(row[0], row[1])]));

/** Opcodes by instruction name. Names are separated by spaces. Throws if a name is not in the table. */
export function opcodesNamed<const Names extends string>(
  ...names: Names[]
): Readonly<Record<Words<Names>, number>> {
  const found = names
    .flatMap((text) => text.split(' '))
    .map((name) => {
      const opcode = opcodeByName.get(name);
      if (opcode === undefined) throw new RangeError(`unknown instruction name: ${name}`);
      return [name, opcode] as const;
    });
  return Object.fromEntries(found) as Record<Words<Names>, number>;
}

/** The highest control opcode. Every instruction that affects control flow is at or below it. */
export const LAST_CONTROL = opcodesNamed('try_table').try_table;

/** Fixed fuel cost of each opcode. */
export const COST = Uint8Array.from({ length: OPCODE_COUNT }, (_, opcode) => rows[opcode]?.[4] ?? 0);

/** Value in IMMEDIATE_OF for opcodes without an instruction. */
export const NO_INSTRUCTION = 255;

/** Index into IMMEDIATES for each opcode, or NO_INSTRUCTION. */
export const IMMEDIATE_OF = Uint8Array.from({ length: OPCODE_COUNT }, (_, opcode) => {
  const row = rows[opcode];
  return row === undefined ? NO_INSTRUCTION : IMMEDIATES.indexOf(row[3]);
});

/** The weight of a bulk instruction; undefined for other instructions. */
export function weightOf(opcode: number): Weight | undefined {
  const row = rows[opcode];
  const note = row?.[5];
  return row?.[3] !== 'refused' && note !== undefined ? (note as Weight) : undefined;
}

/** 1 for bulk instructions, whose cost depends on an operand. */
export const IS_BULK = Uint8Array.from({ length: OPCODE_COUNT }, (_, opcode) => (weightOf(opcode) ? 1 : 0));
