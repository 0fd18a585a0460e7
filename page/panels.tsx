/** The panels with the variables and the files of a session. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { escapeControls } from '../packages/core/src/analysis/escape-controls.ts';
import { formatBytes } from '../packages/core/src/quantities.ts';
import { api, type FileEntry, type Variable } from './api.ts';

interface PanelProps {
  readonly session: string;
  /** Changes when the panel has to be read again. */
  readonly revision: number;
  onError(cause: unknown): void;
}

/** Reads a value again when the session or its revision changes. */
function useServerValue<T>(
  { session, revision, onError }: PanelProps,
  read: () => Promise<T>,
): T | undefined {
  const [value, setValue] = useState<T>();
  useEffect(() => setValue(undefined), [session]);
  useEffect(() => {
    let isCurrent = true;
    read().then(
      (read) => isCurrent && setValue(read),
      (cause) => isCurrent && onError(cause),
    );
    return () => {
      isCurrent = false;
    };
  }, [session, revision]);
  return value;
}

export function Variables(props: PanelProps) {
  const variables = useServerValue<Variable[] | null>(props, () => api.variables(props.session));
  return (
    <section class="panel variables" aria-labelledby="variables-title">
      <header>
        <h2 id="variables-title">Variables</h2>
        {variables && variables.length > 0 && <span class="count">{variables.length}</span>}
      </header>
      {variables && variables.length > 0 ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="scroll" tabIndex={0} aria-labelledby="variables-title">
          <table>
            <tbody>
              {variables.map(({ name, type, repr }) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="type">{type}</td>
                  <td class="value" title={repr}>
                    {repr}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : (
        <p class="empty">{variables === undefined ? '…' : 'Variables of the session appear here.'}</p>
      )}
    </section>
  );
}

const fileName = (path: string) => path.split('/').at(-1)!;

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: FileEntry[];
}

/** Files that are shown. */
const MAX_FILES = 500;
/** Folders within folders that are shown. A browser cannot show the 2,000 that a path can have. */
const MAX_LEVELS = 16;

export function toTree(files: readonly FileEntry[]): Folder {
  const root: Folder = { folders: new Map(), files: [] };
  for (const file of files) {
    let at = root;
    const names = file.path.split('/').slice(0, -1);
    const rest = names.splice(MAX_LEVELS).join('/');
    for (const name of rest === '' ? names : [...names, rest]) {
      const next = at.folders.get(name) ?? { folders: new Map(), files: [] };
      at.folders.set(name, next);
      at = next;
    }
    at.files.push(file);
  }
  return root;
}

export function Files(props: PanelProps & { readonly isBusy: boolean }) {
  const { session, isBusy, onError } = props;
  const files = useServerValue(props, () => api.files(session));
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const upload = async (list: Iterable<File>) => {
    try {
      for (const file of list) await api.writeFile(session, file.name, file);
    } catch (cause) {
      onError(cause);
    }
  };
  const remove = (path: string) => api.deleteFile(session, path).catch(onError);
  const download = (path: string) => saveFile(session, path).catch(onError);
  return (
    <section
      class={`panel files ${isOver ? 'over' : ''}`}
      aria-labelledby="files-title"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void upload(event.dataTransfer?.files ?? []);
      }}
    >
      <header>
        <h2 id="files-title">Files</h2>
        <button type="button" class="small" disabled={isBusy} onClick={() => input.current?.click()}>
          Upload
        </button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={({ currentTarget }) => {
            void upload([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
      </header>
      {files && files.length > 0 ? (
        <FolderList
          folder={toTree(files.slice(0, MAX_FILES))}
          isBusy={isBusy}
          onDownload={download}
          onRemove={remove}
        />
      ) : (
        <p class="empty">
          {files === undefined ? '…' : 'Files of the session appear here. Drop files to upload them.'}
        </p>
      )}
      {files && files.length > MAX_FILES && (
        <p class="note more">
          The first {MAX_FILES} of {files.length} files.
        </p>
      )}
    </section>
  );
}

interface FolderProps {
  readonly folder: Folder;
  readonly isBusy: boolean;
  /** Absent if files cannot be downloaded. */
  onDownload?: ((path: string) => void) | undefined;
  /** Absent if files cannot be deleted. */
  onRemove?(path: string): void;
}

export function FolderList({ folder, ...rest }: FolderProps) {
  return (
    <ul class="tree">
      {[...folder.folders].map(([name, inner]) => (
        <li key={`${name}/`}>
          <details open>
            <summary>{escapeControls(name)}/</summary>
            <FolderList folder={inner} {...rest} />
          </details>
        </li>
      ))}
      {folder.files.map(({ path, size_bytes }) => (
        <li key={path} class="file">
          {rest.onDownload ? (
            <button
              type="button"
              class="link"
              aria-label={`Download ${escapeControls(path)}`}
              onClick={() => rest.onDownload?.(path)}
            >
              {escapeControls(fileName(path))}
            </button>
          ) : (
            <span>{escapeControls(fileName(path))}</span>
          )}
          <span class="note">{formatBytes(size_bytes)}</span>
          {rest.onRemove && (
            <button
              type="button"
              class="icon"
              disabled={rest.isBusy}
              aria-label={`Delete ${escapeControls(path)}`}
              onClick={() => rest.onRemove?.(path)}
            >
              ×
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

async function saveFile(session: string, path: string): Promise<void> {
  const url = URL.createObjectURL(await api.readFile(session, path));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName(path);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
