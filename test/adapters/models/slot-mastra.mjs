/** A model that runs two commands with the tool of the workspace and answers with the results that it received. */

const COMMANDS = ['echo "print(6 * 7)" > answer.py; ls', 'python3 answer.py'];
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

const respond = ({ prompt, tools }) => {
  const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
  const command = COMMANDS[results.length];
  if (command === undefined) {
    const text = results.map(({ output }) => output.value).join('\n');
    return { content: { type: 'text', text }, finishReason: { unified: 'stop' } };
  }
  const { name } = tools.find((tool) => tool.name.endsWith('execute_command'));
  const call = { type: 'tool-call', toolCallId: `${results.length}`, toolName: name };
  return {
    content: { ...call, input: JSON.stringify({ command }) },
    finishReason: { unified: 'tool-calls' },
  };
};

export const model = {
  specificationVersion: 'v3',
  provider: 'test',
  modelId: 'test',
  supportedUrls: {},
  doGenerate: async (options) => {
    const { content, finishReason } = respond(options);
    return { content: [content], finishReason, usage, warnings: [] };
  },
  doStream: async (options) => {
    const { content, finishReason } = respond(options);
    const { text } = content;
    const parts =
      text === undefined
        ? [content]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: text },
            { type: 'text-end', id: '1' },
          ];
    const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
    return { stream: ReadableStream.from(all) };
  },
};
