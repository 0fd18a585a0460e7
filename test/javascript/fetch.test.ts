import { describe, expect, test } from 'vitest';
import { javascript } from '../support/sandbox.ts';

describe('fetch', () => {
  test('rejects with an error that names the alternative and has the code of its cause', async () => {
    const { metadata } = await javascript(
      "const error = await fetch('https://example.com').catch((e) => e); [error.name, error.cause.code, error.message]",
    );
    const [name, code, message] = metadata.result as string[];
    expect([name, code]).toEqual(['TypeError', 'ENETUNREACH']);
    expect(message).toMatch(/no network\. Pass the data as files/);
  });

  test('gets guidance about the missing network', async () => {
    const { metadata } = await javascript("const res = await fetch('https://example.com');");
    expect(metadata.error_guidance).toMatchObject({ error_type: 'UnsupportedFeature' });
  });
});
