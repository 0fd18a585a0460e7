/** Saves the state of a session after a committed call: what changed since the last save, and its /tmp. */
import { captureDelta } from '../../engine/delta.ts';
import { partsOf } from '../../engine/memory-capture.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import { packSaved } from '../protocol/packed-messages.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { ReceivedJob } from './prepare-guest.ts';
import type { SessionGuest } from './session-guests.ts';

/**
 * Also caches the guest for the next call, after the message, because a guest whose state was not sent must not be found
 * again. Returns the guests that were evicted.
 */
export function saveSession(
  { id, job, loaded }: ReceivedJob,
  current: SessionGuest,
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
  const before = current.capture ? partsOf(current.capture) : [];
  const { delta, capture } = captureDelta(guest, loaded.image, unused, current.capture);
  const parts = partsOf(capture);
  const firstNew = parts.findIndex((part, i) => part !== before[i]);
  const keptParts = firstNew < 0 ? parts.length : firstNew;
  const cached = { ...current, capture };
  const evicted = guests.makeRoom(cached);
  send({
    type: 'saved',
    id,
    saved: packSaved({
      deltaHeader: toShared(delta[0]!),
      keptParts,
      newParts: parts.slice(keptParts).map(({ bytes, sha256 }) => ({ bytes, sha256 })),
      tmp: { removed, entries },
      evicted: [...evicted.keys()],
    }),
  });
  const { id: key, version } = job.session!;
  guests.put(key, version + 1, cached);
  return [...evicted.values()];
}
