/**
 * How server frameworks write a text by default: their JSON, their HTML, and the encodings of their standard libraries. Each row is
 * written from the source of the framework; where a framework is part of this computer, tests also run the original.
 */

type Escape = (code: number) => string;

const hex4 = (code: number) => code.toString(16).padStart(4, '0');
const lowerU: Escape = (code) => `\\u${hex4(code)}`;
const upperU: Escape = (code) => `\\u${hex4(code).toUpperCase()}`;

/** JSON with more characters escaped than necessary. */
const json =
  (characters: string, spell: Escape = lowerU, { isAscii = false, hasOwnQuotes = false } = {}) =>
  (text: string): string => {
    const plain = JSON.stringify(text).slice(1, -1);
    const quoted = hasOwnQuotes ? plain.replaceAll('\\"', spell(0x22)) : plain;
    return quoted.replace(/[\s\S]/g, (one) =>
      characters.includes(one) || (isAscii && one > '\x7e') ? spell(one.charCodeAt(0)) : one,
    );
  };

/** HTML by the references of the characters that are not written as they are. */
const html =
  (references: Readonly<Record<string, string>>, other: Escape = (code) => String.fromCharCode(code)) =>
  (text: string): string =>
    text.replace(/[\s\S]/g, (one) => references[one] ?? other(one.charCodeAt(0)));

const BASIC = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const upperReference: Escape = (code) =>
  code > 0x7e ? `&#x${code.toString(16).toUpperCase()};` : String.fromCharCode(code);

const percent =
  (kept: RegExp, blank = '%20', isLower = false) =>
  (text: string) =>
    [...Buffer.from(text)]
      .map((byte) => {
        const one = String.fromCharCode(byte);
        if (one === ' ') return blank;
        const digits = byte.toString(16).padStart(2, '0');
        return kept.test(one) && byte < 0x80 ? one : `%${isLower ? digits : digits.toUpperCase()}`;
      })
      .join('');

const lines = (text: string, width: number, end: string) =>
  text.replace(new RegExp(`.{${width}}(?=.)`, 'g'), `$&${end}`);

export const SERIALISERS: Readonly<Record<string, (text: string) => string>> = {
  'plain text': (text) => text,
  // JSON
  'Express, Fastify, NestJS, Next.js': json(''),
  'Spring, Quarkus (Jackson)': json(''),
  'FastAPI (json, no ASCII)': json(''),
  'Django (json)': json('', lowerU, { isAscii: true }),
  'Flask (tojson)': json("<>&'", lowerU, { isAscii: true }),
  'Go encoding/json': json('<>&'),
  Gson: json("<>&='"),
  'ASP.NET (System.Text.Json)': json("<>&'+`", upperU, { isAscii: true, hasOwnQuotes: true }),
  Rails: json('<>&'),
  'Rails before 4.1': json('<>&', upperU),
  'Laravel, Symfony (json_encode)': (text) =>
    json('', lowerU, { isAscii: true })(text).replaceAll('/', '\\/'),
  'Symfony JsonResponse': (text) =>
    json("<>&'", upperU, { isAscii: true, hasOwnQuotes: true })(text).replaceAll('/', '\\/'),
  'JSON in JSON': (text) => json('')(json('')(text)),
  // HTML
  'Flask (MarkupSafe)': html({ ...BASIC, '"': '&#34;', "'": '&#39;' }),
  Django: html({ ...BASIC, '"': '&quot;', "'": '&#x27;' }),
  'Rails (ERB)': html({ ...BASIC, '"': '&quot;', "'": '&#39;' }),
  'Laravel (htmlspecialchars)': html({ ...BASIC, '"': '&quot;', "'": '&#039;' }),
  'Go html/template': html({ ...BASIC, '"': '&#34;', "'": '&#39;', '+': '&#43;' }),
  'Go html/template, attributes without quotes': html({
    ...BASIC,
    ...{ '"': '&#34;', "'": '&#39;', '+': '&#43;', ' ': '&#32;', '=': '&#61;', '`': '&#96;' },
  }),
  'ASP.NET (HtmlEncoder)': html({ ...BASIC, '"': '&quot;', "'": '&#x27;', '+': '&#x2B;' }, upperReference),
  'Spring (HtmlUtils)': html({ ...BASIC, '"': '&quot;', "'": '&#39;' }),
  Handlebars: html({ ...BASIC, '"': '&quot;', "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' }),
  mustache: html({
    ...BASIC,
    ...{ '"': '&quot;', "'": '&#39;', '/': '&#x2F;', '`': '&#x60;', '=': '&#x3D;' },
  }),
  EJS: html({ ...BASIC, '"': '&#34;', "'": '&#39;' }),
  Pug: html({ ...BASIC, '"': '&quot;' }),
  XML: html({ ...BASIC, '"': '&quot;', "'": '&apos;' }),
  'JSON in HTML': (text) => html({ ...BASIC, '"': '&quot;', "'": '&#39;' })(json('')(text)),
  'HTML in JSON': (text) => json('<>&')(html({ ...BASIC, '"': '&#34;', "'": '&#39;' })(text)),
  // URLs
  encodeURIComponent: percent(/[\w.~!*'()-]/),
  encodeURI: percent(/[\w.~!*'();/?:@&=+$,#-]/),
  'URLSearchParams, application/x-www-form-urlencoded': percent(/[\w.*-]/, '+'),
  'Python quote': percent(/[\w.~/-]/),
  'Python quote_plus': percent(/[\w.~-]/, '+'),
  'lower case': percent(/[\w.~-]/, '%20', true),
  'all characters': percent(/(?!)/),
  'URL in URL': (text) => percent(/[\w.~-]/)(percent(/[\w.~-]/)(text)),
  'URL in JSON': (text) => json('<>&')(percent(/[\w.~!*'();/?:@&=+$,#-]/)(text)),
  // Bytes
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  'base64 after a byte': (text) => Buffer.from(`x${text}y`).toString('base64'),
  'base64 after two bytes': (text) => Buffer.from(`xx${text}y`).toString('base64'),
  'base64 after two bytes, before two': (text) => Buffer.from(`xx${text}yy`).toString('base64'),
  'base64 in MIME': (text) => lines(Buffer.from(`x${text}y`).toString('base64'), 76, '\r\n'),
  'base64 in PEM': (text) => lines(Buffer.from(`xx${text}`).toString('base64'), 64, '\n'),
  'base64 in short lines': (text) => lines(Buffer.from(`x${text}`).toString('base64'), 5, '\r\n'),
  'base64 in lines in JSON': (text) => json('')(lines(Buffer.from(text).toString('base64'), 20, '\n')),
  'base64 in a URL': (text) => percent(/[\w.~-]/)(Buffer.from(`xx${text}`).toString('base64')),
  'base64 in JSON of PHP': (text) => Buffer.from(text).toString('base64').replaceAll('/', '\\/'),
  'base64 of UTF-16': (text) => Buffer.from(`x${text}`, 'utf16le').toString('base64'),
  'base64 of UTF-16, big-endian': (text) => Buffer.from(`x${text}`, 'utf16le').swap16().toString('base64'),
  'object of bytes': (text) => JSON.stringify(new Uint8Array(Buffer.from(text))),
  'object of bytes in JSON': (text) => json('')(JSON.stringify(new Uint8Array(Buffer.from(text)))),
  'signed bytes of Java': (text) => `[${new Int8Array(Buffer.from(text)).join(', ')}]`,
  'quotes of a shell': (text) => text.replaceAll("'", "'\\''"),
  'quotes of a shell (shlex.quote)': (text) => text.replaceAll("'", `'"'"'`),
  'indented lines': (text) => lines(text, 7, '\r\n    '),
  'continued, indented lines': (text) => lines(text, 7, '\\\n\t  '),
  hexadecimal: (text) => Buffer.from(text).toString('hex'),
  'hexadecimal, upper case': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'hexadecimal with colons': (text) => Buffer.from(text).toString('hex').match(/../g)!.join(':'),
  'bytes in C': (text) => [...Buffer.from(text)].map((byte) => `0x${byte.toString(16)}`).join(', '),
  'Buffer in JSON': (text) => JSON.stringify(Buffer.from(text)),
  'bytes in Go': (text) => `[${[...Buffer.from(text)].join(' ')}]`,
  // Other languages and character sets
  'text in JavaScript': (text) => [...text].map((one) => `\\x${hex4(one.charCodeAt(0)).slice(2)}`).join(''),
  'text in Rust': (text) =>
    [...text].map((one) => (/\w/.test(one) ? one : `\\u{${one.charCodeAt(0).toString(16)}}`)).join(''),
  'quoted-printable': (text) =>
    lines(
      [...Buffer.from(text)]
        .map((byte) =>
          byte > 0x20 && byte < 0x7f && byte !== 0x3d
            ? String.fromCharCode(byte)
            : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`,
        )
        .join(''),
      30,
      '=\r\n',
    ),
  CSV: (text) => `"${text.replaceAll('"', '""')}"`,
  'UTF-16': (text) => Buffer.from(text, 'utf16le').toString('latin1'),
};

/** Programs that write a list of texts with the original functions. The names are those of `originals` in their output. */
export const PYTHON_SERIALISERS = `import base64, html, json, sys, urllib.parse
for text in json.load(sys.stdin):
    data = text.encode()
    print(json.dumps([json.dumps(text), json.dumps(text, ensure_ascii=False), json.dumps(json.dumps(text)), html.escape(text),
        html.escape(json.dumps(text)), urllib.parse.quote(text), urllib.parse.quote_plus(text), urllib.parse.quote(text, safe=''),
        urllib.parse.urlencode({'a': text}), base64.b64encode(data).decode(), base64.urlsafe_b64encode(b'x' + data).decode(),
        base64.encodebytes(b'xx' + data + b'y' * 60).decode(), data.hex(), data.hex(':'), str(list(data)),
        json.dumps(list(data), indent=2), repr(data), repr(text), text.encode('unicode_escape').decode('latin-1')]))
`;
