/**
 * The hostile tenant: requests and programs that are expensive for the main thread, and calls that make the tool servers of
 * the gateway hostile. Every request must get an answer that is not an internal error.
 */
import { fileURLToPath } from 'node:url';

export interface AttackRequest {
  readonly method: 'tools/call' | 'resources/read';
  /** The tool, or the URI. */
  readonly name: string;
  readonly arguments?: object;
}

export interface Attack {
  readonly name: string;
  readonly requests: readonly AttackRequest[];
}

const tool = (name: string, args: object): AttackRequest => ({
  method: 'tools/call',
  name,
  arguments: args,
});
const run = (language: 'python' | 'javascript', code: string, more: object = {}) =>
  tool('execute_code', { language, code, ...more });

/** Nearly the largest body that the server accepts. */
const BODY_BYTES = 4 * 1024 * 1024 - 4096;
const CHART = `display({ $schema: 'https://vega.github.io/schema/vega-lite/v6.json', mark: 'point',
  data: { sequence: { start: 0, stop: 1e6, as: 'x' } },
  encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'x', type: 'quantitative' } } });`;

function manyFiles(session_id: string): Attack {
  const inSession = (code: string) => run('python', code, { session_id });
  const fork = `${session_id}-fork`;
  return {
    name: 'many files',
    requests: [
      tool('create_session', { session_id, language: 'python' }),
      inSession("for i in range(10_000): open(f'f{i}', 'w').write('x')"),
      inSession("open('f7', 'w').write('y')"),
      tool('checkpoint_session', { session_id, name: 'c' }),
      tool('list_files', { session_id }),
      inSession("import os\nfor i in range(0, 10_000, 2): os.remove(f'f{i}')"),
      tool('rollback_session', { session_id, name: 'c' }),
      tool('fork_session', { session_id, new_session_id: fork }),
      tool('reset_workspace', { session_id }),
      tool('destroy_session', { session_id: fork }),
      tool('destroy_session', { session_id }),
    ],
  };
}

const largeFiles = (client: string): readonly Attack[] =>
  Object.entries({ ascii: 'x', 'two bytes': 'é', 'three bytes': '€' }).map(([name, character]): Attack => {
    const path = `${client} ${name}.txt`;
    const content = character.repeat(BODY_BYTES / Buffer.byteLength(character));
    return {
      name: `large file, ${name}`,
      requests: [
        tool('write_file', { path, content }),
        tool('write_file', { path, content }),
        tool('read_file', { path }),
        tool('read_file', { path, offset: 100_000 }),
        { method: 'resources/read', name: `workspace://default/${encodeURIComponent(path)}` },
        tool('reset_workspace', {}),
      ],
    };
  });

const PROGRAM_ATTACKS: readonly Attack[] = [
  {
    name: 'tool arguments',
    requests: [
      run(
        'python',
        `import _sandbox_tool_calls as calls  # tools
text = '{"text":[' + '{},' * 40_000 + '{}]}'
for i in range(1, 40):
    calls.exchange(f'call\\n{i}\\n"calm.echo"\\n{text}')
    calls.exchange('wait\\n')`,
      ),
    ],
  },
  {
    name: 'result of empty objects',
    requests: [
      run('javascript', "display(Array(199_000).fill({}), 'application/json')"),
      tool('view_result', { ids: ['r1'] }),
      { method: 'resources/read', name: 'result://default/r1' },
    ],
  },
  {
    name: 'many results',
    requests: [run('javascript', "for (let i = 0; i < 2000; i++) display([i, {}], 'application/json')")],
  },
  { name: 'charts', requests: [run('javascript', `for (let i = 0; i < 20; i++) ${CHART}`, { timeout: 1 })] },
  {
    name: 'profile',
    requests: [
      run('python', "exec('\\n'.join(f'def f{i}(): return sum(range(50))\\nf{i}()' for i in range(5000)))", {
        profile: true,
      }),
    ],
  },
  { name: 'output', requests: [run('python', "while True: print('€' * 100_000)", { timeout: 1 })] },
  {
    name: 'many members',
    requests: [
      run('python', '1', {
        files: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f${i}`, ''])),
      }),
      run('python', '1', {
        files: Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`f${i}`, ''])),
      }),
    ],
  },
];

/** What the hostile tool servers do when a program calls `attack`; one server each. */
const CALL_ATTACKS = ['members', 'bytes', 'line', 'pings', 'changes', 'logs', 'answers', 'large'];
/** What they do instead of listing their tools. */
const LIST_ATTACKS = ['list-members', 'list-line', 'list-pings'];

const GATEWAY_ATTACKS: readonly Attack[] = [
  ...CALL_ATTACKS.map(
    (name): Attack => ({
      name: `tool server, ${name}`,
      requests: [run('python', `await tools.${name}.attack()`)],
    }),
  ),
  { name: 'tool list', requests: [tool('search_tools', { query: 'attack' })] },
  // A fault: the next call of any tenant to this server starts it again.
  { name: 'tool server killed', requests: [run('python', 'await tools.calm.exit()')] },
];

/** The attacks of one client, with a session and files of its own. */
export const attacks = (client: string): readonly Attack[] => [
  manyFiles(client),
  ...largeFiles(client),
  ...PROGRAM_ATTACKS,
  ...GATEWAY_ATTACKS,
];

/** The tool servers: a calm one, and hostile ones that refuse to list their tools before a time. */
export function toolsConfig(hostileFrom: number) {
  const fixture = fileURLToPath(new URL('../tools/gateway-fixture.mjs', import.meta.url));
  const server = (env: Readonly<Record<string, string>>) => ({
    command: process.execPath,
    args: [fixture],
    env: { HOSTILE_FROM: String(hostileFrom), ...env },
    approval: 'allow',
    timeout_seconds: 5,
  });
  return {
    mcpServers: {
      calm: server({}),
      ...Object.fromEntries(
        [...CALL_ATTACKS, ...LIST_ATTACKS].map((name) => [name.replace('-', '_'), server({ HOSTILE: name })]),
      ),
      thousands: server({ HOSTILE: 'many', MANY: '30000' }),
      stubborn: server({ HOSTILE: 'line', STUBBORN: '1' }),
    },
  };
}
