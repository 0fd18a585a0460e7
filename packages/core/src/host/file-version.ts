/** Recognises files of the host that have not changed since they were read. */
import type { BigIntStats } from 'node:fs';

/** On file systems with coarse timestamps, a younger file can change again and keep its version. */
const UNSETTLED_MS = 3_000;

/** Identifies the version of a file. */
export function fileVersion({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Whether every later change to the file changes its version. */
export function isSettled({ mtimeNs, ctimeNs }: BigIntStats): boolean {
  const changedMs = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n);
  return Math.abs(Date.now() - changedMs) > UNSETTLED_MS;
}
