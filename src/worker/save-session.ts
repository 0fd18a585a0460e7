/** Saves the state of a session after a committed call: what changed in memory since the last save, and its /tmp. */
import { captureDelta } from '../engine/delta.ts';
import { diffsOf } from '../engine/memory-capture.ts';
import { toShared } from '../fs/shared-array-buffers.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { LoadedImage } from './load-image.ts';
import { packSaved } from './packed-messages.ts';
import type { SessionInput } from './protocol.ts';
import type { SessionGuest } from './session-guests.ts';

/**
 * Also caches the guest for the next call, after the message, because a guest whose state was not sent must not be found
 * again. Returns the guests that were evicted.
 */
export function saveSession(
  id: number,
  loaded: LoadedImage,
  current: SessionGuest,
  session: SessionInput,
  isPaused: boolean,
  { guests, send }: JobCallbacks,
): SessionGuest[] {
  const { guest } = current;
  const { volume } = guest.kernel;
  guest.saveClock();
  // The call of a paused program is not over; `resume` continues it with the same number.
  if (!isPaused) guest.kernel.calls++;
  const { removed, entries } = volume.commit('/tmp', () => guest.kernel.nodesInUse());
  const unused = loaded.runtime.unusedMemory(guest);
  const before = current.capture ? diffsOf(current.capture) : [];
  const { delta, capture } = captureDelta(guest, loaded.image, unused, current.capture);
  const diffs = diffsOf(capture);
  const firstNew = diffs.findIndex((diff, i) => diff !== before[i]);
  const keptDiffs = firstNew < 0 ? diffs.length : firstNew;
  const cached = { ...current, capture };
  const evicted = guests.makeRoom(cached);
  send({
    type: 'saved',
    id,
    saved: packSaved({
      deltaHeader: toShared(delta[0]!),
      keptDiffs,
      newDiffs: diffs.slice(keptDiffs).map(({ bytes, sha256 }) => ({ bytes, sha256 })),
      tmp: { removed, entries },
      evicted: [...evicted.keys()],
    }),
  });
  guests.put(session.id, session.version + 1, cached);
  return [...evicted.values()];
}
