/** The scripted model of LangChain: it writes, edits and runs a program, searches its files, and answers with what the tools returned. */
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';

const CALLS = [
  ['write_file', { file_path: '/app/answer.py', content: 'print(6 * 8)\n' }],
  ['edit_file', { file_path: '/app/answer.py', old_string: '8', new_string: '7' }],
  ['ls', { path: '/app' }],
  ['read_file', { file_path: '/app/answer.py' }],
  ['grep', { pattern: 'print(', path: '/app' }],
  ['glob', { pattern: '**/*.py', path: '/app' }],
  ['execute', { command: 'python3 answer.py' }],
];

export const model = CALLS.reduce(
  (scripted, [name, args]) => scripted.respondWithTools([{ name, args, id: name }]),
  fakeModel(),
).respond((messages) => {
  const results = messages.filter((message) => message.getType() === 'tool');
  return new AIMessage(results.map(({ name, text }) => `${name}: ${text.trim()}`).join('\n'));
});
