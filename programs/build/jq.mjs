/** jq with oniguruma, which its archive contains. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const JQ =
  `builtin bytecode compile execute jv jv_alloc jv_aux jv_dtoa jv_dtoa_tsd jv_file jv_parse jv_print jv_unicode lexer
  linker locfile main parser util`.split(/\s+/);
const DECIMAL = ['decContext', 'decNumber'];
const ONIGURUMA =
  `ascii onig_init regcomp regenc regerror regexec regext reggnu regparse regsyntax regtrav regversion st unicode
  unicode_fold1_key unicode_fold2_key unicode_fold3_key unicode_unfold_key utf8`.split(/\s+/);
/** What configure finds in this libc. */
const FEATURES =
  `ATEXIT GETTIMEOFDAY GMTIME_R ISATTY LIBONIG LOCALTIME_R MEMMEM PTHREAD PTHREAD_KEY_CREATE PTHREAD_ONCE SETLOCALE
  STRFTIME STRPTIME TIMEGM TM_TM_GMT_OFF`.split(/\s+/);
/** Functions of libm.h that this libc does not have, or that jq defines in another way. */
const NO_MATH = new Set(['pow10', 'gamma', 'drem', 'frexp', 'ldexp', 'lgamma_r']);
const ONIGURUMA_CONFIG = `#define HAVE_ALLOCA_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDINT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_UNISTD_H 1
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOIDP 4
#define STDC_HEADERS 1
#define PACKAGE "onig"
#define PACKAGE_VERSION "6.9.10"
#define VERSION "6.9.10"
`;

/** The bytes of a text as the initialiser of an array of char. */
const initialiser = (text) => [...Buffer.from(text)].map((byte) => `${byte},`).join(' ');

function mathFlags(folder) {
  const header = readFileSync(join(folder, 'src/libm.h'), 'utf8');
  const names = new Set([...header.matchAll(/LIBM_[A-Z]+\(\s*(\w+)/g)].map(([, name]) => name));
  return [...names].filter((name) => !NO_MATH.has(name)).map((name) => `-DHAVE_${name.toUpperCase()}=1`);
}

export async function buildJq(toolchain, output) {
  const folder = await toolchain.unpack('jq');
  const oniguruma = join(folder, 'vendor/oniguruma');
  writeFileSync(join(folder, 'src/config_opts.inc'), '#define JQ_CONFIG ""\n');
  writeFileSync(
    join(folder, 'src/builtin.inc'),
    initialiser(readFileSync(join(folder, 'src/builtin.jq'), 'utf8')),
  );
  writeFileSync(
    join(folder, 'src/no-tests.c'),
    'int jq_testsuite(void *a, int b, int c, char **d) { return 1; }\n',
  );
  writeFileSync(join(oniguruma, 'src/config.h'), ONIGURUMA_CONFIG);
  const include = ['.', 'src', 'vendor', 'vendor/decNumber', 'vendor/oniguruma/src'].map(
    (path) => `-I${path}`,
  );
  const defines = [
    '-DUSE_DECNUM=1',
    '-DDECUSE64=1',
    '-DIEEE_8087=1',
    ...FEATURES.map((name) => `-DHAVE_${name}=1`),
  ];
  const files = [
    ...[...JQ, 'no-tests'].map((name) => `src/${name}.c`),
    ...DECIMAL.map((name) => `vendor/decNumber/${name}.c`),
    ...ONIGURUMA.map((name) => `vendor/oniguruma/src/${name}.c`),
  ];
  const objects = await toolchain.compile(
    'jq',
    files,
    ['-O2', ...include, ...defines, ...mathFlags(folder)],
    folder,
  );
  toolchain.link(output, objects, { stack: 1_048_576 });
  const texts = [join(folder, 'COPYING'), join(oniguruma, 'COPYING')].map((file) =>
    readFileSync(file, 'utf8'),
  );
  return { commands: ['jq'], licence: 'MIT AND BSD-2-Clause AND ICU', licenceText: texts.join('\n') };
}
