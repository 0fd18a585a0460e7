/**
 * Critical sections of a worker thread, in which it is not terminated. Node.js aborts the process if a thread ends after a
 * zlib stream has been created and before it is initialised. A thread and the code that ends it share one word: the thread
 * enters no section after its end has been requested, and the end waits until the thread has left its section.
 */
const IN_SECTION = 1;
const END_REQUESTED = 2;
/** Far more than compressing or decompressing takes. A thread that has not been ended by then continues. */
const MAX_WAIT_MS = 10_000;
const CHECK_INTERVAL_MS = 1;

let ownWord: Int32Array | undefined;

/** Sets the word that this thread shares with the code that ends it. Other threads run sections without protection. */
export function protectSections(word: Int32Array): void {
  ownWord = word;
}

/** Runs a section. It must not wait for another thread. */
export function uninterrupted<T>(section: () => T): T {
  const word = ownWord;
  if (word === undefined) return section();
  if ((Atomics.or(word, 0, IN_SECTION) & END_REQUESTED) !== 0) {
    leaveSection(word);
    Atomics.wait(word, 0, END_REQUESTED, MAX_WAIT_MS);
    Atomics.store(word, 0, IN_SECTION);
  }
  try {
    return section();
  } finally {
    leaveSection(word);
  }
}

/** Also for a thread that has ended by itself. */
export function leaveSection(word: Int32Array): void {
  if ((Atomics.and(word, 0, ~IN_SECTION) & END_REQUESTED) !== 0) Atomics.notify(word, 0);
}

/** Requests the end of a thread. It may be terminated as soon as it is not in a section. */
export function requestEnd(word: Int32Array): void {
  Atomics.or(word, 0, END_REQUESTED);
}

/** Blocks the calling thread until none of the others is in a section. The maximum is for all of them together. */
export function waitForSections(words: Iterable<Int32Array>): void {
  const end = performance.now() + MAX_WAIT_MS;
  for (const word of words)
    Atomics.wait(word, 0, IN_SECTION | END_REQUESTED, Math.max(0, end - performance.now()));
}

/** Resolves when the thread is not in a section. */
export async function untilOutsideSection(word: Int32Array): Promise<void> {
  const end = performance.now() + MAX_WAIT_MS;
  while ((Atomics.load(word, 0) & IN_SECTION) !== 0 && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL_MS));
}
