/** The programs zstd, xz and bzip2, without threads. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const sourcesIn = (root, folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.c'))
    .sort()
    .map((name) => join(folder, name));

async function build(toolchain, output, { name, files, flags, commands, licence, licenceFile }) {
  const folder = await toolchain.unpack(name);
  const objects = await toolchain.compile(name, files(folder), ['-Os', ...flags], folder);
  toolchain.link(output, objects);
  return { commands, licence, licenceText: readFileSync(join(folder, licenceFile), 'utf8') };
}

const ZSTD_CLI = ['zstdcli', 'util', 'timefn', 'fileio', 'fileio_asyncio'];
const ZSTD_DEFINES = ['NOBENCH', 'NODICT', 'NOTRACE', 'DISABLE_ASM', 'LEGACY_SUPPORT=0', 'NO_INLINE'];

export const buildZstd = (toolchain, output) =>
  build(toolchain, output, {
    name: 'zstd',
    files: (folder) => [
      ...ZSTD_CLI.map((name) => `programs/${name}.c`),
      ...['common', 'compress', 'decompress'].flatMap((part) => sourcesIn(folder, `lib/${part}`)),
    ],
    flags: ['-Ilib', ...ZSTD_DEFINES.map((define) => `-DZSTD_${define}`)],
    commands: ['zstd', 'unzstd', 'zstdcat'],
    licence: 'BSD-3-Clause',
    licenceFile: 'LICENSE',
  });

const XZ_FILTERS = ['LZMA1', 'LZMA2', 'DELTA', 'X86', 'ARM', 'ARMTHUMB', 'ARM64'];
const XZ_DEFINES = [
  ...['DECODERS', 'ENCODERS', 'CHECK_CRC32', 'CHECK_CRC64', 'CHECK_SHA256'],
  ...XZ_FILTERS.flatMap((filter) => [`ENCODER_${filter}`, `DECODER_${filter}`]),
  ...['HC3', 'HC4', 'BT2', 'BT3', 'BT4'].map((finder) => `MF_${finder}`),
  ...['STDBOOL_H', 'STDINT_H', 'INTTYPES_H', 'LIMITS_H', 'STRING_H', 'GETOPT_LONG', 'FUTIMENS', '_BOOL'],
  ...['MBRTOWC', 'WCWIDTH', 'DECL_PROGRAM_INVOCATION_NAME=0', 'STRUCT_STAT_ST_ATIM_TV_NSEC'],
];
/** Files that are for threads, for other machines, or that make the tables. */
const XZ_LEFT_OUT =
  /_mt\.c$|tablegen|_small\.c$|clmul_consts|outqueue|hardware_cputhreads|microlzma|lzip|ia64|powerpc|riscv|sparc/;
const XZ_SHARED = [
  'exit',
  'mbstr_fw',
  'mbstr_nonprint',
  'mbstr_width',
  'mbstr_wrap',
  'open_stdxxx',
  'physmem',
  'progname',
];
const XZ_INCLUDED = [
  'src/common',
  'src/liblzma/api',
  ...'common check lz rangecoder lzma delta simple'.split(' ').map((part) => `src/liblzma/${part}`),
];

export const buildXz = (toolchain, output) =>
  build(toolchain, output, {
    name: 'xz',
    files: (folder) => [
      ...sourcesIn(folder, 'src/xz'),
      ...XZ_SHARED.map((name) => `src/common/tuklib_${name}.c`),
      ...XZ_INCLUDED.slice(2)
        .flatMap((part) => sourcesIn(folder, part))
        .filter((file) => !XZ_LEFT_OUT.test(file)),
    ],
    flags: [
      ...XZ_INCLUDED.map((part) => `-I${part}`),
      ...XZ_DEFINES.map((define) => `-DHAVE_${define}`),
      ...['-DASSUME_RAM=128', '-DTUKLIB_SYMBOL_PREFIX=lzma_', '-DTUKLIB_PHYSMEM_SYSCONF', '-DLOCALEDIR=""'],
      ...[
        '-DPACKAGE="xz"',
        '-DPACKAGE_NAME="XZ Utils"',
        '-DPACKAGE_BUGREPORT="xz@tukaani.org"',
        '-DPACKAGE_URL="https://tukaani.org/xz/"',
      ],
    ],
    commands: ['xz', 'unxz', 'xzcat', 'lzma', 'unlzma', 'lzcat'],
    licence: '0BSD',
    licenceFile: 'COPYING.0BSD',
  });

const BZIP2 = ['blocksort', 'huffman', 'crctable', 'randtable', 'compress', 'decompress', 'bzlib', 'bzip2'];

export const buildBzip2 = (toolchain, output) =>
  build(toolchain, output, {
    name: 'bzip2',
    files: () => BZIP2.map((name) => `${name}.c`),
    flags: ['-D_FILE_OFFSET_BITS=64'],
    commands: ['bzip2', 'bunzip2', 'bzcat'],
    licence: 'bzip2-1.0.6',
    licenceFile: 'LICENSE',
  });
