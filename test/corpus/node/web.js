// process: headers
const headers = new Headers({ 'Content-Type': 'text/plain', 'X-A': '1' });
headers.append('x-a', '2');
headers.set('B', ' padded ');
console.log([...headers], headers.get('X-a'), headers.get('none'), headers.has('b'), [...headers.keys()]);
headers.delete('b');
headers.append('set-cookie', 'a=1');
headers.append('set-cookie', 'b=2');
headers.forEach((value, name) => console.log(name, value));
console.log(headers.getSetCookie(), Object.prototype.toString.call(headers));
try { headers.set('bad name', 'x'); } catch (error) { console.log(error.name); }

// process: responses
(async () => {
  const response = new Response('{"a":[1,2]}', { status: 201, headers: { 'x-test': 'yes' } });
  console.log(response.status, response.ok, response.headers.get('content-type'), response.headers.get('x-test'), response.bodyUsed);
  const copy = response.clone();
  console.log(await response.json(), response.bodyUsed, await copy.text());
  await response.text().catch((error) => console.log(error.name));
  const json = Response.json({ ok: true }, { status: 400 });
  console.log(json.status, json.ok, json.headers.get('content-type'), await json.json());
  const bytes = new Response(new Uint8Array([104, 105]));
  console.log(await bytes.text(), bytes.headers.get('content-type'), (await new Response('abc').arrayBuffer()).byteLength);
  console.log(await (await new Response('x', { headers: { 'content-type': 'a/b' } }).blob()).text(), (await new Response(null).text()).length);
  const chunks = [];
  for await (const chunk of new Response('stream').body) chunks.push(...chunk);
  console.log(String.fromCharCode(...chunks), Response.redirect('http://a.b/c', 301).headers.get('location'));
  try { new Response('', { status: 700 }); } catch (error) { console.log(error.name); }
})();

// process: requests and forms
(async () => {
  const request = new Request('https://example.com/path?q=1', { method: 'post', body: new URLSearchParams({ a: 'b c' }), headers: { Accept: 'json' } });
  console.log(request.method, request.url, request.headers.get('accept'), request.headers.get('content-type'));
  console.log([...(await request.clone().formData())], await request.text());
  try { new Request('https://a.b', { body: 'x' }); } catch (error) { console.log(error.name, error.message); }
  try { new Request('not a url'); } catch (error) { console.log(error.name); }
  const form = new FormData();
  form.append('name', 'Ada');
  form.append('name', 'Bob');
  form.append('file', new Blob(['abc'], { type: 'text/plain' }), 'a.txt');
  console.log(form.get('name'), form.getAll('name'), form.has('file'), form.get('file').name, form.get('file').type);
  form.set('name', 'Eve');
  form.delete('file');
  console.log([...form], [...form.keys()]);
})();

// process: fetch of data URLs and aborted requests
(async () => {
  const response = await fetch('data:text/plain;base64,aGVsbG8=');
  console.log(await response.text(), response.headers.get('content-type'), response.ok);
  await fetch('http://a.b', { signal: AbortSignal.abort() }).catch((error) => console.log(error.name));
  await fetch('nonsense').catch((error) => console.log(error.name));
})();

// process: forms and streams as text
const shown = new FormData();
shown.append('name', 'Ada');
for (const tag of ['a', 'b']) shown.append('tag', tag);
shown.append('file', new File(['x'], 'a.txt', { lastModified: 1 }));
console.log(shown, new FormData());
for (const method of ['append', 'set'])
  try { shown[method]('name', 'text', 'a.txt'); } catch (error) { console.log(error.name, shown.get('name')); }
console.log(new ReadableStream(), new ReadableStream({ type: 'bytes' }), new WritableStream(), new TransformStream());
console.log(typeof require('util').inspect(ReadableStream.prototype));

// program: message channels
const { port1, port2 } = new MessageChannel();
port2.onmessage = (event) => {
  console.log('got', event.data);
  port2.postMessage({ reply: event.data.n + 1 });
};
port1.onmessage = (event) => {
  console.log('reply', event.data);
  port1.close();
};
const message = { n: 1, when: new Date(0) };
port1.postMessage(message);
message.n = 99;
console.log('posted');

// program: text decoders of East Asian encodings
const shiftJis = [0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea, 0x20, 0xb6, 0xc5, 0x81, 0x60, 0x87, 0x40];
console.log(new TextDecoder('shift_jis').decode(new Uint8Array(shiftJis)));
const gb18030 = [0xd6, 0xd0, 0xce, 0xc4, 0x81, 0x30, 0x81, 0x30, 0x95, 0x32, 0x82, 0x36];
const decoder = new TextDecoder('gb18030');
console.log(decoder.encoding, decoder.decode(new Uint8Array(gb18030)));

// program: classes that only the platform constructs
for (const type of [Crypto, SubtleCrypto, AbortSignal]) {
  try {
    new type();
  } catch (error) {
    console.log(type.name, error.name, error.code, error.message);
  }
}
console.log(crypto instanceof Crypto, crypto.subtle instanceof SubtleCrypto);
console.log(String(crypto), String(crypto.subtle), Object.keys(crypto), Object.keys(crypto.subtle));
for (const type of [AbortSignal, Event, MessagePort])
  console.log(Object.getOwnPropertyNames(type).filter((name) => name.startsWith('_')));
const entry = performance.mark('a', { startTime: 1 });
console.log(entry instanceof PerformanceEntry, entry instanceof PerformanceMark, typeof PerformanceObserver);
const bytes = new ReadableStream({ type: 'bytes', start: (controller) => controller.enqueue(new Uint8Array([1, 2])) });
const reader = bytes.getReader({ mode: 'byob' });
console.log(reader instanceof ReadableStreamBYOBReader);
reader.read(new Uint8Array(4)).then(({ value, done }) => console.log(value, done));
