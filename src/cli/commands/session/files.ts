/** `session files`: lists, prints or copies the files of a session, even if it is damaged. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { SandboxError } from '../../../errors.ts';
import { formatItems } from '../../../quantities.ts';
import { describeFiles, workspacePath } from '../../../sandbox/workspace-files.ts';
import { copyWorkspaceFiles, writeLocalFile } from '../../local-files.ts';
import { notInStore } from './context.ts';
import { formatFiles } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';

export const sessionFiles: SessionAction = async (context, [id, path], { out, hidden = false }) => {
  const salvaged = await context.store.readWorkspace(id!);
  if (salvaged === undefined) throw notInStore(context, id!);
  const { workspace, damage } = salvaged;
  const notes =
    damage === undefined ? [] : [`The session is damaged: ${damage} Only the files that remain are shown.`];
  const files = describeFiles(workspace.values());
  if (path === undefined) {
    if (out === undefined) {
      const text = files.length > 0 ? formatFiles(files) : 'The session has no files.';
      return { json: { files, damage: damage ?? null }, text, notes };
    }
    const paths = files.map((file) => file.path);
    const read = async (name: string) => workspace.get(name)!.data!;
    const { copied, note } = await copyWorkspaceFiles(paths, read, out, { hidden });
    if (note !== undefined) notes.push(note);
    const count = formatItems(copied.length, 'file');
    return { json: { copied }, text: `Copied ${count} to ${escapeControls(out)}`, notes };
  }
  const name = workspacePath(path);
  const file = files.find((one) => one.path === name);
  if (file === undefined) {
    const advice = `Run "llm-wasm-sandbox session files ${id}" to list its files`;
    throw new SandboxError('file_not_found', `The session has no file ${JSON.stringify(path)}. ${advice}.`);
  }
  // The contents are in shared memory, which file and stream functions of Node.js do not accept.
  const content = Buffer.from(workspace.get(name)!.data!);
  if (out !== undefined) {
    writeLocalFile(out, content);
    return {
      json: { copied: [name] },
      text: `Copied ${escapeControls(name)} to ${escapeControls(out)}`,
      notes,
    };
  }
  return { json: { ...file, content_base64: content.toString('base64') }, text: content, notes };
};
