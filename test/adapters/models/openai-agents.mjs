/** A model of the OpenAI Agents SDK that runs the programs in turn and answers with the tool results that it received. */
import { setTracingDisabled, Usage } from '@openai/agents';
import { PROGRAMS } from './programs.mjs';

setTracingDisabled(true);

export const model = {
  async getResponse({ input, tools }) {
    const results = input.filter(({ type }) => type === 'function_call_result').map(({ output }) => output);
    const code = PROGRAMS[results.length];
    const usage = new Usage();
    if (code === undefined) {
      const content = [{ type: 'output_text', text: JSON.stringify({ tools, results }) }];
      return { usage, output: [{ type: 'message', role: 'assistant', status: 'completed', content }] };
    }
    const call = { type: 'function_call', callId: `call-${results.length}`, name: 'execute_code' };
    return { usage, output: [{ ...call, status: 'completed', arguments: JSON.stringify({ code }) }] };
  },
};
