/** The editor: CodeMirror with a gutter that shows the fuel of each line, and the colours of the page. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from '@codemirror/language';
import { Compartment, EditorState, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  drawSelection,
  EditorView,
  GutterMarker,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';
import { formatFuel } from '../packages/core/src/quantities.ts';

/** The fuel of one line of the last run. */
export interface LineFuel {
  readonly line: number;
  readonly source: string;
  readonly fuel: number;
  readonly share: number;
}

/** What the gutter and the text show about the last run. */
export interface RunMarks {
  readonly fuel: readonly LineFuel[];
  /** The line that failed or was stopped. */
  readonly errorLine: number | undefined;
}

const setMarks = StateEffect.define<RunMarks>();
const NO_MARKS: RunMarks = { fuel: [], errorLine: undefined };

const marks = StateField.define<RunMarks>({
  create: () => NO_MARKS,
  update(value, { effects, docChanged }) {
    for (const effect of effects) if (effect.is(setMarks)) return effect.value;
    return docChanged && value.errorLine !== undefined ? { ...value, errorLine: undefined } : value;
  },
});

class FuelMarker extends GutterMarker {
  constructor(readonly row: LineFuel) {
    super();
  }

  override eq(other: FuelMarker): boolean {
    return other.row === this.row;
  }

  override toDOM(): HTMLElement {
    const { fuel, share } = this.row;
    const bar = document.createElement('div');
    bar.className = `fuel-bar ${share > 0.5 ? 'hot' : share > 0.15 ? 'warm' : 'cool'}`;
    bar.style.width = `${Math.max(6, Math.round(share * 100))}%`;
    bar.title = `${formatFuel(fuel)} fuel, ${Math.round(share * 100)}% of the run`;
    return bar;
  }
}

/** Shows the fuel of a line only while the line is as it was when it ran. */
const fuelGutter = gutter({
  class: 'cm-fuel',
  lineMarker(view, block) {
    const { fuel } = view.state.field(marks);
    if (fuel.length === 0) return null;
    const line = view.state.doc.lineAt(block.from);
    const row = fuel.find((one) => one.line === line.number && one.source.trim() === line.text.trim());
    return row === undefined ? null : new FuelMarker(row);
  },
  lineMarkerChange: (update) => update.startState.field(marks) !== update.state.field(marks),
});

const errorLine = EditorView.decorations.compute([marks, 'doc'], (state) => {
  const { errorLine: line } = state.field(marks);
  if (line === undefined || line < 1 || line > state.doc.lines) return Decoration.none;
  return Decoration.set([Decoration.line({ class: 'cm-error-line' }).range(state.doc.line(line).from)]);
});

const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword], color: 'var(--syntax-keyword)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--syntax-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--syntax-number)' },
  { tag: [tags.comment, tags.meta], color: 'var(--syntax-comment)', fontStyle: 'italic' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName)],
    color: 'var(--syntax-function)',
  },
  { tag: [tags.typeName, tags.className, tags.definition(tags.typeName)], color: 'var(--syntax-type)' },
]);

const theme = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', fontSize: '13.5px', lineHeight: '1.6' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--active-line)' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection) !important',
  },
  '.cm-matchingBracket': { backgroundColor: 'var(--selection)', outline: 'none' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', border: '1px solid var(--line)', color: 'var(--text)' },
});

interface EditorLanguage {
  readonly support: () => ReturnType<typeof python>;
  readonly indent: string;
}

const LANGUAGES: Readonly<Record<string, EditorLanguage>> = {
  python: { support: python, indent: '    ' },
  javascript: { support: javascript, indent: '  ' },
  typescript: { support: () => javascript({ typescript: true }), indent: '  ' },
};

export interface EditorHandle {
  text(): string;
  replace(text: string): void;
  /** Replaces a word on a line, and returns whether it was found. */
  replaceOnLine(line: number, word: string, replacement: string): boolean;
  insert(text: string): void;
  focus(): void;
}

interface Props {
  readonly language: string;
  readonly marks: RunMarks | undefined;
  readonly handle: { current: EditorHandle | undefined };
  onChange(text: string): void;
  onRun(): void;
  onStop(): void;
}

export function Editor({ language, marks: shown, handle, ...callbacks }: Props) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const compartment = useRef(new Compartment());
  const latest = useRef(callbacks);
  latest.current = callbacks;

  useEffect(() => {
    const run = () => {
      latest.current.onRun();
      return true;
    };
    const editor = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        extensions: [
          keymap.of([
            { key: 'Mod-Enter', run },
            { key: 'Shift-Enter', run },
          ]),
          lineNumbers(),
          fuelGutter,
          marks,
          errorLine,
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          autocompletion(),
          highlightActiveLine(),
          EditorState.tabSize.of(4),
          syntaxHighlighting(highlight),
          theme,
          keymap.of([
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
            indentWithTab,
          ]),
          compartment.current.of([]),
          EditorView.contentAttributes.of({ 'aria-label': 'Program', tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    handle.current = {
      text: () => editor.state.doc.toString(),
      replace: (text) =>
        editor.dispatch({
          changes: { from: 0, to: editor.state.doc.length, insert: text },
          effects: setMarks.of(NO_MARKS),
        }),
      replaceOnLine(number, word, replacement) {
        if (number < 1 || number > editor.state.doc.lines) return false;
        const line = editor.state.doc.line(number);
        const at = wordAt(line.text, word);
        if (at < 0) return false;
        const from = line.from + at;
        editor.dispatch({
          changes: { from, to: from + word.length, insert: replacement },
          selection: { anchor: from + replacement.length },
          userEvent: 'input',
        });
        return true;
      },
      insert(text) {
        const { to } = editor.state.doc.lineAt(editor.state.selection.main.head);
        editor.dispatch({
          changes: { from: to, insert: `\n${text}` },
          selection: { anchor: to + text.length + 1 },
        });
      },
      focus: () => editor.focus(),
    };
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    const known = LANGUAGES[language];
    const extensions = known === undefined ? [] : [known.support(), indentUnit.of(known.indent)];
    view.current?.dispatch({ effects: compartment.current.reconfigure(extensions) });
  }, [language]);

  useEffect(() => {
    view.current?.dispatch({ effects: setMarks.of(shown ?? NO_MARKS) });
  }, [shown]);

  return <div class="editor" ref={parent} />;
}

/** The position of a word that is not part of a longer word. */
function wordAt(text: string, word: string): number {
  const isPart = (char: string | undefined) => char !== undefined && /[\w$]/.test(char);
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return at;
  }
  return -1;
}
