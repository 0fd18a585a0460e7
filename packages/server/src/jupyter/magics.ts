/** Commands that the kernel runs itself, as an extension: checkpoints of the session. A cell consists of one command. */

import { missingFolders, parentOf, SandboxError, type Session } from '@llm-wasm-sandbox/core/internal';

const MAGIC = /^%(checkpoint|rollback|checkpoints)(?:[ \t]+([^\s]{1,200}))?$/;
/** Notebooks are documents that their frontend has open, so a rollback keeps them. */
const NOTEBOOK = '.ipynb';

interface Magic {
  readonly command: string;
  readonly name: string | undefined;
}

export function findMagic(code: string): Magic | undefined {
  const line = code.slice(0, 1000).trim();
  if (!line.startsWith('%')) return undefined;
  const match = MAGIC.exec(line);
  if (match !== null && code.trim() === line) return { command: match[1]!, name: match[2] };
  if (/^%(?:checkpoint|rollback)/.test(line))
    throw new SandboxError(
      'invalid_argument',
      'Write %checkpoint, %rollback or %checkpoints alone in a cell, followed by at most one name without spaces.',
    );
  return undefined;
}

/** Runs a command, and returns what the cell prints. */
export async function runMagic({ command, name }: Magic, session: Session): Promise<string> {
  if (command === 'checkpoint') {
    const made = await session.checkpoint(name);
    return `Checkpoint ${made.name} has the variables and files. "%rollback ${made.name}" restores them.\n`;
  }
  if (command === 'checkpoints') {
    const names = (await session.checkpoints()).map((one) => one.name);
    return names.length === 0 ? 'There are no checkpoints.\n' : `${names.join('\n')}\n`;
  }
  const before = await session.fileTree();
  await session.rollback(name);
  await session.editFiles((tree) => {
    const { removed, entries } = tree.difference(before);
    const kept = entries.filter(({ path }) => path.endsWith(NOTEBOOK));
    const folders = kept.flatMap(({ path }) => missingFolders(tree, parentOf(path)));
    return {
      removed: removed.filter((path) => path.endsWith(NOTEBOOK)),
      entries: [...new Map([...folders, ...kept].map((entry) => [entry.path, entry])).values()],
    };
  });
  return name === undefined
    ? 'Variables and files are as they were before the last cell.\n'
    : `Variables and files are as they were at checkpoint ${name}.\n`;
}
