/** What a runtime reads of a command line before its process starts: files and standard input, as far as it has arrived. */
import type { Node } from '../../fs/nodes.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import type { Volume } from '../../fs/volume.ts';
import type { DescriptorTable } from '../../kernel/descriptors.ts';
import { firstUnreadBytes } from '../../kernel/pipe.ts';
import type { CommandFiles } from '../../runtimes/runtime.ts';
import { IMAGE_REQUEST } from '../protocol/messages.ts';

const decoder = new TextDecoder();

export function commandFiles(volume: Volume, cwd: BaseDirectory, fds: DescriptorTable): CommandFiles {
  const find = (path: string): Node | undefined => {
    try {
      return volume.lookup(path, cwd, true);
    } catch {
      return undefined;
    }
  };
  const text = (bytes: Uint8Array) => decoder.decode(bytes).slice(0, IMAGE_REQUEST.characters);
  const content = (node: Node | undefined, position: number): string => {
    if (node?.kind !== 'file') return '';
    const bytes = new Uint8Array(IMAGE_REQUEST.characters);
    return text(bytes.subarray(0, volume.read(node, position, bytes)));
  };
  return {
    read: (path) => content(find(path), 0),
    input: () => {
      const file = fds.slots[0];
      if (file?.kind === 'file') return content(file.node, file.position);
      return file?.kind === 'pipe' ? text(firstUnreadBytes(file.pipe, IMAGE_REQUEST.characters)) : '';
    },
    names: (path) => {
      const node = find(path);
      return node?.kind === 'dir' ? firstNames(node.entries.keys()) : [];
    },
  };
}

function firstNames(all: Iterable<string>): string[] {
  const names: string[] = [];
  let left = IMAGE_REQUEST.nameCharacters;
  for (const name of all) {
    left -= name.length;
    if (left < 0 || names.length === IMAGE_REQUEST.names) break;
    names.push(name);
  }
  return names;
}
