// process: has arguments, environment and versions
console.log(process.argv.length, Array.isArray(process.argv), typeof process.argv[1], process.platform, typeof process.version, process.version.startsWith('v'), typeof process.versions.node, typeof process.pid);
process.env.MY_VAR = 5;
console.log(process.env.MY_VAR, 'MY_VAR' in process.env, process.env.NOPE, Object.keys(process.env).includes('MY_VAR'));
delete process.env.MY_VAR;
console.log(process.env.MY_VAR, typeof process.cwd(), typeof process.uptime(), typeof process.execPath);
// process: prints, copies and lists the environment
for (const name of Object.keys(process.env)) delete process.env[name];
Object.assign(process.env, { A: 1, B: undefined, C: [1, 2] });
console.log(process.env, JSON.stringify(process.env), { ...process.env, A: 'other' }, Object.entries(process.env));
console.log(delete process.env.B, 'B' in process.env, 'toString' in process.env, Object.hasOwn(process.env, 'toString'));
for (const name in process.env) console.log(name);
for (const descriptor of [{ value: '1' }, { get: () => '1', configurable: true, enumerable: true }])
  try { Object.defineProperty(process.env, 'D', descriptor); } catch (e) { console.log(e.code, e.message); }
Object.defineProperty(process.env, 'E', { value: 5, writable: true, enumerable: true, configurable: true });
try { process.env[Symbol('s')] = '1'; } catch (e) { console.log(e.message); }
console.log(process.env, { ...process.env });
// program: writes to stdout
process.stdout.write('no newline');
process.stdout.write('\n');
process.stdout.write(Buffer.from('bytes\n'));
process.stdout.write('é😀\n', 'utf8');
console.log(process.stdout.write('x\n'), process.stdout.isTTY, process.stdout.fd, process.stderr.fd, typeof process.stdout.on);
process.stdout.write('callback\n', () => console.log('called'));
// program: measures time
const t = process.hrtime();
const d = process.hrtime(t);
console.log(t.length, d[0] >= 0, typeof process.hrtime.bigint(), process.hrtime.bigint() <= process.hrtime.bigint());
const m = process.memoryUsage();
console.log(Object.keys(m), typeof m.heapUsed, typeof process.cpuUsage().user);
// program: runs nextTick before promises and timers
setTimeout(() => console.log('timeout'), 0);
setImmediate(() => console.log('immediate'));
Promise.resolve().then(() => console.log('promise'));
process.nextTick((a, b) => console.log('tick', a, b), 1, 2);
queueMicrotask(() => console.log('microtask'));
(async () => { console.log('async start'); await null; console.log('async end'); })();
console.log('sync', typeof module);
// program: interleaves nextTick and promises
Promise.resolve().then(() => { console.log('p1'); process.nextTick(() => console.log('t2')); }).then(() => console.log('p2'));
process.nextTick(() => { console.log('t1'); Promise.resolve().then(() => console.log('p3')); process.nextTick(() => console.log('t3')); });
exports.x = 1;
// program: orders timers by time and creation
setTimeout(() => console.log('b 10'), 10);
setTimeout(() => console.log('a 5'), 5);
setTimeout(() => console.log('c 10'), 10);
setTimeout((x, y) => console.log('args', x, y), 1, 'one', 'two');
const i = setInterval(() => { console.log('interval'); if (++n === 3) clearInterval(i); }, 40);
let n = 0;
const cancelled = setTimeout(() => console.log('never'), 1);
clearTimeout(cancelled);
clearTimeout(undefined);
clearTimeout('nope');
// program: runs immediates and timers set by callbacks
setTimeout(() => {
  console.log('t');
  setImmediate(() => console.log('i from t'));
  process.nextTick(() => console.log('tick from t'));
  Promise.resolve().then(() => console.log('p from t'));
}, 0);
setImmediate(() => { console.log('i'); setImmediate(() => console.log('i2')); process.nextTick(() => console.log('tick from i')); });
// program: returns timer objects
const t = setTimeout(() => {}, 1);
console.log(typeof t, typeof t.ref, typeof t.unref, t.hasRef(), t.unref() === t, t.hasRef(), typeof t[Symbol.toPrimitive](), t.constructor.name);
clearTimeout(+t);
const u = setTimeout(() => console.log('never runs'), 100000);
u.unref();
console.log(setImmediate(() => {}).constructor.name, typeof setInterval(() => {}, 5).unref());
// program: rejects invalid callbacks
for (const f of [() => setTimeout('code', 1), () => setTimeout(5), () => setImmediate(), () => process.nextTick('x')]) try { f(); } catch (e) { console.log(e.name, e.code); }
// program: waits with timers/promises
const { setTimeout: sleep, setImmediate: soon, setInterval: every } = require('timers/promises');
(async () => {
  console.log(await sleep(2, 'value'), await soon('now'));
  let n = 0;
  for await (const v of every(1, 'tick')) { console.log(v, ++n); if (n === 3) break; }
  const c = new AbortController();
  const p = sleep(1000, null, { signal: c.signal });
  c.abort();
  await p.catch((e) => console.log(e.name, e.code, e.message));
  console.log(await require('util').promisify(setTimeout)(1, 'promisified'));
})();
// program: changes the working directory
const fs = require('fs');
fs.mkdirSync('sub');
process.chdir('sub');
console.log(require('path').basename(process.cwd()));
fs.writeFileSync('here.txt', 'x');
process.chdir('..');
console.log(fs.existsSync('sub/here.txt'));
try { process.chdir('missing'); } catch (e) { console.log(e.code, e.syscall); }
// process: exits with a code
console.log('before');
process.exit(3);
console.log('after');
// process: exits inside try and finally
try { console.log('in'); process.exit(0); } catch (e) { console.log('caught'); } finally { console.log('finally'); }
// process: exits in a promise
setTimeout(() => console.log('never'), 10);
Promise.resolve().then(() => { console.log('exiting'); process.exit(5); }).then(() => console.log('never'));
// process: sets exitCode
process.exitCode = 7;
console.log('done', process.exitCode);
// process: calls exit listeners
process.on('exit', (code) => { console.log('exit', code, process.exitCode); process.exitCode = 9; });
process.on('beforeExit', (code) => console.log('beforeExit', code));
console.log('main');
// process: calls exit listeners for process.exit
process.on('exit', (code) => console.log('exit', code));
setTimeout(() => process.exit(4), 1);
setTimeout(() => console.log('never'), 50);
// process: schedules work in beforeExit
let n = 0;
process.on('beforeExit', () => { if (n++ < 2) setTimeout(() => console.log('again', n), 1); else console.log('enough'); });
// process: fails with an uncaught error
console.log('start');
setTimeout(() => console.log('never'), 10);
throw new Error('fatal');
// process: fails with an uncaught error in a timer
process.on('exit', (code) => console.log('exit', code));
setTimeout(() => { throw new TypeError('late'); }, 1);
setTimeout(() => console.log('never'), 20);
// process: fails with an unhandled rejection
process.on('exit', (code) => console.log('exit', code));
Promise.reject(new Error('unhandled'));
setTimeout(() => console.log('never'), 20);
// process: handles uncaught exceptions
process.on('uncaughtException', (e, origin) => console.log('handled', e.message, origin));
setTimeout(() => { throw new Error('one'); }, 1);
setTimeout(() => console.log('goes on'), 5);
throw new Error('zero');
// process: handles unhandled rejections
process.on('unhandledRejection', (reason, promise) => console.log('rejection', reason.message, promise instanceof Promise));
Promise.reject(new Error('r1'));
setTimeout(() => console.log('later'), 2);
// process: handles rejections in time
const p = Promise.reject(new Error('x'));
p.catch((e) => console.log('caught', e.message));
(async () => { try { await Promise.reject(1); } catch (e) { console.log('await', e); } })();
// process: rejects an invalid exit code
try { process.exitCode = 'abc'; } catch (e) { console.log(e.code); }
try { process.exit({}); } catch (e) { console.log(e.code); }
process.exit('2');
// process: emits warnings
process.on('warning', (w) => console.log(w.name, w.message, w.code));
process.emitWarning('careful', 'CustomWarning', 'C1');
// program: is an event emitter
console.log(process instanceof require('events'), typeof process.on, process.listenerCount('nope'), Object.prototype.toString.call(process));
process.once('custom', (v) => console.log('custom', v));
process.emit('custom', 5);
console.log(process.emit('custom', 6));
// program: describes the system with os
const os = require('os');
console.log(JSON.stringify(os.EOL), os.platform(), os.type(), typeof os.cpus().length, typeof os.totalmem(), os.endianness(), os.tmpdir(), typeof os.hostname(), os.constants.signals.SIGTERM, os.constants.errno.ENOENT, typeof os.userInfo().username, os.devNull);
// program: has performance marks
const { performance } = require('perf_hooks');
const t = performance.now();
performance.mark('a');
performance.mark('b', { detail: { x: 1 } });
const m = performance.measure('a to b', 'a', 'b');
console.log(typeof t, m.name, m.entryType, m.duration >= 0, performance.getEntriesByType('mark').map((e) => e.name), performance.getEntriesByName('b')[0].detail);
performance.clearMarks();
console.log(performance.getEntriesByType('mark').length, performance === globalThis.performance);
// process: signals to itself
for (const args of [[1, 'SIGNONE'], ['x', 0], [99999999, 'SIGTERM'], [process.pid, 0], [1.5, 0], [process.pid, 99], [process.pid, 'toString'], [process.pid, '__proto__'], [process.pid, 'sigterm'], [process.pid, '15'], [process.pid, 15.5], [process.pid, true], [99999999, null], [99999999, ''], [99999999, NaN]]) try { console.log(process.kill(...args)); } catch (e) { console.log(e.name, e.code, e.message, e.errno, e.syscall, Object.keys(e)); }
process.on('SIGINT', (...args) => console.log('got', args));
console.log(process.kill(process.pid, 'SIGINT'), process.kill(process.pid, 'SIGCONT'));
setTimeout(() => console.log('end'), 20);
