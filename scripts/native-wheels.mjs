/**
 * Loads the wheels in the folders that PIP_FIND_LINKS names, and in their subfolders, runs the program of each in
 * test/packages/wheels/programs.py, and prints a table of results. Needs a build. pip downloads packages
 * in pure Python that the programs need.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const POLICY = { memory_bytes: 512 * 2 ** 20, timeout_seconds: 300, fuel_budget: 50e9, deterministic: true };
const NATIVE = /-pyemscripten_2026_0_wasm32\.whl$/;

const nameOf = (path) => basename(path).split('-')[0].toLowerCase();
const wheelsIn = (folder) =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.whl'))
    .map((file) => join(folder, file));

/** The wheels for guests and the pure wheels beside them. */
function findWheels() {
  const folders = (process.env.PIP_FIND_LINKS ?? '').split(/\s+/).filter((folder) => existsSync(folder));
  const all = folders.flatMap((folder) => [
    folder,
    ...['official', 'community'].map((name) => join(folder, name)).filter((name) => existsSync(name)),
  ]);
  const withNative = all.filter((folder) => wheelsIn(folder).some((path) => NATIVE.test(path)));
  return withNative.flatMap(wheelsIn).filter((path) => NATIVE.test(path) || path.endsWith('-none-any.whl'));
}

function readPrograms() {
  const text = readFileSync(at('test/packages/wheels/programs.py'), 'utf8');
  return new Map(
    text
      .split(/^#: /m)
      .slice(1)
      .map((section) => {
        const end = section.indexOf('\n');
        const [name, needs, what] = section
          .slice(0, end)
          .split('|')
          .map((part) => part.trim());
        const code = section.slice(end + 1).trim();
        return [name, { needs: needs.split(' ').filter(Boolean), what, code }];
      }),
  );
}

/**
 * Each wheel with its program, the wheels that the program needs, those of the same folder first, and the names of packages
 * for which there is no wheel.
 */
export function wheelCases() {
  const wheels = findWheels();
  const programs = readPrograms();
  return wheels.map((path) => {
    const program = programs.get(nameOf(path));
    if (program === undefined) throw new Error(`programs.py has no program for ${basename(path)}.`);
    const find = (name) => {
      const found = wheels.filter((one) => nameOf(one) === name);
      return found.find((one) => dirname(one) === dirname(path)) ?? found.at(-1);
    };
    const needed = program.needs.map(find);
    const [name, version] = basename(path).split('-');
    return {
      id: `${name} ${version} (${['official', 'community'].find((one) => one === basename(dirname(path))) ?? 'own build'})`,
      path,
      packages: [path, ...needed.filter((one) => one !== undefined)],
      missing: program.needs.filter((_, i) => needed[i] === undefined),
      what: program.what,
      code: program.code,
      /** Why the wheel is refused when it is added; undefined if it is not. */
      refusal: program.code === '' ? program.what.replace('refused: ', '') : undefined,
    };
  });
}

let pure;
/** Pure wheels of packages, by pip; undefined for those that pip does not find. */
export function pureWheels(names) {
  pure ??= { folder: mkdtempSync(join(tmpdir(), 'pure-wheels-')), tried: new Set() };
  return names.map((name) => {
    const find = () => wheelsIn(pure.folder).find((path) => nameOf(path) === name);
    if (!pure.tried.has(name)) {
      pure.tried.add(name);
      const options = ['--no-deps', '--retries', '0', '--only-binary=:all:', '--python-version', '3.14'];
      const platform = ['--platform', 'any', '--implementation', 'py', '--abi', 'none'];
      try {
        execFileSync(
          'python3',
          ['-m', 'pip', 'download', '-q', ...options, ...platform, '-d', pure.folder, name],
          {
            stdio: 'ignore',
          },
        );
      } catch {
        return undefined;
      }
    }
    return find();
  });
}

/** The number of libraries of a wheel, and of imports that are bound to functions of the same library. */
async function nativeFacts(path, mainFunctions) {
  const { readPackageSet } = await import(at('packages/core/dist/packages/package-set.js'));
  const { unpackInThread } = await import(at('packages/core/dist/worker/pool/unpack-in-thread.js'));
  const { prepareSideModule } = await import(at('packages/core/dist/wasm/prepare-side-module.js'));
  const { compileSideModule } = await import(at('packages/core/dist/engine/compile-side-module.js'));
  const { libraries } = await (await readPackageSet([path], unpackInThread)).load();
  let bound = 0;
  for (const { sha256, bytes } of libraries) {
    try {
      bound += compileSideModule(sha256, prepareSideModule(bytes, { mainFunctions })).facts.bound.length;
    } catch (cause) {
      if (cause.code !== 'module_invalid') throw cause;
    }
  }
  return { libraries: libraries.length, bound };
}

async function runCase(createSandbox, { packages, missing, code, refusal }) {
  const found = pureWheels(missing);
  if (found.includes(undefined)) return `not run: no wheel of ${missing[found.indexOf(undefined)]}`;
  try {
    const sandbox = await createSandbox({
      runtime: 'python',
      packages: [...packages, ...found],
      preload: [],
      policy: POLICY,
    });
    const { success, stderr, fuel_consumed } = await sandbox.execute(code);
    await sandbox.close();
    return success ? fuel_consumed : `failed: ${stderr.trim().split('\n').at(-1)}`;
  } catch (cause) {
    return refusal !== undefined && cause.message.includes(refusal) ? 'refused' : `failed: ${cause.message}`;
  }
}

async function main() {
  const { createSandbox } = await import('llm-wasm-sandbox');
  const { formatFuel } = await import(at('packages/core/dist/quantities.js'));
  const { findAssets, readModule } = await import(
    at('packages/core/dist/runtimes/artifacts/guest-artifacts.js')
  );
  const { mainSymbols } = await import(at('packages/core/dist/engine/compile-side-module.js'));
  const main = new WebAssembly.Module(readModule(findAssets('python')));
  const mainFunctions = new Set(mainSymbols(main).functions.keys());
  const rows = ['| wheel | libraries | own imports | program | fuel |', '|---|---|---|---|---|'];
  console.log(rows.join('\n'));
  for (const one of wheelCases()) {
    const { libraries, bound } = await nativeFacts(one.path, mainFunctions);
    const result = await runCase(createSandbox, one);
    const fuel = typeof result === 'number' ? formatFuel(result) : result;
    const what =
      one.refusal === undefined ? one.what : `none: it ${one.refusal}, which is refused when it is added`;
    rows.push(`| ${one.id} | ${libraries} | ${bound} | ${what} | ${fuel} |`);
    console.log(rows.at(-1));
  }
  process.exit(rows.some((row) => row.includes('| failed: ')) ? 1 : 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
