/**
 * The thread that watches the folders of sessions. It has an event loop, and with it a queue of the kernel, of its own, so that
 * it can tell whether the queue may have been full: libuv does not report lost events.
 * Invariant: an answer names every path that changed before its request, or is `null`.
 *
 * Requests   { request, watch: id, root, folders } starts, or starts again; answers `[]`, or `null` if a folder cannot be watched
 *            { request, changes: id } answers the paths since the last answer, or `null` if some may be missing, until a new start
 *            { unwatch: id }
 * Answers    { request, paths }
 */
const { lstatSync, readFileSync, watch } = require('node:fs');
const { basename } = require('node:path');
const { parentPort } = require('node:worker_threads');

/** The kernel drops events when this many are waiting. */
const QUEUE_LENGTH = Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1'));
/** Far fewer than the queue holds, because a turn also reads what arrives while it reads. */
const MAX_EVENTS_PER_TURN = Math.min(4096, QUEUE_LENGTH / 4);
const MAX_PATHS = 4096;

/**
 * What is watched of a session: the watchers by folder, and what they have reported.
 * @typedef {{ watcher: import('node:fs').FSWatcher, identity: string }} Watched
 * @typedef {{ folders: Map<string, Watched>, paths: Set<string>, isLost: boolean }} Session
 * @type {Map<string, Session>}
 */
const sessions = new Map();
let eventsInTurn = 0;
let losses = 0;

/** Events may be missing, of any session. */
function loseAll() {
  losses++;
  for (const session of sessions.values()) session.isLost = true;
}

function countEvent() {
  if (eventsInTurn === 0)
    setImmediate(() => {
      eventsInTurn = 0;
    });
  if (++eventsInTurn > MAX_EVENTS_PER_TURN) loseAll();
}

/** Calls back when all events before this call have arrived: one whole turn of the event loop reads all that are waiting. */
function whenDrained(done) {
  setImmediate(() => setImmediate(done));
}

function identityOf(path) {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stat?.isDirectory()) throw new Error(`${path} is not a folder`);
  return `${stat.dev}:${stat.ino}`;
}

function open(session, folder, path) {
  const identity = identityOf(path);
  const own = basename(path);
  const watcher = watch(path, (_, name) => {
    countEvent();
    // The folder itself has changed, or an entry of the same name.
    if (name === null || name === own || session.paths.size >= MAX_PATHS) session.isLost = true;
    else session.paths.add(folder === '' ? name : `${folder}/${name}`);
  });
  watcher.on('error', () => {
    session.isLost = true;
  });
  session.folders.set(folder, { watcher, identity });
  if (identityOf(path) !== identity) throw new Error(`${path} was replaced`);
}

function close(session, folder) {
  session.folders.get(folder).watcher.close();
  session.folders.delete(folder);
  // Its events that are still waiting will not be counted.
  loseAll();
}

function start(id, root, folders) {
  const session = sessions.get(id) ?? { folders: new Map(), paths: new Set(), isLost: true };
  sessions.set(id, session);
  const wanted = new Map(folders.map((folder) => [folder, folder === '' ? root : `${root}/${folder}`]));
  for (const [folder, { identity }] of session.folders)
    if (!wanted.has(folder) || identityOf(wanted.get(folder)) !== identity) close(session, folder);
  for (const [folder, path] of wanted) if (!session.folders.has(folder)) open(session, folder, path);
}

/** Forgets what was lost or reported before, once no event from before is waiting. */
function answerStart(request, id) {
  const before = losses;
  whenDrained(() => {
    if (losses !== before) return answerStart(request, id);
    const session = sessions.get(id);
    if (session !== undefined) session.isLost = false;
    session?.paths.clear();
    parentPort.postMessage({ request, paths: session === undefined ? null : [] });
  });
}

function answerChanges(request, id) {
  whenDrained(() => {
    const session = sessions.get(id);
    const paths = session === undefined || session.isLost ? null : [...session.paths];
    session?.paths.clear();
    parentPort.postMessage({ request, paths });
  });
}

function stop(id) {
  const session = sessions.get(id);
  sessions.delete(id);
  for (const folder of session?.folders.keys() ?? []) close(session, folder);
}

parentPort.on('message', ({ request, watch: started, changes, unwatch, root, folders }) => {
  if (unwatch !== undefined) return stop(unwatch);
  if (changes !== undefined) return answerChanges(request, changes);
  try {
    start(started, root, folders);
    answerStart(request, started);
  } catch {
    stop(started);
    parentPort.postMessage({ request, paths: null });
  }
});
