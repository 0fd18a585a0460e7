// program: writes and reads text
const fs = require('fs');
fs.writeFileSync('a.txt', 'héllo\nwörld\n');
console.log(fs.readFileSync('a.txt', 'utf8'), fs.readFileSync('a.txt', { encoding: 'utf-8' }).length, fs.readFileSync('a.txt'));
fs.appendFileSync('a.txt', 'more');
console.log(fs.readFileSync('a.txt').toString('latin1').length, fs.readFileSync('a.txt', 'base64'), fs.readFileSync('a.txt', 'hex').slice(0, 12));
// program: writes buffers, typed arrays and with flags
const fs = require('fs');
fs.writeFileSync('b', Buffer.from([1, 2, 3]));
fs.writeFileSync('b', new Uint16Array([258]), { flag: 'a' });
console.log([...fs.readFileSync('b')]);
fs.writeFileSync('c', '68656c6c6f', 'hex');
console.log(fs.readFileSync('c', 'utf8'));
try { fs.writeFileSync('c', 'x', { flag: 'wx' }); } catch (e) { console.log(e.code, e.syscall, e.errno); }
// program: reports errors like Node.js
const fs = require('fs');
for (const f of [() => fs.readFileSync('missing.txt'), () => fs.readdirSync('nope'), () => fs.readFileSync('.'), () => fs.mkdirSync('x/y'), () => fs.rmdirSync('nope'), () => fs.unlinkSync('nope'), () => fs.statSync('nope'), () => fs.renameSync('nope', 'b'), () => fs.openSync('nope'), () => fs.accessSync('nope'), () => fs.copyFileSync('nope', 'b'), () => fs.readlinkSync('nope'), () => fs.rmSync('nope'), () => fs.truncateSync('nope'), () => fs.lstatSync('nope')])
  try { f(); console.log('no error'); } catch (e) { console.log(e.message, '|', e.code, e.errno, e.syscall, e.path, Object.keys(e).join()); }
// program: reports invalid arguments like Node.js
const fs = require('fs');
for (const f of [() => fs.readFileSync(), () => fs.readFileSync(null), () => fs.readFileSync({}), () => fs.writeFileSync('x', { a: 1 }), () => fs.writeFileSync('x', 5), () => fs.writeFileSync('x'), () => fs.readFileSync('x', 'nope'), () => fs.openSync('x', 'q'), () => fs.readFile('x'), () => fs.closeSync('x'), () => fs.existsSync(), () => fs.readFileSync('a\0b')])
  try { console.log(f()); } catch (e) { console.log(e.name, e.code, e.message); }
// program: lists and creates folders
const fs = require('fs');
console.log(typeof fs.mkdirSync('a/b/c', { recursive: true }), fs.mkdirSync('a/b', { recursive: true }), fs.mkdirSync('d'));
fs.writeFileSync('a/1.txt', '');
fs.writeFileSync('a/b/2.txt', 'xx');
console.log(fs.readdirSync('a'), fs.readdirSync('a', { recursive: true }).sort());
console.log(fs.readdirSync('a', { withFileTypes: true }).map((e) => [e.name, e.isFile(), e.isDirectory(), e.isSymbolicLink()]));
fs.rmdirSync('d');
fs.rmSync('a', { recursive: true });
fs.rmSync('a', { force: true });
console.log(fs.existsSync('a'), fs.existsSync('.'), fs.readdirSync('.').filter((n) => !n.startsWith('main.')));
// program: checks the type of what it removes
const fs = require('fs');
fs.mkdirSync('dir');
fs.writeFileSync('dir/f', '');
for (const f of [() => fs.rmSync('dir'), () => fs.rmdirSync('dir'), () => fs.mkdirSync('dir'), () => fs.mkdirSync('dir/f', { recursive: true }), () => fs.rmdirSync('dir/f'), () => fs.readdirSync('dir/f')]) try { f(); console.log('ok'); } catch (e) { console.log(e.code, e.syscall); }
// program: returns the status of files
const fs = require('fs');
fs.writeFileSync('f', '12345');
const s = fs.statSync('f');
console.log(s.isFile(), s.isDirectory(), s.size, s.mtime instanceof Date, typeof s.mtimeMs, s.isSymbolicLink(), (s.mode & 0o170000).toString(8), s.constructor.name);
console.log(fs.statSync('.').isDirectory(), fs.statSync('nope', { throwIfNoEntry: false }), typeof fs.statSync('f', { bigint: true }).size);
fs.utimesSync('f', 1, 2);
console.log(fs.statSync('f').mtimeMs, fs.statSync('f').mtime.toISOString());
// program: copies, renames and links
const fs = require('fs');
fs.writeFileSync('f', 'data');
fs.copyFileSync('f', 'g');
fs.renameSync('g', 'h');
console.log(fs.existsSync('g'), fs.readFileSync('h', 'utf8'));
try { fs.copyFileSync('f', 'h', fs.constants.COPYFILE_EXCL); } catch (e) { console.log(e.code); }
fs.symlinkSync('h', 'link');
console.log(fs.readlinkSync('link'), fs.lstatSync('link').isSymbolicLink(), fs.statSync('link').isFile(), fs.readFileSync('link', 'utf8'), require('path').basename(fs.realpathSync('link')));
fs.mkdirSync('src/deep', { recursive: true });
fs.writeFileSync('src/deep/x', '1');
fs.cpSync('src', 'dst', { recursive: true });
console.log(fs.readdirSync('dst', { recursive: true }).sort());
// program: reads and writes with descriptors
const fs = require('fs');
const fd = fs.openSync('d.bin', 'w+');
console.log(fs.writeSync(fd, 'hello world'), fs.writeSync(fd, Buffer.from('XY'), 0, 2, 0), fs.writeSync(fd, '!', 5));
const b = Buffer.alloc(20);
console.log(fs.readSync(fd, b, 0, 20, 0), b.toString('utf8', 0, 11), fs.readSync(fd, b, { position: 6, length: 3 }), b.toString('utf8', 0, 3));
console.log(fs.fstatSync(fd).size);
fs.ftruncateSync(fd, 3);
fs.closeSync(fd);
console.log(fs.readFileSync('d.bin', 'utf8'));
try { fs.readSync(fd, b); } catch (e) { console.log(e.code); }
fs.truncateSync('d.bin', 1);
console.log(fs.readFileSync('d.bin', 'utf8').length);
// program: appends with a descriptor
const fs = require('fs');
fs.writeFileSync('log', 'one\n');
const fd = fs.openSync('log', 'a');
fs.writeSync(fd, 'two\n');
fs.appendFileSync(fd, 'three\n');
fs.writeFileSync(fd, 'four\n');
fs.closeSync(fd);
console.log(fs.readFileSync('log', 'utf8').split('\n'));
// program: reads line by line
const fs = require('fs');
fs.writeFileSync('lines.txt', 'a\nb\r\nc');
console.log(fs.readFileSync('lines.txt', 'utf8').split(/\r?\n/).map((l, i) => `${i}:${l}`).join(' '));
// program: calls back with results and errors
const fs = require('fs');
fs.writeFile('cb.txt', 'callback', (err) => {
  console.log('written', err);
  fs.readFile('cb.txt', 'utf8', (err, data) => {
    console.log(err, data);
    fs.stat('cb.txt', (e, s) => {
      console.log(e, s.size);
      fs.readdir('.', (e, names) => {
        console.log(names.includes('cb.txt'));
        fs.unlink('cb.txt', (e) => fs.exists('cb.txt', (found) => console.log('exists', found)));
      });
    });
  });
});
console.log('sync');
// program: calls back with errors
const fs = require('fs');
fs.readFile('missing', (err, data) => {
  console.log(err.code, err.message, data);
  fs.mkdir('x/y/z', { recursive: true }, (err, first) => {
    console.log(err, require('path').basename(first));
    fs.rmdir('x', (e) => console.log(e.code));
  });
});
// program: uses promises
const fs = require('fs/promises');
(async () => {
  await fs.writeFile('p.txt', 'promise');
  console.log(await fs.readFile('p.txt', 'utf8'), (await fs.stat('p.txt')).size);
  await fs.appendFile('p.txt', '!');
  await fs.mkdir('d/e', { recursive: true });
  await fs.copyFile('p.txt', 'd/q.txt');
  console.log(await fs.readdir('d'), await fs.access('p.txt'), (await fs.readFile('d/q.txt')).length);
  await fs.rename('d/q.txt', 'd/r.txt');
  await fs.rm('d', { recursive: true });
  await fs.unlink('p.txt');
  for (const f of [() => fs.readFile('none'), () => fs.access('none'), () => fs.readFile(), () => fs.rmdir('none')]) await f().catch((e) => console.log(e.code, e.message));
})();
// program: uses file handles
const fs = require('fs').promises;
(async () => {
  const h = await fs.open('h.txt', 'w+');
  console.log(typeof h.fd, (await h.write('hello')).bytesWritten, (await h.write('J', 0)).bytesWritten);
  const { bytesRead, buffer } = await h.read(Buffer.alloc(5), 0, 5, 0);
  console.log(bytesRead, buffer.toString(), (await h.stat()).size);
  await h.truncate(2);
  await h.close();
  console.log(await fs.readFile('h.txt', 'utf8'));
})();
// program: makes temporary folders and accepts URLs
const fs = require('fs');
const os = require('os');
const path = require('path');
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'test-'));
console.log(path.basename(dir).length, fs.statSync(dir).isDirectory());
fs.writeFileSync(path.join(dir, 'a b.txt'), 'url');
console.log(fs.readFileSync(require('url').pathToFileURL(path.join(dir, 'a b.txt')), 'utf8'), fs.readFileSync(Buffer.from(path.join(dir, 'a b.txt'))).length);
fs.rmSync(dir, { recursive: true, force: true });
// program: iterates over folders
const fs = require('fs');
fs.mkdirSync('dir');
for (const n of ['b', 'a', 'c']) fs.writeFileSync('dir/' + n, n);
(async () => {
  const names = [];
  for await (const e of await fs.promises.opendir('dir')) names.push(e.name);
  console.log(names.sort());
  const d = fs.opendirSync('dir');
  console.log(typeof d.readSync().name);
  d.closeSync();
})();
// program: walks a tree of files
const fs = require('fs');
const path = require('path');
function walk(dir) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? walk(path.join(dir, e.name)) : [path.join(dir, e.name)]));
}
fs.mkdirSync('t/u/v', { recursive: true });
['t/1', 't/u/2', 't/u/v/3'].forEach((f) => fs.writeFileSync(f, f));
console.log(walk('t').sort());
// program: runs callbacks of files after immediates
const fs = require('fs');
fs.writeFileSync('o', 'x');
fs.readFile('o', () => {
  console.log('read');
  setTimeout(() => console.log('timeout'), 0);
  setImmediate(() => console.log('immediate'));
  process.nextTick(() => console.log('tick'));
});
setImmediate(() => console.log('first immediate'));
setTimeout(() => console.log('first timeout'), 0);
Promise.resolve().then(() => console.log('promise'));
// program: promisifies functions of fs
const { promisify } = require('util');
const fs = require('fs');
const read = promisify(fs.readFile);
const exists = promisify(fs.exists);
fs.writeFileSync('pf', 'ok');
read('pf', 'utf8').then(async (t) => { console.log(t, await exists('pf'), await exists('nope')); await promisify(fs.read)(fs.openSync('pf'), Buffer.alloc(2), 0, 2, 0).then(({ bytesRead }) => console.log(bytesRead)); });
// program: stores JSON
const fs = require('fs');
const db = { users: [{ name: 'Ann', age: 30 }], updated: new Date(0) };
fs.writeFileSync('db.json', JSON.stringify(db, null, 2));
const loaded = JSON.parse(fs.readFileSync('db.json', 'utf8'));
loaded.users.push({ name: 'Bob' });
fs.writeFileSync('db.json', JSON.stringify(loaded));
console.log(fs.readFileSync('db.json', 'utf8'), fs.statSync('db.json').size);
// program: checks the arguments of functions for descriptors, owners, times and positions
const fs = require('fs');
fs.writeFileSync('a', 'hello world');
const fd = fs.openSync('a', 'r+');
const noop = () => {};
for (const f of [() => fs.fchmodSync('x', 0o600), () => fs.fchmodSync(fd, 'nine'), () => fs.fchmod(fd, 0o640), () => fs.chownSync('a', 'me', 1), () => fs.fchown(fd, -2, 1, noop), () => fs.lchownSync('a', 1, {}), () => fs.close('x'), () => fs.utimesSync('a', NaN, 1), () => fs.futimesSync(fd, 1, {}), () => fs.accessSync('a', 'r'), () => fs.copyFileSync('a', 'b', 'r'), () => fs.readSync(fd, Buffer.alloc(0), 0, 5), () => fs.readSync(fd, Buffer.alloc(4), 5, 1), () => fs.readSync(fd, Buffer.alloc(4), 0, 9), () => fs.readSync(fd, Buffer.alloc(4), 0, 4, 'x'), () => fs.symlinkSync('a', 's', 'odd'), () => fs.readFileSync(new URL('file:///a%2Fb')), () => fs.readFile('a', { signal: 'no' }, noop), () => fs.mkdirSync('m', { recursive: 'yes' }), () => fs.ftruncate(fd, 'x'), () => fs.createReadStream('a', { start: 'x' }), () => fs.createReadStream('a', { start: 3, end: 1 }), () => fs.createWriteStream('a', { fd: 'k' }), () => fs.createReadStream(46), () => fs.createReadStream('a', { fs: { open: null } })])
  try { console.log(f()); } catch (e) { console.log(e.name, e.code, e.message); }
fs.fchmodSync(fd, 0o640);
fs.futimesSync(fd, 1, 2);
console.log((fs.fstatSync(fd).mode & 0o777).toString(8), fs.statSync('a').mtimeMs, fs.readSync(fd, Buffer.alloc(4), { length: 2 }));
fs.mkdirSync('one/../two/three', { recursive: true });
console.log(fs.existsSync('one'), fs.existsSync('two/three'), fs.readdirSync('two', 'hex'), fs.realpathSync('a', 'base64').length > 0, typeof fs.statfsSync('.', { bigint: true }).bsize);
// process: removes folders with rmdir as Node.js does
const fs = require('fs');
fs.mkdirSync('d/e', { recursive: true });
fs.writeFileSync('f', '');
for (const name of ['f', 'missing', 'd']) try { fs.rmdirSync(name, { recursive: true }); console.log('removed', name); } catch (e) { console.log(e.code); }
console.log(fs.existsSync('d'));
// program: streams of files have the functions and options of Node.js
const fs = require('fs');
fs.writeFileSync('a', 'abcdefghij');
const lines = [];
const log = (...args) => lines.push(args.join(' '));
function Own(...args) { fs.ReadStream.call(this, ...args); }
Object.setPrototypeOf(Own.prototype, fs.ReadStream.prototype);
Own.prototype.open = function () {
  fs.open(this.path, this.flags, this.mode, (error, fd) => { this.fd = fd; this.emit('open', fd); this.read(); });
};
new Own('a').on('open', () => log('own open')).on('data', (d) => log('own', d)).on('close', () => {
  const r = fs.ReadStream('a', { __proto__: { start: 2, end: 5 }, encoding: 'utf8', highWaterMark: 3 });
  log(r instanceof fs.ReadStream, r.start, r.end, r.pending, r.path);
  r.on('data', (d) => log('part', d, r.bytesRead)).on('close', () => {
    const calls = [];
    const own = { open: fs.open, write: (...args) => { calls.push('write'); fs.write(...args); }, writev: (...args) => { calls.push('writev'); fs.writev(...args); }, close: fs.close };
    const w = fs.createWriteStream('b', { fs: own });
    w.write('1'); w.write('2'); w.write('3');
    w.end('4', () => log('end'));
    w.close(() => {
      log(fs.readFileSync('b', 'utf8'), w.bytesWritten, w.closed, calls.join());
      const kept = fs.createWriteStream('c', { autoClose: false });
      kept.end('x').on('finish', () => {
        log(kept.closed, typeof kept.fd, kept.autoClose);
        kept.close(() => {
          log(kept.fd);
          fs.promises.open('a').then(async (handle) => {
            let text = '';
            for await (const part of handle.createReadStream({ encoding: 'utf8', start: 7 })) text += part;
            log(text, handle.fd, await handle.close());
            await handle.stat().catch((e) => log(e.code, e.syscall));
            const dir = fs.opendirSync('.');
            dir.closeSync();
            try { dir.readSync(); } catch (e) { log(e.code, e.message); }
            console.log(lines.join('\n'));
          });
        });
      });
    });
  });
});
// program: aborted reads and writes fail
const fs = require('fs');
fs.writeFileSync('a', 'x');
const controller = new AbortController();
fs.readFile('a', { signal: controller.signal }, (error) => {
  console.log(error.name, error.code);
  fs.promises.writeFile('b', 'x', { signal: controller.signal }).catch((e) => {
    console.log(e.name, fs.existsSync('b'));
    require('readline').createInterface({ input: fs.createReadStream('missing') }).on('error', (e2) => console.log(e2.code));
  });
});
controller.abort();
