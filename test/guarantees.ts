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
      ['escape/bridge.test.ts', 'cannot be imported as %s'],
      ['escape/bridge.test.ts', 'has left nothing in the interpreter to hold on to'],
      ['escape/denied-imports.test.ts', 'is denied exactly these imports'],
      ['escape/denied-imports.test.ts', 'cannot call %s'],
    ],
  },
  {
    id: 'no-host-objects',
    promise:
      'JavaScript has no object, module or function of the host; constructors and prototypes lead nowhere else.',
    tests: [
      ['escape/bridge.test.ts', 'has no global there'],
      ['escape/constructors.test.ts', 'of everything in reach lead to the guest’s own realm'],
      ['escape/constructors.test.ts', 'through Function and eval stay in the guest'],
    ],
  },
  {
    id: 'no-machine',
    promise: 'No network, no processes, no threads, no devices, no signals to others.',
    tests: [
      ['escape/std-os.test.ts', 'is refused to Python with an exception'],
      ['escape/std-os.test.ts', 'is refused to JavaScript with an error'],
    ],
  },
  {
    id: 'memory-sealed',
    promise:
      'A guest may read, write and ruin all of its own memory, bytecode, objects and function pointers; it reaches nothing beyond and harms only itself.',
    tests: [
      ['escape/memory-walk.test.ts', 'sees every byte of the guest and nothing of the host'],
      ['escape/memory-walk.test.ts', 'that writes %s kills only the guest'],
      ['escape/memory-walk.test.ts', 'in JavaScript has no address to start from'],
      ['escape/foreign-calls.test.ts', 'are refused with an exception'],
      ['escape/function-pointers.test.ts', 'of a built-in that is set to %i stays inside'],
      ['escape/function-pointers.test.ts', 'of a type that is set to %i stays inside'],
      ['escape/bytecode.test.ts', 'at random hurts only the guest (%i)'],
      ['escape/corrupted-objects.test.ts', 'with %s hurts only the guest'],
    ],
  },
  {
    id: 'doors-hold',
    promise:
      'No address, length, descriptor or name a guest can make up becomes an exception or unbounded work of the host.',
    tests: [
      ['kernel/hostile.test.ts', '%s answers any argument with a number, never with an exception'],
      ['escape/pointers.test.ts', 'to a buffer at %i of %i bytes are EFAULT'],
      ['escape/pointers.test.ts', 'to overlapping buffers move what was asked for, inside the quota'],
      ['escape/pointers.test.ts', 'are refused where they are asked for'],
      ['escape/descriptors.test.ts', 'run out with an error, are reused, and belong to the guest alone'],
      ['escape/names.test.ts', 'that are no text or too long are refused'],
      ['escape/names.test.ts', 'that every object answers to are ordinary names'],
    ],
  },
  {
    id: 'files-inside',
    promise:
      'A guest sees its workspace, its scratch folder, the runtime’s files and the mounts, and writes only the first two: no host path, `..`, link or device leads out.',
    tests: [
      ['escape/proc.test.ts', 'is not there for Python'],
      ['escape/proc.test.ts', 'is not there for JavaScript'],
      ['escape/dot-dot.test.ts', 'above the root is the root'],
      ['escape/dot-dot.test.ts', 'is refused on the host side: %s'],
      ['escape/links.test.ts', 'lead nowhere outside the guest'],
      ['escape/links.test.ts', 'of a guest are not followed on the host'],
      ['escape/import-hooks.test.ts', 'cannot make the library show another file to a neighbour'],
      ['sandbox/execute.test.ts', 'shows mounted host files read-only, without what links lead to'],
    ],
  },
  {
    id: 'fresh-every-call',
    promise:
      'Each call starts from the same image; nothing of an earlier call or a neighbour is in it but the files of its own workspace.',
    tests: [
      ['sandbox/isolation.test.ts', 'sees nothing of one that %s'],
      ['sandbox/isolation.test.ts', 'cannot see each other'],
      ['escape/import-hooks.test.ts', 'through files of the workspace reach the same sandbox only'],
    ],
  },
  {
    id: 'reports-distrusted',
    promise:
      'What a guest says about itself is data: read in bounded time, cut to size, and never able to hide a limit, to pose as a message of the host or to raise an exception in it.',
    tests: [
      ['escape/forged-report.test.ts', 'that %s is a failure'],
      ['escape/forged-report.test.ts', 'cannot hide a limit that was met'],
      ['escape/forged-messages.test.ts', 'in structured clone form, on every descriptor, reaches nobody'],
      ['escape/evil-values.test.ts', 'that %s is shown cut'],
      ['escape/evil-values.test.ts', 'that %s is still reported'],
      ['escape/names.test.ts', 'of result keys do not reach prototypes'],
    ],
  },
  {
    id: 'fuel',
    promise:
      'Every instruction counts, also inside built-ins. `fuel_consumed` is exact and repeatable and at most the budget plus the grace, whatever a program catches.',
    tests: [
      [
        'wasm/metering.test.ts',
        'charges random bodies exactly, as seen at the end and at every call of the host',
      ],
      ['limits/fuel.test.ts', 'is exact: a budget of what a program takes is enough, one less is not'],
      ['limits/fuel.test.ts', 'is as large as documented, and used up only once'],
      ['limits/fuel.test.ts', 'that does not cover one large instruction stops before it'],
      ['limits/fuel.test.ts', 'is in the traceback and in the error of Python'],
      ['limits/corpus.test.ts', 'stops %s %s, and the next call works'],
      ['escape/signals.test.ts', '%s do not keep a limit away'],
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
      ['escape/program-text.test.ts', 'of %s is read in linear time'],
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
        'cannot be made of live output: it arrives as text, in order, and nothing else',
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
        'says the same as its twin, call for call, also when it is put away between calls',
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
      ['session/policy.test.ts', 'never include mounts, which are given anew each time'],
      [
        'session/export.test.ts',
        'whose memory was changed to have %s is refused by its first call, its files still readable',
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
