/**
 * The tool that shows images and other results of programs. It has no output schema, because clients ignore images in
 * results with structured content.
 */

import { type CachedResult, IMAGE_LIMITS, SandboxError, showResult } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { DEFAULT_SESSION } from '../../server/tenant.ts';
import { defineTool, optionalSession, READ_ONLY } from '../tool.ts';

const MAX_LISTED = 20;

export const viewResult = defineTool({
  name: 'view_result',
  title: 'View a result',
  description:
    'Show results that execute_code lists, by id: images as images, others as text. Use it to check a plot.',
  input: z.strictObject({
    ids: z.array(z.string().max(100)).min(1).max(IMAGE_LIMITS.count).describe('Ids of results, e.g. ["r1"].'),
    session_id: optionalSession,
  }),
  annotations: READ_ONLY,
  run: async ({ ids, session_id = DEFAULT_SESSION }, { tenant, state, signal }) => {
    const results: CachedResult[] = [];
    for (const id of ids) {
      const found = await tenant.recent.result(session_id, id);
      if (found !== undefined) {
        results.push(found);
        continue;
      }
      const known = (await tenant.recent.resultIds(session_id)).slice(0, MAX_LISTED);
      const advice =
        known.length > 0 ? `Results of this session: ${known.join(', ')}` : 'The session has no results';
      throw new SandboxError(
        'invalid_argument',
        `Session ${session_id} has no result "${id}", or the result is no longer cached. ${advice}. execute_code lists the results of a program.`,
      );
    }
    const maxChars = Math.ceil(state.settings.max_output_chars / results.length);
    const access = {
      readFile: async (path: string) => (await tenant.open(session_id)).readFile(path),
      drawPicture: tenant.drawPicture,
    };
    const shown = [];
    for (const one of results) shown.push(await showResult(one, maxChars, access, signal));
    return {
      text: shown.map(({ text }) => text).join('\n\n'),
      blocks: shown.flatMap(({ block }) => (block === undefined ? [] : [block])),
    };
  },
});
