/** The bar at the top: session, language, examples, theme and shortcuts. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Info, SessionEntry } from './api.ts';
import type { Example } from './examples.ts';

const NAMES: Readonly<Record<string, string>> = {
  python: 'Python',
  javascript: 'JavaScript',
  typescript: 'TypeScript',
};
const nameOf = (language: string) => NAMES[language] ?? language;

interface Props {
  readonly info: Info;
  readonly sessions: readonly SessionEntry[];
  readonly session: string | undefined;
  readonly language: string;
  readonly examples: readonly Example[];
  readonly isConnected: boolean;
  onOpen(session: string): void;
  onCreate(language: string): void;
  onDelete(): void;
  onLanguage(language: string): void;
  onExample(title: string): void;
}

export function Header(props: Props) {
  const { info, sessions, session, language, examples, isConnected } = props;
  const help = useRef<HTMLDialogElement>(null);
  return (
    <header class="bar">
      <span class="brand">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M9 10.5l6 5.5-6 5.5M17.5 22h6" />
        </svg>
        <span class="name">Playground</span>
      </span>
      <fieldset class="segments">
        <legend class="visually-hidden">Language</legend>
        {info.languages.map(({ name }) => (
          <label key={name} class={name === language ? 'chosen' : ''}>
            <input
              type="radio"
              name="language"
              value={name}
              checked={name === language}
              onChange={() => props.onLanguage(name)}
            />
            {nameOf(name)}
          </label>
        ))}
      </fieldset>
      <label class="field">
        <span class="visually-hidden">Session</span>
        <select value={session ?? ''} onChange={({ currentTarget }) => props.onOpen(currentTarget.value)}>
          {session !== undefined && !sessions.some(({ session_id }) => session_id === session) && (
            <option value={session}>{session}</option>
          )}
          {sessions.map(({ session_id, calls }) => (
            <option key={session_id} value={session_id}>
              {session_id} · {calls} {calls === 1 ? 'call' : 'calls'}
            </option>
          ))}
        </select>
      </label>
      <button type="button" class="small" onClick={() => props.onCreate(language)}>
        New<span class="wide"> session</span>
      </button>
      <button type="button" class="small quiet" onClick={props.onDelete}>
        Delete
      </button>
      <span class="space" />
      {!isConnected && (
        <span class="badge warn" role="status">
          connecting
        </span>
      )}
      <label class="field">
        <span class="visually-hidden">Examples</span>
        <select
          value=""
          onChange={({ currentTarget }) => {
            props.onExample(currentTarget.value);
            currentTarget.value = '';
          }}
        >
          <option value="">Examples</option>
          {info.languages.map(({ name }) => (
            <optgroup key={name} label={nameOf(name)}>
              {examples
                .filter((example) => example.language === name)
                .map(({ title }) => (
                  <option key={title} value={title}>
                    {title}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      </label>
      <ThemeButton />
      <button
        type="button"
        class="icon"
        aria-label="Help and shortcuts"
        onClick={() => help.current?.showModal()}
      >
        ?
      </button>
      <dialog ref={help} aria-labelledby="help-title">
        <h2 id="help-title">Shortcuts</h2>
        <dl>
          <dt>
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </dt>
          <dd>Run the program</dd>
          <dt>
            <kbd>Ctrl</kbd> <kbd>.</kbd>
          </dt>
          <dd>Stop the program</dd>
          <dt>
            <kbd>Ctrl</kbd> <kbd>S</kbd>
          </dt>
          <dd>Create a checkpoint</dd>
          <dt>
            <kbd>Esc</kbd> <kbd>Tab</kbd>
          </dt>
          <dd>Leave the editor</dd>
        </dl>
        <p class="note">
          On a Mac, use <kbd>Cmd</kbd> instead of <kbd>Ctrl</kbd>.
        </p>
        {info.tools.length > 0 && (
          <>
            <h2>Tools available to programs</h2>
            <ul class="tools">
              {info.tools.map(({ name, description }) => (
                <li key={name}>
                  <code>{name}</code> {description}
                </li>
              ))}
            </ul>
          </>
        )}
        <p class="note">Fuel is the number of WebAssembly instructions that a program executes.</p>
        <p class="note">LLM WASM Sandbox {info.version}</p>
        <button type="button" class="primary" onClick={() => help.current?.close()}>
          Close
        </button>
      </dialog>
    </header>
  );
}

const THEME_KEY = 'theme';

function ThemeButton() {
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const [theme, setTheme] = useState(localStorage.getItem(THEME_KEY) ?? system);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <button
      type="button"
      class="icon"
      aria-label={`Use the ${other} theme`}
      onClick={() => {
        localStorage.setItem(THEME_KEY, other);
        setTheme(other);
      }}
    >
      {theme === 'dark' ? '☀' : '☾'}
    </button>
  );
}
