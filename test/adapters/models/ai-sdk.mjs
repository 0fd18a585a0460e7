/** A model of the AI SDK that runs the programs in turn and answers with the tool results that it received. */
import { PROGRAMS } from './programs.mjs';

export function languageModel(specificationVersion) {
  const isV3 = specificationVersion === 'v3';
  const finish = (reason) => (isV3 ? { unified: reason, raw: reason } : reason);
  const usage = isV3
    ? { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    : { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const respond = ({ prompt, tools }) => {
    const results = prompt.filter(({ role }) => role === 'tool').flatMap(({ content }) => content);
    const code = PROGRAMS[results.length];
    if (code === undefined) {
      const text = JSON.stringify({ tools, results: results.map(({ output }) => output) });
      return { content: { type: 'text', text }, finishReason: finish('stop') };
    }
    const call = { toolCallId: `call-${results.length}`, toolName: 'execute_code' };
    const content = { type: 'tool-call', ...call, input: JSON.stringify({ code }) };
    return { content, finishReason: finish('tool-calls') };
  };
  return {
    specificationVersion,
    provider: 'test',
    modelId: 'test',
    supportedUrls: {},
    doGenerate: async (options) => {
      const { content, finishReason } = respond(options);
      return { content: [content], finishReason, usage, warnings: [] };
    },
    doStream: async (options) => {
      const { content, finishReason } = respond(options);
      const isText = content.type === 'text';
      const parts = isText
        ? [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: content.text },
            { type: 'text-end', id: '1' },
          ]
        : [content];
      const all = [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
      return { stream: ReadableStream.from(all) };
    },
  };
}

export const model = languageModel('v3');
