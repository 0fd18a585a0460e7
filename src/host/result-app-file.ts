/** Reads the built app that shows results in MCP clients. */
import { readFileSync } from 'node:fs';
import { installedFile } from './install-folder.ts';

let text: string | undefined;

/** The app as one HTML document. It is read when it is first needed. */
export function readResultApp(): string {
  text ??= readFileSync(installedFile('mcp/result-app.html'), 'utf8');
  return text;
}
