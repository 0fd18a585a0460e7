// program: hashes with several algorithms
const crypto = require('crypto');
for (const a of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-256', 'ripemd160', 'SHA256', 'RSA-SHA256']) console.log(a, crypto.createHash(a).update('hello').update(Buffer.from(' world')).digest('hex'));
console.log(crypto.createHash('sha256').digest('base64'), crypto.createHash('sha1').update('é', 'latin1').digest('hex'), crypto.createHash('md5').update('x').digest());
const h = crypto.createHash('sha256').update('a');
console.log(h.copy().digest('hex') === h.digest('hex'));
try { h.update('b'); } catch (e) { console.log(e.code); }
try { crypto.createHash('nope'); } catch (e) { console.log(e.message); }
// program: computes HMAC and derives keys
const crypto = require('crypto');
console.log(crypto.createHmac('sha256', 'key').update('data').digest('hex'), crypto.createHmac('sha1', Buffer.from('k')).update('d').digest('base64'));
console.log(crypto.pbkdf2Sync('password', 'salt', 10, 32, 'sha256').toString('hex'), crypto.scryptSync('pw', 'salt', 16, { N: 16 }).toString('hex'), Buffer.from(crypto.hkdfSync('sha256', 'key', 'salt', 'info', 16)).toString('hex'));
crypto.pbkdf2('p', 's', 1, 8, 'sha512', (e, k) => console.log(e, k.toString('hex')));
// program: creates random values
const crypto = require('crypto');
console.log(crypto.randomBytes(8).length, /^[0-9a-f-]{36}$/.test(crypto.randomUUID()), crypto.randomInt(5) < 5, crypto.randomInt(3, 4), crypto.getRandomValues(new Uint8Array(4)).length, crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('a')), crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('b')));
try { crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')); } catch (e) { console.log(e.code); }
crypto.randomBytes(4, (e, b) => console.log(e, b.length));
// program: digests with Web Crypto
(async () => {
  const d = await crypto.subtle.digest('SHA-256', new TextEncoder().encode('hello'));
  console.log(Buffer.from(d).toString('hex'), d instanceof ArrayBuffer, typeof crypto.randomUUID());
  console.log(require('crypto').webcrypto.subtle === crypto.subtle);
})();
// program: compresses and expands
const zlib = require('zlib');
const text = 'hello hello hello hello '.repeat(20);
for (const [c, d] of [['gzipSync', 'gunzipSync'], ['deflateSync', 'inflateSync'], ['deflateRawSync', 'inflateRawSync'], ['gzipSync', 'unzipSync'], ['deflateSync', 'unzipSync']]) console.log(c, zlib[d](zlib[c](text)).toString() === text, zlib[c](text).length < text.length);
console.log(zlib.inflateSync(Buffer.from('eJzLSM3JyQcABiwCFQ==', 'base64')).toString(), zlib.gunzipSync(Buffer.from('H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==', 'base64')).toString());
for (const f of [() => zlib.inflateSync('nope'), () => zlib.gunzipSync(Buffer.from('x')), () => zlib.gzipSync(5)]) try { f(); } catch (e) { console.log(e.code); }
zlib.gzip('async', (e, b) => zlib.gunzip(b, (e2, t) => console.log(e, e2, t.toString())));
// program: reads streams with events
const { Readable } = require('stream');
const r = Readable.from(['a', 'b', 'c']);
r.on('data', (c) => console.log('data', c));
r.on('end', () => console.log('end'));
r.on('close', () => console.log('close'));
// program: iterates over streams
const { Readable } = require('stream');
(async () => {
  for await (const c of Readable.from([1, 2, 3])) console.log(c);
  const r = new Readable({ read() { this.push(this.n === undefined ? (this.n = 1, 'chunk') : null); } });
  r.setEncoding('utf8');
  for await (const c of r) console.log(c);
  console.log(await Readable.from([1, 2, 3, 4]).filter((x) => x % 2).map((x) => x * 10).toArray());
})();
// program: pipes through transforms
const { Readable, Transform, Writable, PassThrough, pipeline } = require('stream');
const out = [];
pipeline(
  Readable.from(['one ', 'two ', 'three']),
  new Transform({ transform(chunk, enc, cb) { cb(null, chunk.toString().toUpperCase()); } }),
  new PassThrough(),
  new Writable({ write(chunk, enc, cb) { out.push(chunk.toString()); cb(); } }),
  (err) => console.log(err, out.join('')),
);
// program: handles errors of streams
const { Readable, Writable } = require('stream');
const { pipeline, finished } = require('stream/promises');
(async () => {
  await pipeline(Readable.from(['x']), new Writable({ write(c, e, cb) { cb(new Error('disk full')); } })).catch((e) => console.log(e.message));
  const r = new Readable({ read() {} });
  r.destroy(new Error('gone'));
  await finished(r).catch((e) => console.log(e.message));
  console.log(r.destroyed);
})();
// program: writes streams with backpressure
const { Writable } = require('stream');
const w = new Writable({ highWaterMark: 3, write(c, e, cb) { setImmediate(() => { console.log('wrote', c.toString()); cb(); }); } });
console.log(w.write('ab'), w.write('cd'), w.writableLength);
w.on('drain', () => { console.log('drain'); w.end('last'); });
w.on('finish', () => console.log('finish'));
// program: streams files
const fs = require('fs');
const { pipeline } = require('stream/promises');
(async () => {
  fs.writeFileSync('in.txt', 'line one\nline two\n'.repeat(3));
  await pipeline(fs.createReadStream('in.txt', 'utf8'), async function* (source) { for await (const c of source) yield c.toUpperCase(); }, fs.createWriteStream('out.txt'));
  console.log(fs.readFileSync('out.txt', 'utf8'));
  const parts = [];
  for await (const c of fs.createReadStream('in.txt', { start: 5, end: 7 })) parts.push(c.toString());
  console.log(parts);
  fs.createReadStream('missing').on('error', (e) => console.log(e.code));
})();
// program: compresses streams
const zlib = require('zlib');
const { Readable } = require('stream');
const { text } = require('stream/consumers');
text(Readable.from(['compress ', 'me']).pipe(zlib.createGzip()).pipe(zlib.createGunzip())).then(console.log);
// program: reads lines of files
const fs = require('fs');
const readline = require('readline');
fs.writeFileSync('l.txt', 'first\nsecond\r\nthird');
(async () => {
  for await (const line of readline.createInterface({ input: fs.createReadStream('l.txt'), crlfDelay: Infinity })) console.log(JSON.stringify(line));
  const rl = readline.createInterface({ input: fs.createReadStream('l.txt') });
  rl.on('line', (l) => console.log('line', l)).on('close', () => console.log('closed'));
})();
// program: uses web streams
(async () => {
  const rs = new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); } });
  const upper = new TransformStream({ transform(chunk, c) { c.enqueue(chunk.toUpperCase()); } });
  const reader = rs.pipeThrough(upper).getReader();
  console.log(await reader.read(), await reader.read(), await reader.read());
  const got = [];
  const ws = new WritableStream({ write(c) { got.push(c); } });
  const w = ws.getWriter();
  await w.write(1);
  await w.close();
  console.log(got);
  for await (const c of new ReadableStream({ pull(c) { c.enqueue(5); c.close(); } })) console.log(c);
})();
// program: holds bytes in blobs and files
(async () => {
  const b = new Blob(['héllo', new Uint8Array([33])], { type: 'Text/Plain' });
  console.log(b.size, b.type, await b.text(), (await b.arrayBuffer()).byteLength, await b.slice(0, 1).text(), b);
  const f = new File(['data'], 'name.txt', { lastModified: 5 });
  console.log(f.name, f.lastModified, f instanceof Blob, await f.text());
})();
// program: readable streams of Node.js become streams of the web, and back
const { Readable } = require('stream');
(async () => {
  const parts = [];
  for await (const part of Readable.toWeb(Readable.from([Buffer.from('a'), Buffer.from('b')], { objectMode: false }))) parts.push(part);
  console.log(parts);
  const web = new ReadableStream({ start(c) { c.enqueue('x'); c.enqueue('y'); c.close(); } });
  console.log(await Readable.fromWeb(web, { encoding: 'utf8' }).toArray());
  const failing = Readable.toWeb(new Readable({ read() { this.destroy(new Error('broken')); } })).getReader();
  await failing.read().catch((e) => console.log(e.message));
  try { Readable.fromWeb({}); } catch (e) { console.log(e.code); }
})();
