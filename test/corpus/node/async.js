// process: keeps a store across timers, promises and await
const { AsyncLocalStorage } = require('node:async_hooks');
const storage = new AsyncLocalStorage();
const sleep = () => new Promise((resolve) => setImmediate(resolve));
async function handle(id) {
  await sleep();
  console.log('after sleep', storage.getStore().id);
  await Promise.all([sleep(), Promise.resolve()]);
  console.log('after all', storage.getStore().id);
  await inner();
  return storage.getStore().id;
}
async function inner() { await sleep(); console.log('inner', storage.getStore().id); }
for (const id of ['a', 'b']) storage.run({ id }, () => handle(id).then((result) => console.log('then', result, storage.getStore().id)));
console.log('outside', storage.getStore());
// process: passes the store to callbacks
const { AsyncLocalStorage } = require('async_hooks');
const als = new AsyncLocalStorage();
als.run(1, () => {
  setImmediate(() => {
    console.log('immediate', als.getStore());
    setTimeout(() => console.log('timeout', als.getStore()), 1);
  });
  process.nextTick(() => console.log('tick', als.getStore()));
  queueMicrotask(() => console.log('microtask', als.getStore()));
  Promise.resolve().then(() => console.log('then', als.getStore())).finally(() => console.log('finally', als.getStore()));
  Promise.reject(new Error('x')).catch(() => console.log('catch', als.getStore()));
  als.exit(() => console.log('exit', als.getStore()));
  als.run(2, () => console.log('nested', als.getStore()));
  console.log('sync', als.getStore());
});
console.log('after', als.getStore());
// process: uses two stores and enterWith
const { AsyncLocalStorage } = require('async_hooks');
const [a, b] = [new AsyncLocalStorage(), new AsyncLocalStorage()];
(async () => {
  a.enterWith('A');
  await b.run('B', async () => { await new Promise((r) => setTimeout(r, 1)); console.log(a.getStore(), b.getStore()); });
  console.log(a.getStore(), b.getStore());
})();
// process: binds functions to a context
const { AsyncLocalStorage, AsyncResource } = require('async_hooks');
const als = new AsyncLocalStorage();
const bound = als.run('bound', () => AsyncResource.bind((x) => `${x} ${als.getStore()}`));
const snapshot = als.run('snapshot', () => AsyncLocalStorage.snapshot());
const resource = als.run('resource', () => new AsyncResource('Mine'));
console.log(bound('x'), snapshot(() => als.getStore()), resource.runInAsyncScope((y) => [y, als.getStore()], null, 'y'), typeof resource.asyncId(), als.getStore());
try { new AsyncResource(1); } catch (e) { console.log(e.code, e.message); }
// process: keeps the store in event handlers and async iteration
const { AsyncLocalStorage } = require('async_hooks');
const EventEmitter = require('events');
const als = new AsyncLocalStorage(); const emitter = new EventEmitter();
emitter.on('x', () => console.log('event', als.getStore()));
async function* numbers() { for (let i = 0; i < 2; i++) { await new Promise((r) => setTimeout(r, 1)); yield i; } }
als.run('run', async () => { emitter.emit('x'); for await (const n of numbers()) console.log(n, als.getStore()); emitter.emit('x'); });
emitter.emit('x');
// process: isolates failing contexts
const { AsyncLocalStorage } = require('async_hooks');
const als = new AsyncLocalStorage();
try { als.run('x', () => { throw new Error('inside'); }); } catch (e) { console.log(e.message, als.getStore()); }
als.run('y', async () => { try { await Promise.reject(new Error('awaited')); } catch (e) { console.log(e.message, als.getStore()); } });
als.run('z', () => als.run(undefined, () => console.log(als.getStore())));
// process: publishes on diagnostics channels
const dc = require('diagnostics_channel');
const channel = dc.channel('app:request');
const onMessage = (message, name) => console.log(name, message);
console.log(channel.hasSubscribers, dc.hasSubscribers('app:request'));
channel.subscribe(onMessage); dc.subscribe('app:request', onMessage);
channel.publish({ id: 1 }); console.log(channel.unsubscribe(onMessage), dc.channel('app:request') === channel); channel.publish(2); console.log(channel.hasSubscribers);
// program: describes what worker threads are in the main thread
const { isMainThread, parentPort, workerData, threadId, Worker } = require('worker_threads');
console.log(isMainThread, parentPort, workerData, threadId, typeof Worker);
if (isMainThread) console.log('main');
// process: loads modules that it does not use
for (const name of ['child_process', 'cluster', 'dgram', 'dns', 'http', 'http2', 'https', 'inspector', 'net', 'repl', 'tls', 'v8', 'vm', 'worker_threads', 'async_hooks', 'diagnostics_channel']) console.log(name, typeof require(name), require(name) === require(`node:${name}`));
// program: runs promises in order
const log = []; const p = Promise.resolve();
p.then(() => log.push(1)).then(() => log.push(4)); p.then(() => log.push(2)).then(() => log.push(5)); (async () => { log.push(0); await null; log.push(3); await null; log.push(6); })();
setTimeout(() => console.log(log), 1);
// program: settles groups of promises
const ok = (v, ms = 1) => new Promise((r) => setTimeout(() => r(v), ms)); const no = (m) => Promise.reject(new Error(m));
(async () => {
  console.log(await Promise.all([1, ok(2), ok(3, 5)]), await Promise.race([ok('slow', 9), ok('fast')]), await Promise.any([no('a'), ok('b')]));
  console.log((await Promise.allSettled([ok(1), no('x')])).map((r) => r.status + (r.value ?? r.reason.message)));
  try { await Promise.any([no('a'), no('b')]); } catch (e) { console.log(e.constructor.name, e.errors.map((x) => x.message)); }
  try { await Promise.all([ok(1), no('first'), no('second')]); } catch (e) { console.log(e.message); }
  console.log(await Promise.all([]), await Promise.allSettled([]));
})();
// program: retries with growing delays
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
async function retry(f, times) { for (let i = 1; ; i++) { try { return await f(i); } catch (e) { console.log(`attempt ${i}: ${e.message}`); if (i === times) throw e; await wait(2 ** i); } } }
retry(async (i) => { if (i < 3) throw new Error('busy'); return `done after ${i}`; }, 5).then(console.log).then(() => retry(async () => { throw new TypeError('never'); }, 2)).catch((e) => console.log(e.name));
// program: limits concurrency
async function mapLimit(items, limit, f) { const out = []; let next = 0; await Promise.all(Array.from({ length: limit }, async () => { while (next < items.length) { const i = next++; out[i] = await f(items[i], i); } })); return out; }
let active = 0, most = 0;
mapLimit([5, 1, 3, 2], 2, async (n) => { most = Math.max(most, ++active); await new Promise((r) => setTimeout(r, n)); active--; return n * 2; }).then((r) => console.log(r, most));
// program: cancels work with AbortController
const { setTimeout: sleep } = require('timers/promises');
(async () => {
  const c = new AbortController(); setTimeout(() => c.abort(), 5);
  try { await sleep(1000, 'x', { signal: c.signal }); } catch (e) { console.log(e.name, e.code, c.signal.aborted); }
  const d = new AbortController(); d.abort(new Error('own reason')); try { d.signal.throwIfAborted(); } catch (e) { console.log(e.message); }
  console.log(await sleep(1, 'value'), AbortSignal.abort().reason.name);
})();
// program: queues jobs and reports progress
const { EventEmitter, once } = require('events');
class Queue extends EventEmitter { #jobs = []; #busy = false; push(job) { this.#jobs.push(job); if (!this.#busy) this.#run(); } async #run() { this.#busy = true; while (this.#jobs.length) { const job = this.#jobs.shift(); try { this.emit('done', await job()); } catch (e) { this.emit('failed', e.message); } } this.#busy = false; this.emit('idle'); } }
const q = new Queue(); q.on('done', (x) => console.log('done', x)).on('failed', (m) => console.log('failed', m));
once(q, 'idle').then((args) => console.log('idle', args)); q.push(async () => 1); q.push(() => Promise.reject(new Error('no'))); q.push(() => 3);
// program: uses async generators and pipelines
async function* source() { for (const x of ['a', 'b', 'c']) { await null; yield x; } }
async function* upper(input) { for await (const x of input) yield x.toUpperCase(); }
async function* take(input, n) { let i = 0; for await (const x of input) { if (i++ >= n) return; yield x; } }
(async () => { for await (const x of take(upper(source()), 2)) console.log(x); const g = source(); console.log(await g.next(), await g.return('r'), await g.next()); for await (const x of [Promise.resolve(1), 2]) console.log(x); })();
// program: measures order of all queues
setTimeout(() => console.log('timeout 0'), 0); setImmediate(() => console.log('immediate')); process.nextTick(() => console.log('tick')); Promise.resolve().then(() => { console.log('promise'); process.nextTick(() => console.log('tick in promise')); }); queueMicrotask(() => console.log('microtask')); (async () => { console.log('async start'); await undefined; console.log('async end'); })(); console.log('sync');
// program: catches rejections late and in finally
(async () => {
  const r = await Promise.reject(new Error('a')).finally(() => console.log('finally')).catch((e) => e.message); console.log(r);
  const f = async () => { try { return 'try'; } finally { console.log('cleanup'); } }; console.log(await f());
  const g = async () => { try { await Promise.reject(1); } catch { return 'caught'; } finally { await null; console.log('awaited cleanup'); } }; console.log(await g());
  await Promise.resolve(1).finally(() => { throw new Error('from finally'); }).catch((e) => console.log(e.message));
})();
// program: implements a thenable and subclasses Promise
const thenable = { then(resolve) { console.log('then called'); resolve('thenable'); } };
class Task extends Promise { static get [Symbol.species]() { return Promise; } log() { return this.then((v) => { console.log('task', v); return v; }); } }
(async () => { console.log(await thenable); const t = new Task((r) => r(1)); console.log(t instanceof Task, t.then(() => {}) instanceof Task, await t.log(), await Task.resolve(5)); const { promise, resolve } = (() => { let resolve; const promise = new Promise((r) => { resolve = r; }); return { promise, resolve }; })(); resolve('late'); console.log(await promise); })();
// process: reports an error in an async main function
async function main() { await null; console.log('start'); throw new RangeError('failed'); }
main().catch((e) => { console.log(`caught ${e.name}`); process.exitCode = 3; });
// process: ends with pending timers after process.exit
setTimeout(() => console.log('never'), 1); Promise.resolve().then(() => console.log('never either')); console.log('now'); process.exit(4);
// module: awaits at the top level and imports dynamically
import { setTimeout as sleep } from 'node:timers/promises';
const { join } = await import('node:path'); console.log(join('a', '..', 'b')); await sleep(1); const value = await Promise.all([1, sleep(1, 2)]); console.log(value); export const x = value;
// process: uses async_hooks and mocks without running tests
const { AsyncLocalStorage } = require('node:async_hooks');
const { test, describe, it, mock } = require('node:test');
const als = new AsyncLocalStorage();
als.run(7, async () => { await Promise.resolve(); return als.getStore(); }).then((store) => console.log('store', store));
console.log(typeof test, typeof describe, typeof it, typeof mock.fn);
const f = mock.fn((a, b) => a + b); f(1, 2); f(3, 4);
console.log(f.mock.callCount(), f.mock.calls[1].arguments, f.mock.calls[0].result);
const o = { m: () => 1 }; mock.method(o, 'm', () => 2); console.log(o.m(), o.m.mock.callCount()); mock.restoreAll(); console.log(o.m());
