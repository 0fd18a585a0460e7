import { describe, expect, it } from 'vitest';
import { callText } from '../../packages/core/src/tools/question-text.ts';

describe('the text that asks a person about a call', () => {
  // guarantee: approval
  // proves: An approval request makes hidden and misleading characters visible.
  it.each([
    ['an escape sequence', '\x1b[2K', '\\u001b[2K'],
    ['a line break', '\n', '\\n'],
    ['a line separator', '\u2028', '\\u{2028}'],
    ['a change of direction', '\u202e', '\\u{202e}'],
    ['a space without width', '\u200b', '\\u{200b}'],
    ['a variation selector', '\ufe01', '\\u{fe01}'],
    ['a variation selector beyond 16 bits', '\u{e0101}', '\\u{e0101}'],
    ['a tag character', '\u{e0041}', '\\u{e0041}'],
    ['a Hangul filler', '\u3164', '\\u{3164}'],
    ['a blank Braille pattern', '\u2800', '\\u{2800}'],
    ['half a surrogate pair', '\ud800', '\\ud800'],
  ])('shows %s', (_, hidden, shown) => {
    expect(callText({ name: 'send', arguments: { to: `ann${hidden}eve` } })).toBe(
      `send with the arguments {"to":"ann${shown}eve"}`,
    );
  });

  // guarantee: approval
  // proves: An approval request shows the visible text of all scripts unchanged.
  it('shows visible text of all scripts as it is', () => {
    const to = 'Zoë 東京 مرحبا 👍 a b';
    expect(callText({ name: 'send', arguments: { to } })).toBe(`send with the arguments {"to":"${to}"}`);
  });

  // guarantee: network
  // proves: The URL of a request is shown as it is sent, and a program cannot misstate the size of its body.
  it.each([
    [{ url: 'https://a.example/', body: 'YWJj' }, 'https://a.example/ with a body of 3 bytes'],
    [{ url: 'https://a.example/', body_bytes: 3 }, 'https://a.example/ with a body of 3 bytes'],
    // A program cannot hide its body.
    [{ url: 'https://a.example/', body: 'YWJj', body_bytes: 0 }, 'https://a.example/ with a body of 3 bytes'],
    // A URL is shown as it is sent.
    [{ url: 'https://\u0430.example/' }, 'https://xn--80a.example/ without a body'],
    [{ url: 'https://b.example/x/../%61#https://a.example/' }, 'https://b.example/a without a body'],
    [{ url: 'https://a.example@b.example/\n' }, 'https://a.example@b.example/\\x0a without a body'],
  ])('shows the request %j', (request, shown) => {
    expect(callText({ name: 'network:request', arguments: { method: 'GET', ...request } })).toBe(
      `GET ${shown}`,
    );
  });
});
