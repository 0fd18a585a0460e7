/** Wheels that attack the host when a user adds them: archives, imports of host functions, and work for the compiler. */
import type { Writer } from '@llm-wasm-sandbox/core/internal';
import type { AttackTable, PackageAttack } from '../attack.ts';
import { type HostileLibrary, hostileLibrary, hostileWheel } from '../hostile-wheel.ts';
import { type ZipMember, zipBytes } from '../hostile-zip.ts';
import { slug } from './rows.ts';

const MiB = 1024 * 1024;
const SOURCE: ZipMember = { name: 'attack/__init__.py', data: 'x = 1\n' };

type ArchiveRow = readonly [name: string, members: () => readonly ZipMember[], refused: RegExp];

const ARCHIVES: readonly ArchiveRow[] = [
  ['a small archive with large zeros', () => [zeros('z', 32 * MiB)], /50 times its size/],
  ['many members with zeros', () => many(16, (i) => zeros(`z${i}`, 2 * MiB)), /50 times its size/],
  ['a member that promises 4 GiB', () => [{ ...SOURCE, method: 8, size: 0xffff_ffff }], /exceeds 256 MiB/],
  ['members that promise 1 GiB together', () => many(5, promised), /exceeds 512 MiB/],
  ['more than 20,000 members', () => many(20_001, (i) => ({ name: `f${i}`, data: '' })), /20,001 members/],
  ['members that share their data', () => [SOURCE, { ...SOURCE, name: 'b.py', sameAs: 0 }], /overlaps/],
  ['a name twice', () => [SOURCE, { ...SOURCE, data: 'x = 2\n' }], /occurs twice/],
  ['a file that is a folder', () => [SOURCE, { ...SOURCE, name: 'attack' }], /a file and a folder/],
  ['a symbolic link', () => [{ ...SOURCE, mode: 0o120777, data: '/etc/passwd' }], /a link or a special file/],
  ['a named pipe', () => [{ ...SOURCE, mode: 0o010644 }], /a link or a special file/],
  ['a name above the folder', () => [{ ...SOURCE, name: '../pip.py' }], /not allowed/],
  ['an absolute name', () => [{ ...SOURCE, name: '/tmp/pip.py' }], /not allowed/],
  ['a name on a drive', () => [{ ...SOURCE, name: 'C:/pip.py' }], /not allowed/],
  ['a name with backslashes', () => [{ ...SOURCE, name: '..\\pip.py' }], /not allowed/],
  ['a name with a line end', () => [{ ...SOURCE, name: 'attack/a\nadded numpy 2.4.6.py' }], /not allowed/],
  ['a name that reverses text', () => [{ ...SOURCE, name: 'attack/\u202eyp.py' }], /not allowed/],
  ['two names of one member', () => [{ ...SOURCE, localName: 'other.py' }], /two different names/],
  ['more data than promised', () => [{ ...zeros('z', MiB), size: 10 }], /declared size/],
  ['less data than promised', () => [{ ...zeros('z', 10), size: MiB }], /does not match/],
  ['a wrong checksum', () => [{ ...SOURCE, crc: 1 }], /does not match/],
  [
    'a name in a hundred folders',
    () => [{ ...SOURCE, name: `${'a/'.repeat(100)}b.py` }],
    /more than 63 folders/,
  ],
  ['an encrypted member', () => [{ ...SOURCE, flags: 1 }], /encrypted/],
];

const zeros = (name: string, bytes: number): ZipMember => ({
  name,
  data: new Uint8Array(bytes),
  deflated: true,
});
const promised = (i: number): ZipMember => ({ name: `f${i}`, data: 'x', method: 8, size: 200 * MiB });
const many = (count: number, member: (i: number) => ZipMember) =>
  Array.from({ length: count }, (_, i) => member(i));

const header = (lines: string): ZipMember => ({
  name: 'attack-1.0.dist-info/METADATA',
  data: `Name: attack\n${lines}`,
});

type RecordRow = readonly [name: string, wheel: () => Uint8Array, refused: RegExp];

/** What the installation records of a wheel say. The padding makes the archive large enough for what it unpacks to. */
const RECORDS: readonly RecordRow[] = [
  [
    'a RECORD with 150 million lines',
    () =>
      zipBytes([
        { name: 'attack/padding', data: noise(3 * MiB) },
        {
          name: 'attack-1.0.dist-info/RECORD',
          data: new Uint8Array(150 * MiB).fill(0x0a),
          deflated: true,
        },
      ]),
    /its RECORD is too large/,
  ],
  [
    'a RECORD with 15 million lines',
    () =>
      zipBytes([
        SOURCE,
        { name: 'attack-1.0.dist-info/RECORD', data: new Uint8Array(15 * MiB).fill(0x0a), deflated: true },
      ]),
    /does not match its RECORD/,
  ],
  [
    'METADATA with a million fields',
    () => hostileWheel([SOURCE, header('a: b\n'.repeat(MiB))]),
    /header of more than 1 MiB/,
  ],
  [
    'METADATA with 6,000 requirements',
    () => hostileWheel([SOURCE, header('Requires-Dist: numpy>=1\n'.repeat(6000))]),
    /more than 5,000 requirements/,
  ],
];

/** Bytes that cannot be compressed. */
function noise(bytes: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length: bytes }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state >>> 24;
  });
}

/** Host functions with other types than theirs: numbers that are not 32-bit integers, and references. */
const IMPORTS: readonly (readonly [name: string, type: string])[] = [
  ['env.__syscall_poll', 'idi>i'],
  ['env.__syscall_poll', 'iij>i'],
  ['env.__syscall_poll', 'iid>i'],
  ['env.__syscall_dup3', 'idi>i'],
  ['env.__syscall_fcntl64', 'iii>j'],
  ['env.__syscall_openat', 'iiiE>i'],
  ['env.__syscall_ftruncate64', 'id>i'],
  ['env.__syscall_getdents64', 'iid>i'],
  ['env.emscripten_resize_heap', 'd>i'],
  ['env.emscripten_console_log', 'F>'],
  ['env._gmtime_js', 'ii>'],
  ['env.fetestexcept', 'i>j'],
  ['env.fetestexcept', 'i>ii'],
  ['env.feraiseexcept', 'i>F'],
  ['env.exit', 'd>'],
  ['env._dlopen_js', 'j>i'],
  ['env._PyEM_TrampolineCall_JS', 'iiij>i'],
  ['wasi_snapshot_preview1.fd_write', 'iidi>i'],
  ['wasi_snapshot_preview1.fd_read', 'iiji>i'],
  ['wasi_snapshot_preview1.fd_pread', 'iiidi>i'],
  ['wasi_snapshot_preview1.random_get', 'id>i'],
  ['wasi_snapshot_preview1.environ_get', 'ii>E'],
  ['wasi_snapshot_preview1.proc_exit', 'F>'],
];

type LibraryRow = readonly [name: string, library: HostileLibrary, refused: RegExp];

/** Instructions. */
const zero = (to: Writer) => to.u8(0x41).u8(0);
const skip = (to: Writer) => zero(to).u8(0x04).u8(0x40).u8(0x0b);
const times = (count: number, write: (to: Writer) => unknown) => (to: Writer) => {
  for (let i = 0; i < count; i++) write(to);
};
const nested = (opcode: number, depth: number) => (to: Writer) => {
  times(depth, () => to.u8(opcode).u8(0x40))(to);
  times(depth, () => to.u8(0x0b))(to);
};
const branchTable = (targets: number) => (to: Writer) => {
  zero(to.u8(0x02).u8(0x40))
    .u8(0x0e)
    .u32(targets - 1);
  times(targets, () => to.u8(0))(to);
  to.u8(0x0b);
};

const LIBRARIES: readonly LibraryRow[] = [
  ['one enormous function', { code: times(1_600_000, (to) => to.u8(0x01)) }, /bytes of code/],
  ['many locals', { locals: 40_000 }, /40000 locals/],
  ['locals at many branches', { locals: 2000, code: times(20_000, skip) }, /live values at branches/],
  ['many branches', { code: times(100_000, skip) }, /branches/],
  ['nested loops', { locals: 1000, code: nested(0x03, 1000) }, /live values at branches/],
  ['deeply nested blocks', { code: nested(0x02, 100_000) }, /nested blocks/],
  ['a large branch table', { code: branchTable(100_000) }, /branches/],
  ['a branch table with locals', { locals: 1000, code: branchTable(20_000) }, /live values at branches/],
  ['operands below many branches', { code: operands }, /live values at branches/],
  ['many calls', { code: times(100_000, (to) => to.u8(0x10).u8(0)) }, /branches/],
  ['many functions', { functions: 150_000 }, /150000 entries/],
  ['many parameters', { types: ['>', `${'i'.repeat(900)}>`] }, /900 parameters/],
  ['many results', { types: ['>', `>${'i'.repeat(900)}`] }, /900 results/],
  ['many types', { types: Array.from({ length: 100_000 }, () => '>') }, /100000 entries/],
  [
    'constructors with a parameter',
    { types: ['j>'], exportedAs: '__wasm_call_ctors' },
    /parameters or results/,
  ],
  ['a vector for an unknown function', { types: ['>', 'V>'], imports: 'env.unknown' }, /vectors/],
];

function operands(to: Writer): void {
  times(100_000, zero)(to);
  times(1000, skip)(to);
  times(100_000, () => to.u8(0x1a))(to);
}

const library = (source: HostileLibrary) => () =>
  hostileWheel([
    SOURCE,
    { name: 'attack/native.cpython-314-wasm32-emscripten.so', data: hostileLibrary(source), deflated: true },
  ]);

const OTHER_PACKAGE: PackageAttack = {
  name: 'metadata-of-another-package',
  wheel: () => hostileWheel([SOURCE, { name: 'numpy-2.4.6.dist-info/METADATA', data: 'Name: numpy\n' }]),
  refused: /another package/,
};

export const PACKAGES: AttackTable = {
  python: [
    OTHER_PACKAGE,
    ...ARCHIVES.map(
      ([name, members, refused]): PackageAttack => ({
        name: `archive-${slug(name)}`,
        wheel: () => zipBytes(members()),
        refused,
      }),
    ),
    ...RECORDS.map(
      ([name, wheel, refused]): PackageAttack => ({ name: `records-${slug(name)}`, wheel, refused }),
    ),
    ...IMPORTS.map(
      ([name, type]): PackageAttack => ({
        name: `import-${slug(name)}-${slug(type.replaceAll(/[A-Z]/g, (letter) => `${letter}ref`))}`,
        wheel: library({ types: ['>', type], imports: name }),
        refused: /with the type \S+ instead of/,
      }),
    ),
    ...LIBRARIES.map(
      ([name, source, refused]): PackageAttack => ({
        name: `library-${slug(name)}`,
        wheel: library(source),
        refused,
      }),
    ),
  ],
};
