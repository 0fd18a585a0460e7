/**
 * A guest that has loaded native libraries is identical to a new one after it is reset: memory, globals, libraries and
 * function table. The wheels are in the folder that PIP_FIND_LINKS names.
 *
 * @module-tag full
 */

import { beforeAll, describe, expect, test } from 'vitest';
import { UNLIMITED_RUN } from '../../packages/core/dist/engine/run-context.js';
import { createParts } from '../../packages/core/dist/sandbox/create-parts.js';
import { parse, sandboxOptions } from '../../packages/core/dist/schema.js';
import type { RunJob } from '../../packages/core/dist/worker/protocol/messages.js';
import { instantiateGuest } from '../../packages/core/dist/worker/thread/guest-from-image.js';
import { GuestPool } from '../../packages/core/dist/worker/thread/guest-pool.js';
import { createVolume } from '../../packages/core/dist/worker/thread/guest-volume.js';
import { type LoadedImage, loadImage } from '../../packages/core/dist/worker/thread/load-image.js';
import { isNightly } from '../support/repetitions.ts';
import { availableWheel } from './available-wheels.ts';

type Guest = ReturnType<GuestPool['acquire']>;

const numpy = availableWheel('numpy');
const REASON =
  isNightly && numpy !== undefined ? '' : ' (skipped: needs NIGHTLY_TESTS=1, and numpy in PIP_FIND_LINKS)';

const MAX_PAGES = 8192;
const LIMITS = { fuel_budget: 20_000_000_000, timeout_seconds: 60 };
const SECRET = 'the-secret-of-the-first-run';

/** Programs that leave data in the interpreter, in the memory of libraries, and in libraries that only they load. */
const FAILING = 'that fails in a library';
const PROGRAMS: Record<string, string> = {
  'that uses a preloaded library': `import numpy as np
kept = np.frombuffer(b'${SECRET}' * 100, dtype=np.uint8).copy()
np.seterr(all='raise'); np.set_printoptions(precision=3)`,
  'that loads further libraries': `import numpy as np, numpy.fft, numpy.random, numpy.linalg
np.random.seed(7); np.random.bytes(1000)
secret = np.fft.fft(np.arange(64)); np.linalg.inv(np.eye(8))
kept = b'${SECRET}' * 1000`,
  [FAILING]: `import numpy as np
kept = ['${SECRET}'] * 1000
np.arange(4).reshape(3, 3)`,
};

const JOB = {
  limits: { workspace_max_bytes: 1_000_000, workspace_max_files: 100 },
  mountSet: { id: 'none', mounts: [] },
} as unknown as RunJob;

function runIn(guest: Guest, loaded: LoadedImage, code: string): { report: string; fuel: number } {
  const deterministic = { startMs: 0, seed: 1 };
  guest.beginRun({ ...UNLIMITED_RUN, fuelBudget: LIMITS.fuel_budget, deterministic });
  guest.kernel.volume = createVolume(loaded.layers, JOB, () => guest.now());
  guest.kernel.volume.fill('/app', []);
  const request = {
    ...LIMITS,
    code,
    file: '/app/main.py',
    language: 'python' as const,
    env: {},
    args: [],
    call: 1,
    keep: false,
    inject_setup: true,
  };
  const report = loaded.runtime.run(guest, loaded.image.header.handles, request);
  return { report, fuel: guest.fuelConsumed };
}

/** Whether the memory of two guests is the same; reports the first address that differs. */
function firstDifference(a: Guest, b: Guest): number | undefined {
  const [left, right] = [a.view.all, b.view.all].map((all) =>
    Buffer.from(all.buffer, all.byteOffset, all.length),
  );
  if (Buffer.compare(left!, right!) === 0) return undefined;
  return left!.findIndex((byte, at) => byte !== right![at]);
}

function expectIdentical(reset: Guest, fresh: Guest): void {
  expect(reset.view.all.length).toBe(fresh.view.all.length);
  expect(firstDifference(reset, fresh)).toBeUndefined();
  expect(reset.globals()).toEqual(fresh.globals());
  expect(reset.linker.state()).toEqual(fresh.linker.state());
  expect([reset.kernel.cwd, reset.kernel.umask]).toEqual([fresh.kernel.cwd, fresh.kernel.umask]);
  for (let i = 0; i < reset.table.length; i++) {
    const expected = i < fresh.table.length && fresh.table.get(i) !== null;
    if ((reset.table.get(i) !== null) !== expected) expect.fail(`entry ${i} of the function table differs`);
  }
}

describe.runIf(isNightly && numpy !== undefined).each([
  { image: 'with numpy loaded', preload: ['numpy'] },
  { image: 'without a loaded library', preload: [] },
])(`a reset guest of an image $image${REASON}`, ({ preload }) => {
  let loaded: LoadedImage;
  beforeAll(async () => {
    const options = {
      runtime: 'python',
      packages: [numpy!],
      preload,
      policy: { memory_bytes: MAX_PAGES * 65_536 },
    };
    const { image } = await createParts(parse(sandboxOptions, options, 'options'));
    loaded = loadImage(image.assets, []);
  });

  test.each(Object.entries(PROGRAMS))('is identical to a new one after a program %s', (name, code) => {
    const pool = new GuestPool(loaded);
    const used = pool.acquire(MAX_PAGES);
    const { report } = runIn(used, loaded, code);
    expect(JSON.parse(report).exit_code).toBe(name === FAILING ? 1 : 0);
    expect(Buffer.from(used.view.all).includes(SECRET)).toBe(true);
    pool.release(used);
    const reset = pool.acquire(MAX_PAGES);
    expect(reset).toBe(used);
    expectIdentical(reset, instantiateGuest(loaded, MAX_PAGES));
    expect(Buffer.from(reset.view.all).includes(SECRET)).toBe(false);
  });

  test('is identical to a new one after its memory and globals are overwritten, and runs programs like it', () => {
    const pool = new GuestPool(loaded);
    const used = pool.acquire(MAX_PAGES);
    const program = PROGRAMS['that loads further libraries']!;
    runIn(used, loaded, program);
    used.view.all.fill(0xa5);
    used.setGlobals(Object.fromEntries(Object.keys(used.globals()).map((name) => [name, '7'])));
    pool.release(used);
    const reset = pool.acquire(MAX_PAGES);
    expect(reset).toBe(used);
    const fresh = instantiateGuest(loaded, MAX_PAGES);
    expectIdentical(reset, fresh);
    expect(runIn(reset, loaded, program)).toEqual(runIn(fresh, loaded, program));
    expectIdentical(reset, fresh);
  });
});
