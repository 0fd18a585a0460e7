import { describe, expect, test } from 'vitest';
import { readZip, ZIP_LIMITS } from '../../packages/core/src/packages/read-zip.ts';
import { type ZipMember, zipBytes } from '../../tools/redteam/src/hostile-zip.ts';

const MiB = 1024 * 1024;
const a: ZipMember = { name: 'a.py', data: 'a = 1\n' };
const b: ZipMember = { name: 'b.py', data: 'b = 2\n' };

describe('zip archive', () => {
  test('contains stored and deflated files, empty ones and folders', () => {
    const zeros = new Uint8Array(MiB);
    const archive = zipBytes(
      [
        { name: 'p/', data: '', mode: 0o040755 },
        { ...a, mode: 0o100644 },
        { name: 'p/zeros', data: zeros, deflated: true },
        { name: 'empty', data: '' },
        { name: 'empty-deflated', data: '', deflated: true },
      ],
      { comment: 'a comment' },
    );
    const files = readZip(archive);
    expect(files.map(({ path, data }) => [path, data.length])).toEqual([
      ['a.py', 6],
      ['p/zeros', MiB],
      ['empty', 0],
      ['empty-deflated', 0],
    ]);
    expect(Buffer.from(files[0]!.data).toString()).toBe('a = 1\n');
    // One allocation of exactly the declared size, which threads share.
    expect(new Set(files.map(({ data }) => data.buffer)).size).toBe(1);
    expect(files[0]!.data.buffer.byteLength).toBe(MiB + 6);
  });

  const names = [
    '../x.py',
    '/x.py',
    'a/../../b.py',
    'C:/x.py',
    'a\\b.py',
    'a//b.py',
    './a.py',
    'a\0.py',
    'a\nb.py',
    '\u001b[31m.py',
    '\u202eb.py',
    '..',
    '',
  ];
  const deep = { name: `${'d/'.repeat(600)}x`, data: '' };
  test.each<[what: string, archive: Buffer, message: RegExp]>([
    ...names.map((name): [string, Buffer, RegExp] => [
      `the name ${JSON.stringify(name)}`,
      zipBytes([{ name, data: 'x' }]),
      /the name .* is not allowed/,
    ]),
    ['a long name', zipBytes([deep]), /more than 1024 bytes/],
    [
      'a name that is not text',
      zipBytes([{ ...a, name: 'a' }])
        .fill(0xff, 30, 31)
        .fill(0xff, 83, 84),
      /not UTF-8|damaged|missing/,
    ],
    ['a name twice', zipBytes([a, { ...a, data: 'other' }]), /"a\.py" occurs twice/],
    ['a name twice, once as a folder', zipBytes([a, { name: 'a.py/', data: '' }]), /occurs twice/],
    ['a file that is also a folder', zipBytes([a, { name: 'a.py/b', data: '' }]), /is a file and a folder/],
    ['a symbolic link', zipBytes([{ ...a, mode: 0o120777 }]), /"a\.py" is a link or a special file/],
    ['a device', zipBytes([{ ...a, mode: 0o060600 }]), /is a link or a special file/],
    ['an encrypted member', zipBytes([{ ...a, flags: 1 }]), /is encrypted/],
    ['an unknown method', zipBytes([{ ...a, method: 12 }]), /unknown method/],
    ['members that overlap', zipBytes([a, { ...a, name: 'b.py', sameAs: 0 }]), /"(a|b)\.py" overlaps/],
    ['another name in the header', zipBytes([{ ...a, localName: 'z.py' }]), /has two different names/],
    ['a folder with contents', zipBytes([{ name: 'd/', data: 'x' }]), /folder "d\/" has contents/],
    [
      'a smaller size than it has',
      zipBytes([{ name: 'z', data: new Uint8Array(99_999), deflated: true, size: 10 }]),
      /cannot be unpacked/,
    ],
    [
      'a larger size than it has',
      zipBytes([{ name: 'z', data: 'short', deflated: true, size: 4096 }]),
      /does not match its directory/,
    ],
    [
      'a size of zero',
      zipBytes([{ name: 'z', data: 'short', deflated: true, size: 0 }]),
      /cannot be unpacked|does not match/,
    ],
    ['two sizes of a stored member', zipBytes([{ ...a, size: 5 }]), /two different sizes/],
    ['a wrong checksum', zipBytes([{ ...a, crc: 1 }]), /does not match its directory/],
    ['data that is not deflated', zipBytes([{ ...a, method: 8 }]), /cannot be unpacked/],
    ['a member beyond the end', zipBytes([{ ...a, packed: 4000, size: 4000 }]), /is cut off/],
    ['more members than it lists', zipBytes([a, b], { count: 1 }), /extra bytes/],
    ['fewer members than it lists', zipBytes([a], { count: 9 }), /directory is cut off/],
    ['a directory elsewhere', zipBytes([a, b], { start: 3 }), /does not end where the archive ends/],
    [
      'data before the archive',
      Buffer.concat([Buffer.from('#!/bin/sh\n'), zipBytes([a])]),
      /does not end where/,
    ],
    ['data after the archive', Buffer.concat([zipBytes([a]), Buffer.from('x')]), /not a zip archive/],
    ['no archive at all', Buffer.from('print("hello")'), /not a zip archive/],
    ['nothing', Buffer.alloc(0), /not a zip archive/],
  ])('is rejected with %s', (_, archive, message) => {
    expect(() => readZip(archive)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringMatching(message) }),
    );
  });

  test('is rejected before anything is unpacked if its directory promises too much', () => {
    // The data is not what the directory says: an attempt to unpack it would fail with another message.
    const promises = (count: number, size: number) =>
      zipBytes(Array.from({ length: count }, (_, i) => ({ name: `f${i}`, data: 'x', method: 8, size })));
    const refused = (archive: Buffer, message: RegExp) => expect(() => readZip(archive)).toThrow(message);
    refused(promises(1, ZIP_LIMITS.memberBytes + 1), /"f0" exceeds 256 MiB/);
    refused(promises(1, 0xffff_ffff), /"f0" exceeds/);
    refused(promises(3, 200 * MiB), /all members together exceeds 512 MiB/);
    refused(promises(1, 20 * MiB), /more than 50 times its size/);
    refused(promises(ZIP_LIMITS.members + 1, 0), /20,001 members, and the limit is 20,000/);
  });

  test('is damaged or intact after any change of one byte', () => {
    const archive = zipBytes([a, { name: 'p/b', data: new Uint8Array(500), deflated: true }]);
    for (let at = 0; at < archive.length; at++) {
      const changed = Buffer.from(archive);
      changed[at]! ^= 0xff;
      try {
        readZip(changed);
      } catch (cause) {
        expect(cause).toMatchObject({ code: 'invalid_argument' });
      }
    }
  });
});
