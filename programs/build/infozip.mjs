/** zip and unzip of Info-ZIP. Both are in the C of 1989, without function prototypes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const OLD_C = [
  '-Os',
  '-std=gnu89',
  '-Wno-implicit-function-declaration',
  '-Wno-implicit-int',
  '-Wno-return-type',
  '-include',
  'unistd.h',
];
const COMMON = ['UNIX', 'HAVE_DIRENT_H', 'HAVE_TERMIOS_H', 'UNICODE_SUPPORT', 'LARGE_FILE_SUPPORT'];
const ZIP = 'zip zipfile zipup fileio util globals crypt ttyio crc32 deflate trees unix/unix';
const UNZIP = `unzip crc32 crypt envargs explode extract fileio globals inflate list match process ttyio ubz2err unreduce unshrink
  zipinfo unix/unix`;

async function build(toolchain, output, { name, files, defines, commands }) {
  const folder = await toolchain.unpack(name);
  const flags = [...OLD_C, '-I.', '-Iunix', ...[...COMMON, ...defines].map((define) => `-D${define}`)];
  const paths = files.split(/\s+/).map((file) => `${file}.c`);
  toolchain.link(output, await toolchain.compile(name, paths, flags, folder));
  return { commands, licence: 'Info-ZIP', licenceText: readFileSync(join(folder, 'LICENSE'), 'utf8') };
}

export const buildZip = (toolchain, output) =>
  build(toolchain, output, { name: 'zip', files: ZIP, defines: ['UIDGID_NOT_16BIT'], commands: ['zip'] });

export const buildUnzip = (toolchain, output) =>
  build(toolchain, output, {
    name: 'unzip',
    files: UNZIP,
    defines: ['NO_LCHMOD', 'NO_WORKING_ISPRINT', 'UNICODE_WCHAR', 'UTF8_MAYBE_NATIVE', 'DATE_FORMAT=DF_YMD'],
    commands: ['unzip', 'zipinfo'],
  });
