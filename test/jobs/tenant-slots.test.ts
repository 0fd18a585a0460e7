import { expect, test } from 'vitest';
import { TenantSlots } from '../../packages/server/src/jobs/tenant-slots.ts';

test('jobs that start and end at the same time share one connection, and a lost one is replaced', async () => {
  const lost: (() => void)[] = [];
  const connect = async () => ({
    query: async () => ({ rows: [{ locked: true }] }),
    on: (event: string, listener: () => void) => event === 'end' && lost.push(listener),
    end: async () => {},
  });
  let connections = 0;
  let isReachable = false;
  const slots = new TenantSlots(() => {
    connections++;
    return isReachable ? connect() : Promise.reject(new Error('not reachable'));
  }, 4);
  await expect(slots.acquire('a')).rejects.toThrow('not reachable');
  isReachable = true;
  const [slot] = await Promise.all([slots.acquire('a'), slots.acquire('b'), slots.acquire('c')]);
  expect(connections).toBe(2);
  for (const lose of lost) lose();
  await Promise.all([slots.release(slot!), slots.acquire('d')]);
  expect(connections).toBe(3);
  await slots.close();
});
