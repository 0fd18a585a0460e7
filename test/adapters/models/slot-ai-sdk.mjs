/** A model that runs two commands and answers with the results that it received. */
import { MockLanguageModelV4 } from 'ai/test';

const COMMANDS = ['echo "print(6 * 7)" > answer.py; ls', 'python3 answer.py'];
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
    const command = COMMANDS[results.length];
    if (command === undefined) {
      const text = results.map(({ output }) => output.value).join('');
      return { content: [{ type: 'text', text }], finishReason: { unified: 'stop' }, usage, warnings: [] };
    }
    const call = { type: 'tool-call', toolCallId: `${results.length}`, toolName: 'shell' };
    const content = [{ ...call, input: JSON.stringify({ command }) }];
    return { content, finishReason: { unified: 'tool-calls' }, usage, warnings: [] };
  },
});
