import { diskStore, openSessions } from 'llm-wasm-sandbox';
import { afterEach, expect, test, vi } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

afterEach(() => void vi.restoreAllMocks());

test('a session can be created, saved and opened again while the clock is far ahead', async () => {
  const now = Date.now;
  const ahead = Date.parse('+012026-11-17T12:00:00.000Z') - now();
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ahead);
  const store = () => diskStore(folderOfTest());
  const shared = store();
  {
    await using sessions = openSessions({ store: shared });
    const session = await sessions.create({ runtime: 'javascript', session_id: 'future' });
    await session.execute('var x = 1');
    await session.checkpoint('one');
    await session.flush();
  }
  await using sessions = openSessions({ store: shared });
  const session = await sessions.get('future');
  expect((await session.execute('x + 1')).metadata.result).toBe(2);
  expect(session.session.last_used_at).toBe('9999-12-31T23:59:59.999Z');
  const copy = openSessions({ store: store() });
  expect((await copy.import(await sessions.export('future'))).session_id).toBe('future');
  await copy.close();
});
