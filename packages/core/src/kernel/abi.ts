/**
 * Constants and struct layouts that all guests share: those of musl's generic headers and of WASI preview 1. Struct
 * offsets are computed from field lists.
 */

/** Flags of open(2). */
export const O = {
  ACCMODE: 3,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  TRUNC: 0o1000,
  APPEND: 0o2000,
  NONBLOCK: 0o4000,
  DIRECTORY: 0o200000,
  NOFOLLOW: 0o400000,
  CLOEXEC: 0o2000000,
} as const;

/** Flags of the *at system calls. */
export const AT = { FDCWD: -100, SYMLINK_NOFOLLOW: 0x100, REMOVEDIR: 0x200, EMPTY_PATH: 0x1000 } as const;

export const SEEK = { SET: 0, CUR: 1, END: 2 } as const;

// Not a character device of WASI, because the C library treats those as terminals.
const CHARACTER_DEVICE = { mode: 0o020000, dirent: 2, wasi: 0 } as const;

/** By kind of node: the file type bits of st_mode, d_type of getdents64, and the filetype of WASI. */
export const FILE_TYPE = {
  file: { mode: 0o100000, dirent: 8, wasi: 4 },
  dir: { mode: 0o040000, dirent: 4, wasi: 3 },
  symlink: { mode: 0o120000, dirent: 10, wasi: 7 },
  stream: { mode: 0o010000, dirent: 1, wasi: 0 },
  null: CHARACTER_DEVICE,
  zero: CHARACTER_DEVICE,
  full: CHARACTER_DEVICE,
  random: CHARACTER_DEVICE,
  results: CHARACTER_DEVICE,
  pipe: { mode: 0o010000, dirent: 1, wasi: 0 },
} as const;

type Width = 'u8' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64';
const SIZE: Record<Width, number> = { u8: 1, u16: 2, i32: 4, u32: 4, i64: 8, u64: 8 };

export interface StructLayout<F extends string> {
  readonly size: number;
  /** Offset of each field. */
  readonly at: Readonly<Record<F, number>>;
}

/** Computes the layout of a C struct with natural alignment. */
export function structLayout<const F extends string>(
  fields: readonly (readonly [F, Width])[],
): StructLayout<F> {
  const at = {} as Record<F, number>;
  let offset = 0;
  let widest = 1;
  for (const [name, width] of fields) {
    const size = SIZE[width];
    offset = Math.ceil(offset / size) * size;
    at[name] = offset;
    offset += size;
    widest = Math.max(widest, size);
  }
  return { size: Math.ceil(offset / widest) * widest, at };
}

/** WASI's fdstat. */
export const FDSTAT = structLayout([
  ['filetype', 'u8'],
  ['flags', 'u16'],
  ['rights', 'u64'],
  ['inheriting', 'u64'],
]);
