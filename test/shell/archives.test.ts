/** Compressed files and archives: zstd, xz, bzip2 and gzip, alone and with tar. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

async function run(code: string, policy = {}, files: Record<string, Uint8Array> = {}) {
  await using sandbox = await createSandbox({ runtime: 'bash', policy });
  for (const [name, bytes] of Object.entries(files)) await sandbox.writeFile(name, bytes);
  return await sandbox.execute(code);
}

/** The text "hello, world" and a line feed, compressed by the programs of Debian. */
const HELLO = {
  zst: 'KLUv/SQNaQAAaGVsbG8sIHdvcmxkCkwf+fE=',
  xz: '/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAMaGVsbG8sIHdvcmxkCgAAAAB7RlqByRK46gABJQ1xGcS2H7bzfQEAAAAABFla',
  bz2: 'QlpoOTFBWSZTWVSkl4QAAALRgAAQQAQGRJCAIAAxADAgaGIASdSyHz8XckU4UJBUpJeE',
};

describe('compressed files', () => {
  test.each([
    ['zstd', 'unzstd', 'zstdcat', 'zst'],
    ['xz', 'unxz', 'xzcat', 'xz'],
    ['bzip2', 'bunzip2', 'bzcat', 'bz2'],
    ['gzip', 'gunzip', 'zcat', 'gz'],
  ])('%s compresses, %s and %s decompress', async (compress, decompress, print, suffix) => {
    const { stdout } = await run(`seq 20000 > a; sum=$(md5sum < a); ${compress} -k a; wc -c < a.${suffix}
${print} a.${suffix} | md5sum | grep -q "$sum" && echo printed; mv a b; ${decompress} a.${suffix}; cmp a b && echo same
printf 'in a pipe\\n' | ${compress} | ${decompress}`);
    const [size, ...rest] = stdout.trim().split('\n');
    expect(Number(size)).toBeLessThan(70_000);
    expect(rest).toEqual(['printed', 'same', 'in a pipe']);
  });

  test.each(Object.entries(HELLO))('of other programs are read: %s', async (suffix, text) => {
    const print = { zst: 'zstdcat', xz: 'xzcat', bz2: 'bzcat' }[suffix];
    const files = { [`a.${suffix}`]: Buffer.from(text, 'base64') };
    expect((await run(`${print} a.${suffix}`, {}, files)).stdout).toBe('hello, world\n');
  });

  test('that are damaged fail', async () => {
    const { stdout } = await run(`seq 9999 > a; for c in zstd xz bzip2; do
$c < a > b; head -c 1000 b | $c -d > /dev/null 2>&1 && echo wrong $c; head -c 50 /dev/urandom | $c -dc > /dev/null 2>&1 && echo wrong $c
done; echo end`);
    expect(stdout).toBe('end\n');
  });
});

describe('tar', () => {
  test.each([
    '--zstd -cf a.tar.zst',
    '-caf a.tar.zst',
    '-cJf a.txz',
    '-cjf a.tbz',
    "-I 'zstd -5 -q' -cf a.tzst",
    '-czf a.tgz',
  ])('packs with %s and recognises the archive', async (options) => {
    const { stdout, stderr } = await run(`mkdir -p d/e; seq 3000 > d/e/f; tar ${options} d; tar -tf a.t*
mkdir out; tar -C out -xf a.t*; cmp d/e/f out/d/e/f && echo same; [ $(wc -c < a.t*) -lt 9000 ] && echo small`);
    expect([stdout, stderr]).toEqual(['d/\nd/e/\nd/e/f\nsame\nsmall\n', '']);
  });

  test('refuses a program with too many words', async () => {
    const { stderr, exit_code } = await run(`touch a; tar -I "gzip$(printf ' -1%.0s' {1..40})" -cf a.tgz a`);
    expect(stderr).toContain('too many words');
    expect(exit_code).toBe(2);
  });

  test.each(['lz4', 'lz', 'lzo', 'lzma', 'tlz', 'Z', 'taZ', 'br'])(
    '-a refuses .%s, which it cannot write',
    async (suffix) => {
      const { stdout, stderr, exit_code } = await run(
        `touch f; tar -acf a.tar.${suffix} f; echo $?; ls; exit 3`,
      );
      expect([stdout, exit_code]).toEqual(['2\nf\n', 3]);
      expect(stderr).toBe(`tar: cannot compress to .${suffix}: use .gz, .bz2, .xz or .zst\n`);
    },
  );

  test('-a chooses the compression by the last suffix, and none for others', async () => {
    const { stdout, stderr } = await run(`touch f; for s in a.gz a.taz a.tz2 a.xz a.tzst a.zip a b.c/a .gz; do
mkdir -p b.c; tar -acf $s f; echo $s $(head -c 2 $s | od -An -tx1); done`);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      'a.gz 1f 8b',
      'a.taz 1f 8b',
      'a.tz2 42 5a',
      'a.xz fd 37',
      'a.tzst 28 b5',
      'a.zip 66 00',
      'a 66 00',
      'b.c/a 66 00',
      '.gz 1f 8b',
      '',
    ]);
  });
});

describe('tar --transform', () => {
  test('goes on behind an empty match', async () => {
    const { stdout } =
      await run(`mkdir d; touch d/xé; tar -cf a.tar --transform 's/x*/-/g' d/xé; tar -tf a.tar
tar -cf a.tar --transform 's/q*$/!/g;s//<&>/2' d/xé; tar -tf a.tar`);
    expect(stdout).toBe('-d-/--é\n<>d/xé!\n');
  });

  test('limits the length of names', async () => {
    const { stderr, exit_code } = await run(
      `touch aaaa; tar -cf a.tar $(printf -- '--transform=s/a/aaaa/g %.0s' {1..20}) aaaa`,
    );
    expect([stderr, exit_code]).toEqual(['tar: --transform: name too long\n', 2]);
  });

  test('does not pack or unpack a file that has no name left', async () => {
    const { stdout, stderr } =
      await run(`mkdir -p d o; touch d/a d/b; tar -cf a.tar d; tar -cf b.tar --transform 's,.*a$,,' d
echo $?; tar -tf b.tar | sort; tar -xf a.tar -C o --transform 's,.*a$,,'; echo $?; find o | sort`);
    expect(stdout).toBe('2\nd/\nd/b\n2\no\no/d\no/d/b\n');
    expect(stderr.match(/'d\/a' has no name after --transform/g)).toHaveLength(2);
  });
});

describe('archive bombs', () => {
  test.each(['zstd', 'xz -1', 'bzip2'])('of %s stop at the limit of the workspace', async (program) => {
    const { stdout } = await run(
      `head -c 10000000 /dev/zero | ${program} > bomb; ${program} -dc bomb > out 2> /dev/null || echo failed; echo $?; stat -c %s bomb`,
      { workspace_max_bytes: 4_000_000 },
    );
    expect(stdout).toMatch(/^failed\n0\n\d{2,5}\n$/);
  });

  test('cannot take more memory than the limit', async () => {
    // The frame asks for a window of 2 GiB.
    const frame = Buffer.from('28b52ffd00a80b0000', 'hex');
    const { stdout } = await run(
      'zstd -d --long=31 -c bomb > out 2> /dev/null || echo failed; echo end',
      {},
      {
        bomb: frame,
      },
    );
    expect(stdout).toBe('failed\nend\n');
  });
});

describe('split', () => {
  test('numbers its files and adds a suffix', async () => {
    const { stdout } = await run(
      'seq 10 > a; split -n 5 -d a part_; split --lines=4 --numeric-suffixes --additional-suffix=.txt a n; ls part_* n*; cat part_0?',
    );
    expect(stdout).toBe(
      `n00.txt\nn01.txt\nn02.txt\npart_00\npart_01\npart_02\npart_03\npart_04\n${[...Array(10).keys()].map((n) => `${n + 1}\n`).join('')}`,
    );
  });
});
