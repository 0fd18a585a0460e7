/** The programs of the load: every outcome in both languages, each with the outcomes that are correct for it. */

export type Outcome =
  | 'success'
  | 'error'
  | 'out_of_fuel'
  | 'timeout'
  | 'memory_limit'
  | 'cancelled'
  | 'worker_lost'
  /** Rejected by a limit of the server: its queue, rate or number of sessions. */
  | 'rejected';

export interface Program {
  readonly name: string;
  readonly language: 'python' | 'javascript';
  readonly code: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly expected: readonly Outcome[];
}

const LITTLE_FUEL = 100_000_000;

export const PROGRAMS: readonly Program[] = [
  { name: 'print', language: 'python', code: 'print(sum(range(1000)))', expected: ['success'] },
  {
    name: 'print',
    language: 'javascript',
    code: 'console.log([1, 2, 3].map((n) => n * n).join())',
    expected: ['success'],
  },
  {
    name: 'files',
    language: 'python',
    code: "import json\nfor i in range(20): open(f'/tmp/{i}', 'w').write(json.dumps([i] * 500))\nprint(open('/tmp/7').read()[:9])",
    expected: ['success'],
  },
  {
    name: 'output',
    language: 'javascript',
    code: "for (let i = 0; i < 2000; i++) console.log('x'.repeat(100))",
    expected: ['success'],
  },
  {
    name: 'tool',
    language: 'python',
    code: "print(await tools.calm.echo(text='x'))",
    // The hostile tenant kills the tool server.
    expected: ['success', 'error'],
  },
  { name: 'exception', language: 'python', code: "{}['missing']", expected: ['error'] },
  { name: 'exception', language: 'javascript', code: 'null.missing', expected: ['error'] },
  { name: 'syntax', language: 'python', code: 'def f(:', expected: ['error'] },
  {
    name: 'fuel',
    language: 'python',
    code: 'while True: pass',
    arguments: { fuel_budget: LITTLE_FUEL },
    expected: ['out_of_fuel'],
  },
  {
    name: 'fuel',
    language: 'javascript',
    code: 'for (;;);',
    arguments: { fuel_budget: LITTLE_FUEL },
    expected: ['out_of_fuel'],
  },
  {
    name: 'time',
    language: 'python',
    code: 'import time\ntime.sleep(5)',
    arguments: { timeout: 0.2 },
    expected: ['timeout'],
  },
  {
    name: 'memory',
    language: 'python',
    code: 'data = [bytearray(1 << 20) for _ in range(4096)]',
    // The program gets a MemoryError, which it does not catch. A slow machine reaches the time limit first.
    expected: ['memory_limit', 'error', 'timeout'],
  },
  {
    name: 'memory',
    language: 'javascript',
    code: 'const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));',
    expected: ['memory_limit', 'error', 'out_of_fuel', 'timeout'],
  },
];

/** Runs until it is cancelled; the time limit ends it if the cancellation is lost. */
export const ENDLESS: Program = {
  name: 'cancel',
  language: 'python',
  code: 'import time\nwhile True: time.sleep(0.05)',
  arguments: { timeout: 4 },
  expected: ['cancelled', 'timeout'],
};
