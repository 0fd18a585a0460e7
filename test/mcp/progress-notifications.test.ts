/** Progress notifications, which must be text that every client can decode. */
import { describe, expect, test } from 'vitest';
import { progressReporter } from '../../packages/server/src/mcp/progress-notifications.ts';

type Request = Parameters<typeof progressReporter>[0];

/** The messages that are sent for one report with this output. */
function messagesFor(output: string): string[] {
  const messages: string[] = [];
  const request = {
    _meta: { progressToken: 'token' },
    notify: async ({ params }: { params: { message: string } }) => void messages.push(params.message),
  };
  progressReporter(request as unknown as Request)!({ fuel_consumed: 1, fuel_budget: 2, output });
  return messages;
}

describe('progress notification', () => {
  test.each([
    ['a lone first half', 'a\ud83db', 'a\ufffdb'],
    ['a lone second half', 'a\ude00b', 'a\ufffdb'],
    ['halves in the wrong order', 'a\ude00\ud83db', 'a\ufffd\ufffdb'],
    ['a whole character', 'a\u{1f600}b', 'a\u{1f600}b'],
  ])('replaces lone surrogates: %s', (_, output, shown) => {
    expect(messagesFor(output)).toEqual([`50.0% of the fuel budget\n${shown}`]);
  });

  test('does not begin with half a character if output is cut', () => {
    const [message] = messagesFor(`${'\u{1f600}'.repeat(1500)}x`);
    expect(message).toMatch(/^50\.0% of the fuel budget\n\u{1f600}+x$/u);
    expect(message).not.toMatch(/\p{Surrogate}|\ufffd/u);
  });
});
