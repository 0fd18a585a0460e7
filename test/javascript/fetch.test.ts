import { describe, expect, test } from 'vitest';
import { javascript } from '../support/sandbox.ts';

describe('fetch', () => {
  test('rejects with an error that names the alternative and has the code of its cause', async () => {
    const { metadata } = await javascript(
      "const error = await fetch('https://example.com').catch((e) => e); [error.name, error.cause.code, error.message]",
    );
    const [name, code, message] = metadata.result as string[];
    expect([name, code]).toEqual(['TypeError', 'ENETUNREACH']);
    expect(message).toMatch(/no network\. Call a tool that gets the data, or pass the data as files/);
  });

  test('has the same alternative as the functions of http, net, dns and the other network modules', async () => {
    const { metadata } = await javascript(`
      const calls = ['http.get', 'https.request', 'http2.connect', 'net.connect', 'tls.connect', 'dns.lookup', 'dgram.createSocket'];
      calls.map((name) => {
        const [module, call] = name.split('.');
        try { require(module)[call]('example.com'); } catch ({ code, message }) { return code + ' ' + message; }
      })
    `);
    const errors = metadata.result as string[];
    expect(errors).toHaveLength(7);
    for (const error of errors)
      expect(error).toMatch(
        /^ERR_FEATURE_UNAVAILABLE_ON_PLATFORM .*The sandbox has no network\. Call a tool that gets the data, or pass/,
      );
  });

  test('and Request reject URLs with credentials', async () => {
    const { metadata } = await javascript(`
      const errors = [];
      for (const url of ['http://user@example.com/', 'http://:password@example.com/']) {
        try { new Request(url); } catch (error) { errors.push(error.message); }
        await fetch(url).catch((error) => errors.push(error.message));
      }
      errors
    `);
    const refused = (url: string) =>
      `Request cannot be constructed from a URL that includes credentials: ${url}`;
    const [user, password] = ['http://user@example.com/', 'http://:password@example.com/'].map(refused);
    expect(metadata.result).toEqual([user, user, password, password]);
  });

  test('gets guidance about the missing network', async () => {
    const { metadata } = await javascript("const res = await fetch('https://example.com');");
    expect(metadata.error_guidance).toMatchObject({ error_type: 'UnsupportedFeature' });
  });
});
