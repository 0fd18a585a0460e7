/** The pinned sources: taken from a folder, or downloaded from the Debian mirror that apt uses or with npm; checked; unpacked; patched. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const SOURCES = JSON.parse(readFileSync(new URL('sources.json', import.meta.url), 'utf8'));

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

export function sourceOf(name) {
  const source = SOURCES.find((one) => one.name === name);
  if (source === undefined) throw new Error(`There is no source named ${name} in sources.json.`);
  return source;
}

/** The addresses of the Debian archive that this machine's apt has. */
function mirrors() {
  const lines = execFileSync('apt-get', ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages']);
  return [...new Set(lines.toString().split('\n'))].filter((line) => line.endsWith('/debian/'));
}

async function download({ path, npm }, folder) {
  if (npm !== undefined) {
    execFileSync('npm', ['pack', npm, '--silent', '--pack-destination', folder]);
    return;
  }
  for (const mirror of mirrors()) {
    const response = await fetch(new URL(path.replaceAll('+', '%2B'), mirror));
    if (response.ok) {
      writeFileSync(join(folder, basename(path)), Buffer.from(await response.arrayBuffer()));
      return;
    }
  }
  throw new Error(
    `${basename(path)} is on no mirror of apt. Put the file into a folder and name it with --sources.`,
  );
}

/** The path of the archive of a source, after its digest has been checked. */
async function archiveOf(source, folder) {
  const file = join(folder, basename(source.path));
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true });
    await download(source, folder);
  }
  const digest = sha256(readFileSync(file));
  if (digest !== source.sha256) throw new Error(`${file} has the digest ${digest}, not ${source.sha256}.`);
  return file;
}

/** Unpacks a source into a new folder and applies the patches to the files in `inside`. Returns the new folder. */
export async function unpack(name, { sources, work }, patches = []) {
  const source = sourceOf(name);
  const archive = await archiveOf(source, sources);
  const folder = join(work, 'src', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  if (archive.endsWith('.deb')) execFileSync('dpkg-deb', ['-x', archive, folder]);
  else execFileSync('tar', ['-x', '-f', archive, '-C', folder, '--strip-components=1']);
  for (const patch of patches) {
    execFileSync('patch', ['-p1', '-s', '-i', patch], {
      cwd: join(folder, source.inside ?? ''),
      stdio: 'inherit',
    });
  }
  if (readdirSync(folder).length === 0) throw new Error(`${archive} is empty.`);
  return folder;
}
