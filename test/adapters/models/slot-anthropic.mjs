/** The client of the package with a server that calls the tools and answers with the results that it received. */
import Anthropic from '@anthropic-ai/sdk';

const EDITOR = 'str_replace_based_edit_tool';
const CALLS = [
  { name: EDITOR, input: { command: 'create', path: '/app/a/answer.py', file_text: 'print(6 * 6)\n' } },
  { name: EDITOR, input: { command: 'str_replace', path: '/app/a/answer.py', old_str: '6)', new_str: '7)' } },
  { name: 'bash', input: { command: 'cd a; x=1' } },
  { name: 'bash', input: { command: 'pwd; python3 answer.py; echo $x; false' } },
  { name: EDITOR, input: { command: 'view', path: '/app/none.txt' } },
];

const received = [];

const fetch = async (_url, { body }) => {
  const { content: last } = JSON.parse(body).messages.at(-1);
  const results = typeof last === 'string' ? [] : last.filter(({ type }) => type === 'tool_result');
  received.push(...results.map(({ content }) => content));
  const call = CALLS[received.length];
  const content = call
    ? [{ type: 'tool_use', id: `call-${received.length}`, ...call }]
    : [{ type: 'text', text: received.join('\n--\n') }];
  const stop_reason = call ? 'tool_use' : 'end_turn';
  const usage = { input_tokens: 1, output_tokens: 1 };
  return Response.json({
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content,
    stop_reason,
    usage,
  });
};

export const client = new Anthropic({ apiKey: 'none', fetch });
