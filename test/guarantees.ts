/**
 * Every promise of SECURITY.md, and the tests that prove it. A promise is a row here; SECURITY.md shows the rows, and
 * test/docs/guarantees.test.ts holds the two together and checks that each cited test exists.
 */

export interface Guarantee {
  /** Stable name, by which other documents refer to it. */
  readonly id: string;
  readonly promise: string;
  /** File below test/, and the title of a test in it as it stands in the source. */
  readonly tests: readonly (readonly [file: string, title: string])[];
}

export const GUARANTEES: readonly Guarantee[] = [
  {
    id: 'no-bridge',
    promise:
      'Python has no bridge to JavaScript: its modules do not exist, and each of the binary’s imports that is not a door of the kernel ends the guest when it is called.',
    tests: [
      ['escape/host-bridge.test.ts', 'is not importable as %s'],
      ['escape/host-bridge.test.ts', 'leaves no module, type or object in the interpreter'],
      ['escape/denied-imports.test.ts', 'is denied exactly the imports in denied-imports.txt'],
      ['escape/denied-imports.test.ts', 'stops with denied_call when it calls %s'],
    ],
  },
  {
    id: 'no-host-objects',
    promise:
      'JavaScript has no object, module or function of the host; constructors and prototypes lead nowhere else.',
    tests: [
      ['escape/host-bridge.test.ts', 'has no global of the host'],
      ['escape/constructors.test.ts', 'of every reachable object are those of the guest’s own realm'],
      ['escape/constructors.test.ts', 'stay in the guest when called through Function and eval'],
    ],
  },
  {
    id: 'no-machine',
    promise: 'No network, no processes, no threads, no devices, no signals to others.',
    tests: [
      ['escape/host-resources.test.ts', 'is denied to Python with an exception'],
      ['escape/host-resources.test.ts', 'is denied to JavaScript with an error'],
    ],
  },
  {
    id: 'memory-sealed',
    promise:
      'A guest may read, write and ruin all of its own memory, bytecode, objects and function pointers; it reaches nothing beyond and harms only itself.',
    tests: [
      ['escape/memory-walk.test.ts', 'reads every byte of the guest and nothing of the host'],
      ['escape/memory-walk.test.ts', 'ends only the guest when it writes %s'],
      ['escape/memory-walk.test.ts', 'is not available in JavaScript'],
      ['escape/ctypes-calls.test.ts', 'raises an exception'],
      ['escape/function-pointers.test.ts', 'of a built-in function affects only the guest: %i'],
      ['escape/function-pointers.test.ts', 'of a type affects only the guest: %i'],
      ['escape/forged-bytecode.test.ts', 'affects only the guest when it is random (seed %i)'],
      ['escape/corrupted-objects.test.ts', 'affects only the guest when it has %s'],
    ],
  },
  {
    id: 'doors-hold',
    promise:
      'No address, length, descriptor or name a guest can make up becomes an exception or unbounded work of the host.',
    tests: [
      ['kernel/hostile.test.ts', '%s answers any argument with a number, never with an exception'],
      ['escape/pointers.test.ts', 'to a buffer at %i of %i bytes returns EFAULT'],
      [
        'escape/pointers.test.ts',
        'to overlapping buffers transfers the requested bytes and respects the quota',
      ],
      ['escape/pointers.test.ts', 'is rejected by every Python call that takes one'],
      [
        'escape/descriptors.test.ts',
        'are limited in number, are reused after close, and never reach the host',
      ],
      ['escape/file-names.test.ts', 'is rejected when it is not valid text or too long'],
      [
        'escape/file-names.test.ts',
        'may equal an inherited property of JavaScript objects or be special to a shell',
      ],
    ],
  },
  {
    id: 'files-inside',
    promise:
      'A guest sees its workspace, its scratch folder, the runtime’s files and the mounts, and writes only the first two: no host path, `..`, link or device leads out.',
    tests: [
      ['escape/host-files.test.ts', 'is not visible to Python'],
      ['escape/host-files.test.ts', 'is not visible to JavaScript'],
      ['escape/path-traversal.test.ts', 'stops at the guest’s root in Python'],
      ['escape/path-traversal.test.ts', 'is rejected by the file methods of the sandbox: %s'],
      ['escape/symbolic-links.test.ts', 'does not lead out of a Python guest'],
      ['escape/symbolic-links.test.ts', 'created by a guest is not followed by the host'],
      ['escape/import-hooks.test.ts', 'cannot change the standard library'],
      [
        'sandbox/execute.test.ts',
        'mounts host files read-only and does not follow links out of the mounted folder',
      ],
    ],
  },
  {
    id: 'fresh-every-call',
    promise:
      'Each call starts from the same image; nothing of an earlier call or a neighbour is in it but the files of its own workspace.',
    tests: [
      ['sandbox/isolation.test.ts', 'is unaffected by a program that %s'],
      ['sandbox/isolation.test.ts', 'cannot see each other’s files'],
      ['escape/import-hooks.test.ts', 'in a workspace file affects only that sandbox'],
    ],
  },
  {
    id: 'reports-distrusted',
    promise:
      'What a guest says about itself is data: read in bounded time, cut to size, and never able to hide a limit, to pose as a message of the host or to raise an exception in it.',
    tests: [
      ['escape/forged-report.test.ts', 'makes the run fail when it %s'],
      ['escape/forged-report.test.ts', 'cannot hide a limit that was reached'],
      [
        'escape/forged-messages.test.ts',
        'reaches only stdout and stderr when it is written to every descriptor',
      ],
      ['escape/hostile-results.test.ts', 'is returned within its size limit when it %s'],
      ['escape/hostile-results.test.ts', 'is reported when it %s'],
      ['escape/file-names.test.ts', 'of a prototype property is harmless as a key of a result'],
    ],
  },
  {
    id: 'fuel',
    promise:
      'Every instruction counts, also inside built-ins. `fuel_consumed` is exact and repeatable and at most the budget plus the grace, whatever a program catches.',
    tests: [
      ['wasm/metering.test.ts', 'charges random functions exactly, at every call to the host and at the end'],
      ['limits/fuel.test.ts', 'is exact: a budget of what a program takes is enough, one less is not'],
      ['limits/fuel.test.ts', 'is as large as documented, and used up only once'],
      ['limits/fuel.test.ts', 'that does not cover one large instruction stops before it'],
      ['limits/fuel.test.ts', 'is in the traceback and in the error of Python'],
      ['limits/corpus.test.ts', 'stops %s %s, and the next call works'],
      ['escape/limit-signals.test.ts', 'does not disable the limit when it is %s'],
    ],
  },
  {
    id: 'time',
    promise:
      'A time limit or a cancellation ends a guest wherever it is: in a loop, a built-in, a system call, asleep, or waiting in the queue, whose time does not count.',
    tests: [
      ['limits/time.test.ts', 'ends %s %s'],
      ['limits/time.test.ts', 'does not count time in the queue, which is reported apart'],
      ['limits/time.test.ts', 'before the call runs nothing, at once, however long the queue is'],
      ['limits/time.test.ts', 'ends a program that sleeps in the grace it got for its fuel'],
      ['limits/corpus.test.ts', 'stops %s %s, and the next call works'],
      ['escape/source-text.test.ts', 'is scanned in linear time: %s'],
    ],
  },
  {
    id: 'memory',
    promise:
      'A guest’s memory never exceeds `memory_bytes`; a program meets an error it can catch first. What the host holds for a guest is bounded whatever the guest asks for.',
    tests: [
      ['limits/memory.test.ts', 'is never more than the limit, to the page'],
      ['limits/memory.test.ts', 'runs out with an error that a program can catch and go on from'],
      ['limits/memory.test.ts', 'below what the runtime needs is refused with the minimum, which is enough'],
      ['limits/memory.test.ts', 'is not for %s to fill with %s'],
    ],
  },
  {
    id: 'output',
    promise:
      'Output past its cap is dropped as it arrives, counted and flagged, and a flood of small writes is no flood of messages.',
    tests: [
      ['limits/output.test.ts', '%s is cut at the cap'],
      ['limits/output.test.ts', 'counts every byte: kept and dropped are what was written'],
      [
        'escape/forged-messages.test.ts',
        'cannot be built from streamed output, which arrives as text, in order and in batches',
      ],
    ],
  },
  {
    id: 'workspace',
    promise:
      'Bytes and files of the workspace stay within the quota, sparse, truncated, linked and deleted files included.',
    tests: [
      ['limits/workspace.test.ts', 'has no room for %s'],
      ['limits/workspace.test.ts', 'is full for JavaScript with the same error'],
    ],
  },
  {
    id: 'depth',
    promise: 'Recursion of any kind ends in an exception or a clean trap.',
    tests: [['limits/depth.test.ts', 'of %s %s ends in an exception or a clean trap']],
  },
  {
    id: 'outcome',
    promise: 'How a run ended is one of a closed set of reasons, each with its own words and exit code.',
    tests: [
      ['limits/outcome.test.ts', 'are a closed set with exit codes of their own'],
      ['limits/outcome.test.ts', 'are documented with their exit codes'],
      ['limits/outcome.test.ts', 'each have a program that meets them'],
      ['limits/outcome.test.ts', '%s ends %s with its words and its code'],
      ['limits/outcome.test.ts', 'leave a look at the stopped guest without any effect'],
      ['limits/outcome.test.ts', 'leave nothing of the program asleep when the stopped guest is looked at'],
    ],
  },
  {
    id: 'deterministic',
    promise: 'In deterministic mode the same code and input give the same bytes and the same fuel.',
    tests: [
      ['limits/deterministic.test.ts', 'gives byte for byte the same, and the same fuel'],
      [
        'session/deterministic.test.ts',
        'repeats output and fuel call by call, also when it is closed and reopened between calls',
      ],
    ],
  },
  {
    id: 'stored-sessions',
    promise:
      'What is read back of a session, from a store or an export, is refused unless it is whole and within bounds; it names no path of the host.',
    tests: [
      [
        'stores/hostile.test.ts',
        'limits in session.json that a policy could not have make the session damaged, with its files still readable',
      ],
      ['stores/bundle.test.ts', 'is refused when a bit was flipped anywhere'],
      [
        'stores/bundle.test.ts',
        'is refused or read, and nothing else, when whoever changed it also mended its digest',
      ],
      [
        'stores/bundle.test.ts',
        'that unpacks to more than it says, or says more than is allowed, costs no memory',
      ],
      ['session/policy.test.ts', 'never includes mounts, which must be given on every opening'],
      [
        'session/export.test.ts',
        'rejects its first call and keeps its files readable when its saved memory has %s',
      ],
    ],
  },
  {
    id: 'nothing-left-behind',
    promise: 'Guests ended by any limit, many at a time, leave no memory and no thread behind.',
    tests: [['limits/stress.test.ts', 'two hundred guests leave nothing behind']],
  },
];

/** How SECURITY.md shows a promise. */
export function show({ id, promise, tests }: Guarantee): string {
  const files = new Map<string, string[]>();
  for (const [file, title] of tests) files.set(file, [...(files.get(file) ?? []), title]);
  const cited = [...files].map(
    ([file, titles]) => `[${file}](test/${file}): ${titles.map((title) => `“${title}”`).join(', ')}`,
  );
  return `- **${id}**: ${promise}\n${cited.map((line) => `  - ${line}`).join('\n')}`;
}
