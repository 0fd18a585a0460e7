/** Reads the built app that shows results in MCP clients. */
import { readServerFile } from '../server/server-file.ts';

let text: string | undefined;

/** The app as one HTML document. It is read when it is first needed. */
export function readResultApp(): string {
  text ??= readServerFile('mcp/result-app.html').toString('utf8');
  return text;
}
