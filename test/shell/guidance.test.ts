/** Guidance for shell programs, from failures of real programs. */
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'bash' }));

test.each([
  ['x="a b"; [ $x = c ]', 2, 'UnquotedVariable', 'Quote it'],
  ['x="a b"; [ -n $x ]', 2, 'UnquotedVariable', 'Quote it'],
  ['[ $nothing = 1 ]', 2, 'UnquotedVariable', 'is empty'],
  ['f="a b"; echo hi > $f', 1, 'UnquotedVariable', 'Quote it'],
  ['set -u; echo "$1"', 1, 'UnboundVariable', "'$1' must have a value"],
  ['set -euo pipefail; echo $missing', 1, 'UnboundVariable', "'missing' must have a value"],
  ['set -e; echo a | grep b; echo done', 1, 'CommandFailed', 'With set -e'],
  ['set -e\ni=0\n((i++))\necho done', 1, 'CommandFailed', 'write i=$((i + 1))'],
  ['x = 5', 127, 'CommandNotFound', 'write x=value, without spaces'],
  ['gerp x', 127, 'CommandNotFound', 'Did you mean grep'],
  ['shuff x', 127, 'CommandNotFound', 'Did you mean shuf'],
  ['./nope.sh', 127, 'FileNotFound', "'./nope.sh' does not exist"],
  ['echo echo hi > x.sh; ./x.sh', 126, 'CannotExecute', 'chmod +x x.sh'],
  ['mkdir -p d; ./d', 126, 'CannotExecute', 'Only the programs of the sandbox'],
  ['touch a; ln a b', 1, 'UnsupportedFile', 'use ln -s, or cp'],
  ['mkfifo p', 1, 'UnsupportedFile', 'There are no named pipes'],
  ['kill -INT $$', 130, 'EndedBySignal', 'signal 2'],
  ['bash -c "kill -9 \\$\\$"', 137, 'EndedBySignal', 'share its limits'],
  ['diff -y /dev/null /dev/zero', 2, 'UnsupportedOption', 'Use diff, or diff -u'],
  ['ls --hyperlinks', 2, 'UnsupportedOption', 'ls --help lists its options'],
])('%s', async (code, exit_code, error_type, says) => {
  const result = await sandbox.execute(code);
  const guidance = result.metadata['error_guidance'] as { error_type: string; actionable_guidance: string[] };
  expect({ exit_code: result.exit_code, error_type: guidance.error_type }).toEqual({ exit_code, error_type });
  expect(guidance.actionable_guidance.join('\n')).toContain(says);
});
