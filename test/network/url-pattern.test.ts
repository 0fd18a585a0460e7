/** URL patterns: what they match, and what they never match. */
import { describe, expect, test } from 'vitest';
import {
  checkUrl,
  forbids,
  hrefOf,
  isNarrower,
  parseUrlPattern,
  permits,
} from '../../packages/core/src/schema/url-pattern.ts';

function pattern(text: string) {
  const parsed = parseUrlPattern(text);
  if (typeof parsed === 'string') throw new Error(`${text}: ${parsed}`);
  return parsed;
}

function url(text: string) {
  const parsed = checkUrl(text);
  if (typeof parsed === 'string') throw new Error(`${text}: ${parsed}`);
  return parsed;
}

const isPermitted = (rule: string, text: string) => permits(pattern(rule), url(text));

describe('URL pattern', () => {
  test.each([
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/items?x=1'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/'],
    ['https://api.example.com/v1/*', 'https://API.Example.com:443/v1/a/b'],
    ['https://api.example.com', 'https://api.example.com/any/path'],
    ['https://api.example.com/*', 'https://api.example.com'],
    ['https://api.example.com/a/*/c', 'https://api.example.com/a/b/b/c'],
    ['https://api.example.com/exact', 'https://api.example.com/exact?any=query#part'],
    ['https://*.example.com/*', 'https://a.example.com/'],
    ['https://*.example.com/*', 'https://a.b.example.com/'],
    ['https://*/*', 'https://anything.example/'],
    ['http://localhost:8080/*', 'http://localhost:8080/x'],
    ['https://api.example.com:8443/*', 'https://api.example.com:8443/'],
    ['https://bücher.example/*', 'https://xn--bcher-kva.example/'],
    ['https://xn--bcher-kva.example/*', 'https://BÜCHER.example/'],
    ['http://127.0.0.1:80/*', 'http://127.1/'],
    ['http://127.0.0.1/*', 'http://2130706433/'],
    ['http://[::1]/*', 'http://[0:0:0:0:0:0:0:1]/'],
    ['https://example.com/*', 'https://example.com./'],
    ['https://example.com/caf%C3%A9/*', 'https://example.com/café/x'],
    ['https://example.com/~user/*', 'https://example.com/%7Euser/x'],
  ])('%s permits %s', (rule, text) => expect(isPermitted(rule, text)).toBe(true));

  test.each([
    ['https://api.example.com/v1/*', 'http://api.example.com/v1/items'],
    ['http://api.example.com/v1/*', 'https://api.example.com/v1/items'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v2/items'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/../admin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/%2e%2e/admin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/..%2fadmin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/%2e%2e%2fadmin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/..%5cadmin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/..;/admin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/%252e%252e%252fadmin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/%2%%36%35%2%%36%35/admin'],
    ['https://api.example.com/v1/*', 'https://api.example.com/v1/%2%65%2%65/admin'],
    ['https://api.example.com/*', 'https://api.example.com:8443/'],
    ['https://api.example.com:8443/*', 'https://api.example.com/'],
    ['https://api.example.com/*', 'https://api.example.com.evil.example/'],
    ['https://api.example.com/*', 'https://evil-api.example.com/'],
    ['https://*.example.com/*', 'https://example.com/'],
    ['https://*.example.com/*', 'https://evilexample.com/'],
    ['https://*.example.com/*', 'https://example.com.evil.example/'],
    ['https://example.com/*', 'https://a.example.com/'],
    ['https://exact.example/path', 'https://exact.example/path/'],
    ['http://127.0.0.1/*', 'http://127.0.0.2/'],
    ['https://bücher.example/*', 'https://bucher.example/'],
    ['https://example.com/*', 'https://exаmple.com/'],
  ])('%s does not permit %s', (rule, text) => expect(isPermitted(rule, text)).toBe(false));

  test.each([
    ['https://a.example/admin/*', 'https://a.example/admin/x'],
    ['https://a.example/admin/*', 'https://a.example/%61dmin/x'],
    ['https://a.example/admin/*', 'https://a.example//admin/x'],
    ['https://a.example/admin/*', 'https://a.example/admin%2fx'],
    ['https://a.example/admin/*', 'https://a.example/v1/..%2fadmin/x'],
    ['https://a.example/admin/*', 'https://a.example/admin;a=b/x'],
    ['https://a.example/admin/*', 'https://a.example/;a/admin%3Bb;c/x'],
    ['https://a.example/x;y/*', 'https://a.example//x;y/z'],
    ['https://a.example', 'https://a.example./anything'],
    ['https://*.example/*', 'https://a.example/'],
  ])('%s forbids %s', (rule, text) => expect(forbids(pattern(rule), url(text))).toBe(true));

  test.each([
    ['file:///etc/passwd', 'https://'],
    ['api.example.com', 'https://'],
    ['ftp://a.example/', 'https://'],
    ['https://', 'host'],
    ['https:///path', 'host'],
    ['https://user@a.example/', 'user name'],
    ['https://a.example/?q=1', 'any query'],
    ['https://a.example/#x', 'any query'],
    ['https://a.*.example/', 'first label'],
    ['https://a*.example/', 'first label'],
    ['https://*.10.0.0.1/', 'address'],
    ['https://a.example:0/', 'port'],
    ['https://a.example:99999/', 'port'],
    ['https://a b.example/', 'valid host'],
    ['https://a..example/', 'valid host'],
    ['http://127.0.0.1../', 'valid host'],
    ['https://a.example/a\nb', 'control'],
  ])('%j is rejected', (text, problem) => expect(parseUrlPattern(text)).toContain(problem));

  test('is the form in which a URL is sent', () => {
    expect(hrefOf(url('https://A.example:443/a/%7e/../b?q=%41#frag'))).toBe('https://a.example/a/b?q=%41');
  });
});

describe('requested URL', () => {
  test.each([
    ['ftp://a.example/', 'http'],
    ['file:///etc/passwd', 'http'],
    ['data:text/plain,x', 'http'],
    ['javascript:alert(1)', 'http'],
    ['https://user@a.example/', 'user name'],
    ['https://user:password@a.example/', 'user name'],
    ['https://@a.example/', 'user name'],
    ['https://a.example/ b', 'blank'],
    ['https://a.example/\r\nHost: b', 'control'],
    ['https://a.example\\@b.example/', 'backslash'],
    ['/relative', 'valid'],
    ['https://[::1/', 'valid'],
    ['https://256.1.1.1/', 'valid'],
    ['https:///a.example/', 'valid'],
    ['https:/a.example/', 'valid'],
    ['https:a.example/', 'valid'],
    ['https:/@a.example/', 'valid'],
    ['https://a.example../', 'host'],
    ['https://a..example/', 'host'],
    ['https://.a.example/', 'host'],
    ['https://127.0.0.1../', 'host'],
    ['https://1.2.3.4。。/', 'host'],
    ['https://a.example,b.example/', 'host'],
    ["https://a'b.example/", 'host'],
    [`https://${'a'.repeat(64)}.example/`, 'host'],
    [`https://${'a.'.repeat(150)}example/`, 'host'],
    [`https://a.example/${'x'.repeat(9000)}`, 'longer'],
  ])('%j is rejected', (text, problem) => expect(checkUrl(text)).toContain(problem));

  test.each([
    ['http://127.1/', '127.0.0.1'],
    ['http://0177.0.0.1/', '127.0.0.1'],
    ['http://0x7f000001/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
    ['http://１２７.0.0.1/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://0x7f.1./', '127.0.0.1'],
    ['http://[0:0::1]/', '[::1]'],
    ['http://LOCALHOST./', 'localhost'],
  ])('%s has the host %s', (text, host) => expect(url(text).host).toBe(host));

  test.each([
    ['/100%', '/100%25'],
    ['/%2%65', '/%252e'],
    ['/%2%%36%35', '/%252%2565'],
    ['/%7e%2f%41', '/~%2FA'],
    ['/%2e%2E/.%2e/a', '/a'],
  ])('with the path %s is sent with the path %s', (given, path) => {
    expect(url(`http://a.example${given}`).path).toBe(path);
    expect(url(`http://a.example${path}`).path).toBe(path);
  });
});

describe('narrower pattern', () => {
  test.each([
    ['https://a.example/v1/*', 'https://a.example/*', true],
    ['https://a.example/v1/x', 'https://a.example/v1/*', true],
    ['https://a.b.example/*', 'https://*.b.example/*', true],
    ['https://*.a.b.example/*', 'https://*.b.example/*', true],
    ['https://*.b.example/*', 'https://*.b.example/*', true],
    ['https://a.example/*', 'https://*/*', true],
    ['https://a.example/*', 'https://a.example/v1/*', false],
    ['https://a.example', 'https://a.example/v1/*', false],
    ['http://a.example/*', 'https://a.example/*', false],
    ['https://a.example:8443/*', 'https://a.example/*', false],
    ['https://b.example/*', 'https://*.b.example/*', false],
    ['https://*/*', 'https://*.b.example/*', false],
    ['https://*.b.example/*', 'https://b.example/*', false],
  ])('%s within %s: %s', (inner, outer, expected) =>
    expect(isNarrower(pattern(inner), pattern(outer))).toBe(expected),
  );
});
