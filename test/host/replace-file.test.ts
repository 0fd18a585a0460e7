import { linkSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceFileSync } from '../../packages/core/src/host/replace-file.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

describe('replacing a file', () => {
  it('replaces the content and the permissions, and not those of a hard link', () => {
    // The longest name that file systems accept.
    const path = join(folder, 'n'.repeat(255));
    replaceFileSync(path, 'old');
    linkSync(path, join(folder, 'link'));
    replaceFileSync(path, new Uint8Array([0x6e, 0x65, 0x77]), 0o600);
    expect([path, join(folder, 'link')].map((one) => readFileSync(one, 'utf8'))).toEqual(['new', 'old']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('leaves no file behind if it fails', () => {
    const parent = join(folder, 'parent');
    mkdirSync(join(parent, 'folder'), { recursive: true });
    expect(() => replaceFileSync(join(parent, 'folder'), 'text')).toThrow(/EISDIR|ENOTEMPTY|EEXIST|EPERM/);
    expect(() => replaceFileSync(join(parent, 'missing', 'file'), 'text')).toThrow('ENOENT');
    expect(readdirSync(parent)).toEqual(['folder']);
  });
});
