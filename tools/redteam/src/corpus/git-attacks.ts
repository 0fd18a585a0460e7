/** Attacks with repositories: on the limits of a call, and on files that belong to git itself. git runs as processes of a shell. */
import type { ProgramAttack } from '../attack.ts';

const MiB = 1024 * 1024;
const POLICY = { fuel_budget: 3e9, timeout_seconds: 60, memory_bytes: 128 * MiB } as const;
const START = 'git init -q r; cd r; ';

/** Writes objects whose names are right and whose contents git itself would not write. */
const OBJECTS = `import hashlib, os, subprocess, zlib
def put(kind, body):
    data = b'%s %d\\0' % (kind, len(body)) + body
    name = hashlib.sha1(data).hexdigest()
    os.makedirs('.git/objects/' + name[:2], exist_ok=True)
    open('.git/objects/' + name[:2] + '/' + name[2:], 'wb').write(zlib.compress(data))
    return bytes.fromhex(name)
def check_out(tree):
    return subprocess.run(['git', 'read-tree', '--reset', '-u', tree.hex()], capture_output=True).returncode
blob = put(b'blob', b'evil\\n')
inner = put(b'tree', b'100644 config\\0' + blob)
`;

const python = (code: string) => `${START}python3 - <<'END'\n${OBJECTS}${code}\nEND\n`;

/** Runs to the limit. */
const endless = (name: string, code: string): ProgramAttack => ({
  name: `git-${name}`,
  code: START + code,
  policy: POLICY,
  outcomes: ['out_of_fuel', 'timeout'],
});

const prints = (name: string, code: string, stdout: string | RegExp): ProgramAttack => ({
  name: `git-${name}`,
  code,
  policy: POLICY,
  expect: { success: true, stdout },
});

export const GIT_ATTACKS: readonly ProgramAttack[] = [
  endless('monitor-without-end', "git config core.fsmonitor 'while :; do :; done;:'; git status"),
  endless(
    'hook-without-end',
    "printf '#!/bin/sh\\nwhile :; do :; done\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*; git commit --allow-empty -m a",
  ),
  endless(
    'filter-without-end',
    "git config filter.x.clean 'cat; while :; do :; done'; echo '* filter=x' > .gitattributes; git add .",
  ),
  endless(
    'regular-expression',
    "printf 'a%.0s' $(seq 3000) > f; git add f; while :; do git grep -E '(a*)*(a*)*b'; done",
  ),
  {
    name: 'git-alias-of-itself',
    code: `${START}git config alias.x y; git config alias.y x; git x; git config alias.z '!git z'; git z; echo $?`,
    policy: POLICY,
    outcomes: ['finished', 'process_limit'],
  },
  {
    name: 'git-object-that-unpacks-to-more-than-the-memory',
    code: `${START}python3 - <<'END'
import os, zlib
packer = zlib.compressobj(9, zlib.DEFLATED, -15)
head, zeros = b'blob ${200 * MiB}\\0', bytes(${MiB})
data = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
data += (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH)) * 200 + packer.flush()
check = zlib.adler32(head)
for _ in range(200): check = zlib.adler32(zeros, check)
os.makedirs('.git/objects/00')
open('.git/objects/00/' + '0' * 37 + '1', 'wb').write(b'\\x78\\xda' + data + check.to_bytes(4, 'big'))
END
name=$(printf %039d1 0); git cat-file -s $name; git diff $name $(git hash-object -w -t blob /dev/null); echo $?; git cat-file blob $name > ../copy; echo $?`,
    policy: { ...POLICY, fuel_budget: 8e9 },
    expect: { success: true, stdout: '209715200\n128\n128\n' },
  },
  prints(
    'headers-that-lie',
    `${START}printf 'PACK\\0\\0\\0\\2\\377\\377\\377\\377' | git index-pack --stdin; echo $?; printf 'DIRC\\0\\0\\0\\2\\377\\377\\377\\377' > .git/index; git status; echo $?`,
    '128\n128\n',
  ),
  prints(
    'paths-out-of-the-tree',
    `${python(`for name in [b'..', b'.git', b'.GIT', b'git~1', b'.git ', b'../x', b'a/../../x', b'']:
    print(check_out(put(b'tree', b'40000 ' + name + b'\\0' + inner)))`)}ls -A ..; grep -c evil .git/config; echo`,
    `${'128\n'.repeat(8)}r\n0\n\n`,
  ),
  prints(
    'files-through-a-link',
    `${python(`link = put(b'blob', b'/tmp')
check_out(put(b'tree', b'120000 a\\0' + link + b'40000 a\\0' + inner))`)}ls -A /tmp ..`,
    '..:\nr\n\n/tmp:\n',
  ),
  prints(
    'submodule-that-is-a-command',
    `${START}printf '[submodule "a"]\\n\\tpath = ../../x\\n\\turl = ext::sh -c touch%% /tmp/pwned\\n' > .gitmodules; git add .; git submodule update --init; git clone 'ext::sh -c touch% /tmp/pwned' y; git clone -- --upload-pack='touch /tmp/pwned' z; ls -A /tmp ..`,
    '..:\nr\n\n/tmp:\n',
  ),
  prints(
    'settings-of-the-system',
    'git config --system user.name x; rm -f /usr/lib/git-core/gitconfig; git config --system user.name; git config --system core.sshCommand x; echo $?',
    'root\n255\n',
  ),
];
