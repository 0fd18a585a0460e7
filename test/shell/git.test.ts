/**
 * git in the sandbox makes the same objects and prints the same as the git of this machine, and finds no way around the limits of
 * the sandbox. The commands print objects, not messages, which differ from version to version.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const START = `
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.com
export GIT_CONFIG_GLOBAL="$PWD/config" GIT_EDITOR=true
git config --global init.defaultBranch main
now=1767225600
tick() { now=$((now + 60)); export GIT_AUTHOR_DATE="$now +0100" GIT_COMMITTER_DATE="$now +0000"; }
save() { tick; git add -A && git commit -qm "$1"; }
history() { git log --format='%H %P %s' "$@"; git ls-files -s; }
git init -q r; cd r; seq 30 > n; mkdir d; echo "ä ö" > d/t; save base
git switch -qc side; sed -i 's/^3$/three/' n; save three
git switch -q main; sed -i 's/^28$/last/' n; save last
`;

const SCRIPTS: Readonly<Record<string, string>> = {
  merge:
    'tick; git merge -q side -m merged; history --graph; git diff HEAD^2; git show --format=%T:%an:%ci HEAD',
  'a conflict': `
    git switch -qc other main~1; sed -i 's/^28$/XXVIII/' n; save other
    git merge -q main >/dev/null; echo $?; git status --porcelain; git diff; git checkout -q --theirs n; save solved; history`,
  rebase: 'git switch -q side; tick; git rebase -q main; history',
  'rebase -i': `
    for i in 1 2 3; do echo $i > f$i; save "c$i"; done; tick
    GIT_SEQUENCE_EDITOR='sed -i -e 2s/pick/fixup/ -e 3s/pick/drop/' git rebase -q -i HEAD~3; history`,
  'stash, restore and reset': `
    echo dirty >> n; echo new > u; tick; git stash -q -u; git stash list --format=%H; git status --porcelain; git stash pop -q
    git status --porcelain; git restore n; git clean -fq; git reset -q --hard HEAD~1; history`,
  'tags and names': `
    git tag light; tick; git tag -a v1 -m one; git cat-file -p v1; git describe side; git show-ref; git for-each-ref --format='%(refname) %(objecttype)'
    git name-rev side; git rev-parse main~1 'v1^{tree}' ':/three'; git branch --contains v1`,
  blame:
    'git blame -s n; git log -L3,3:n --format=%H -s side; git shortlog -s side; git log -Sthree --all --format=%s',
  'patches by apply and am': `
    git diff main side > ../p; git apply --check ../p; git apply --index ../p; git diff --cached --stat; git reset -q --hard
    git format-patch -q --stdout main~1..side > ../m; tick; git am -q ../m; history; git diff --word-diff HEAD~1 -- n`,
  worktree: `
    git worktree add -q ../w side; (cd ../w; echo w > w; save w; history); git worktree list --porcelain | grep -c '^worktree'
    git worktree remove ../w; git worktree list | wc -l`,
  'cherry-pick and revert':
    'tick; git cherry-pick side >/dev/null; tick; git revert --no-edit HEAD >/dev/null; history',
  bisect: `
    for i in $(seq 9); do echo $i > b; save b$i; done; git bisect start -q HEAD main~9 >/dev/null
    git bisect run sh -c 'test $(cat b) -lt 6' | grep 'is the first'; git bisect reset -q; git bisect log 2>&1 | wc -l`,
  'grep and archive': `
    git grep -n -w last; git grep -c '[0-9]' side -- n; git archive main | tar t; git archive --format=zip main | wc -c
    git ls-tree -r --name-only side; git -c core.quotePath=false ls-files; git check-ignore -v x; git var GIT_AUTHOR_IDENT`,
  'gc and fsck': `
    tick; git merge -q side -m merged; git gc -q --prune=now; git fsck --strict 2>/dev/null; git count-objects -v | grep -E 'count|in-pack'
    git verify-pack -v .git/objects/pack/*.idx | grep -cE '(commit|tree|blob)'; git repack -qadf --depth=5; history; git rev-list --objects --all | sort`,
  hooks: `
    printf '#!/bin/sh\\necho "hook $(git diff --cached --name-only)"; test ! -e refuse\\n' > .git/hooks/pre-commit
    printf '#!/bin/sh\\necho "added by a hook" >> "$1"\\n' > .git/hooks/commit-msg; chmod +x .git/hooks/*
    echo h > h; save h 2>&1; git log -1 --format=%B; touch refuse; save refused 2>&1; echo $?; history`,
  'clone, fetch and push': `
    cd ..; git clone -q --bare r b; git clone -q b c; cd c; echo c > c; save c; git push -q origin main main:new; git -C ../b show-ref
    cd ../r; git remote add o ../b; git fetch -q o; git branch -r | grep -v HEAD; tick; git pull -q --no-rebase o main; history
    git push -q o :new --tags 2>/dev/null; git ls-remote o; git push -q --force o main~1:refs/heads/main; git -C ../b rev-parse main
    git -C ../c fetch -q; git -C ../c status --porcelain -b; git -C ../c reset -q --hard origin/main; git -C ../c log --format=%H`,
  'shallow clones and bundles': `
    cd ..; git clone -q --depth 1 "file://$PWD/r" s; git -C s log --format=%s; git -C s fetch -q --unshallow; git -C s log --format=%H
    git -C r bundle create -q ../bu --all; git clone -q bu v; git -C v branch -r; git clone -q --filter=blob:none --no-checkout "file://$PWD/r" p
    git -C p rev-list --objects --all --missing=print | grep -c '^?'; git archive --remote=r side | tar t; git clone -q --mirror r m; git -C m show-ref`,
  'hooks of the other side': `
    cd ..; git clone -q --bare r b; printf '#!/bin/sh\\ncat; echo no >&2; exit 1\\n' > b/hooks/pre-receive; chmod +x b/hooks/pre-receive
    cd r; echo x > x; save x; git push -q ../b main 2>&1 | grep -v hint | sed 's/ *$//'; git -C ../b rev-parse main; git fetch ../nowhere 2>&1 | head -1`,
  submodules: `
    cd ..; git init -q s; cd s; git -c protocol.file.allow=always submodule --quiet add ../r lib 2>/dev/null; save sub; history; git submodule status
    sed -i 's/url = .*/url = X/' .gitmodules; git diff --stat; git submodule foreach -q 'git rev-parse HEAD'; git checkout -q .gitmodules
    git -c protocol.file.allow=always clone -q --recurse-submodules . ../t 2>/dev/null; ls ../t/lib`,
  'attributes and filters': `
    git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo '*.up filter=up' > .gitattributes; printf 'a\\r\\n' > c.txt
    echo '*.txt text' >> .gitattributes; echo shout > s.up; save up 2>/dev/null; git cat-file -p HEAD:s.up; rm s.up; git checkout -q s.up; cat s.up; history`,
  'settings and aliases': `
    git config alias.l 'log --format=%s'; git l; git config alias.hi '!echo hello'; git hi you; git config --get-regexp alias; git -c user.name=Z var GIT_COMMITTER_IDENT
    git rm -q n; git mv d/t moved; save move; git log --follow --format=%s moved; git show --stat=60 --format= -M HEAD; git notes add -m note; git log -1 --format=%N`,
  'fast-export and filter-branch': `
    git fast-export --all | git -C "$(git init -q ../f; echo ../f)" fast-import --quiet; git -C ../f show-ref
    FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'sed s/^/X-/' side >/dev/null; git log --format='%H %s' side`,
};

const hasGit = (() => {
  try {
    return execFileSync('git', ['--version']).toString().startsWith('git version');
  } catch {
    return false;
  }
})();

function natively(code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'git-'));
  const { PATH = '' } = process.env;
  try {
    const env = { PATH, HOME: folder, LC_ALL: 'C.UTF-8', GIT_CONFIG_NOSYSTEM: '1' };
    return execFileSync('bash', ['-c', code], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({
    runtime: 'bash',
    policy: { timeout_seconds: 300, fuel_budget: 50_000_000_000 },
  });
});
afterAll(() => sandbox[Symbol.asyncDispose]());

let count = 0;
const inSandbox = async (code: string) =>
  sandbox.execute(`mkdir -p /app/t${++count}; cd /app/t${count}\n(${code}\n:)`);

describe.skipIf(!hasGit)('git does what that of this machine does', () => {
  test.each(Object.entries(SCRIPTS))('%s', async (_, script) => {
    const code = START + script;
    const { stdout, exit_code } = await inSandbox(code);
    expect(stdout.split('\n')).toEqual(natively(`${code}\n:`).split('\n'));
    expect(exit_code).toBe(0);
  });
});

describe('git', () => {
  const COMMIT = [
    'git init -q p',
    'git -C p commit -q --allow-empty -m one',
    'git -C p log --format=%an:%ae:%s:%D',
  ];

  test.each([
    [
      'python',
      `import subprocess\nfor c in ${JSON.stringify(COMMIT)}: print(subprocess.run(c.split(), capture_output=True, text=True, check=True).stdout, end='')`,
    ],
    [
      'javascript',
      `const { execSync } = require('child_process');\nfor (const c of ${JSON.stringify(COMMIT)}) process.stdout.write(execSync(c));`,
    ],
  ] as const)('works in child processes of %s, without settings', async (runtime, code) => {
    await using other = await createSandbox({ runtime });
    const { stdout, stderr } = await other.execute(code);
    expect([stdout, stderr]).toEqual(['root:root@sandbox:one:HEAD -> main\n', '']);
  });

  test('works in a folder with a long path', async () => {
    const { stdout } = await inSandbox(
      'd=$(printf "%0200d" 0); mkdir $d; cd $d; git init -q; git rev-parse --show-prefix; git status --porcelain | wc -l',
    );
    expect(stdout).toBe('\n0\n');
  });
});
