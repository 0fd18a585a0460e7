/** Failed runs of programs that call tools, one for each code of a failed call. */

import { NO_ABILITIES, withPolicy } from '../../../packages/core/src/schema/capabilities.ts';
import { policy } from '../../../packages/core/src/schema.ts';
import type { GuidanceExample } from './example-failure.ts';

const WITH_TOOLS = withPolicy({ ...NO_ABILITIES, tools: true }, policy.parse({}));

export const toolFailureExamples: readonly GuidanceExample[] = [
  {
    type: 'ProgramPaused',
    run: {
      source: 'await tools.send_mail(to="ada@example.com")',
      exitCode: 75,
      ending: 'exited',
      capabilities: WITH_TOOLS,
      pending: [
        { id: 1, seq: 1, name: 'send_mail', arguments: { to: 'ada@example.com' }, reason: 'approval' },
      ],
    },
  },
  ...(
    [
      ['invalid_arguments', 'weather: city: expected a string', 'print(await tools.weather(city=7))'],
      ['denied', 'The call was not approved. Reason: a person denied the call.'],
      ['timeout', 'weather did not answer within 60 s. The call may or may not have taken effect.'],
      ['limit', 'The run has reached its limit of 100 tool calls.'],
      ['failed', 'no data for this city'],
      [
        'unknown_tool',
        'There is no tool "wether". Did you mean weather?',
        'print(await tools.wether(city="Berlin"))',
      ],
    ] as const
  ).map(([code, message, source = 'print(await tools.weather(city="Berlin"))']) => ({
    type: 'ToolError',
    run: {
      source,
      capabilities: WITH_TOOLS,
      error: {
        type: 'ToolError',
        module: 'tools',
        kind: 'Exception',
        message,
        line: 1,
        code,
        tool: code === 'unknown_tool' ? 'wether' : 'weather',
      },
    },
  })),
];
