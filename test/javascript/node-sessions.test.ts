/** Node.js modules in the calls of one session. */
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

test('a session repeats declarations of required modules, reloads changed files and survives process.exit', async () => {
  await using session = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
  const run = async (code: string) => {
    const { stdout, exit_code, metadata } = await session.execute(code);
    return [stdout, exit_code, metadata.state];
  };
  const write = (value: number) =>
    `fs.writeFileSync('lib.js', 'module.exports = ${value};'.padEnd(30 + ${value}));`;
  expect(
    await run(`const fs = require('fs'); ${write(1)} let x = 5; console.log(require('./lib'));`),
  ).toEqual(['1\n', 0, 'committed']);
  expect(await run(`const fs = require('fs'); ${write(2)} console.log(require('./lib'), x++);`)).toEqual([
    '2 5\n',
    0,
    'committed',
  ]);
  expect(await run(`x++; try { process.exit(3); } catch { console.log('caught'); }`)).toEqual([
    '',
    3,
    'committed',
  ]);
  expect(await run('console.log(x, require("./lib"), typeof process.exit);')).toEqual([
    '7 2 function\n',
    0,
    'committed',
  ]);
});
