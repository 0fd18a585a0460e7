/**
 * What programs display. SVG is shown as an image and HTML in a frame without scripts, requests or access to the page; all
 * other forms are text.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatCount, formatItems } from '../packages/core/src/quantities.ts';
import { decodeResult, type EncodedResult } from '../packages/core/src/results/encoded-result.ts';
import type { DisplayResult } from '../packages/core/src/schema.ts';
import { guestDocument, isTooLargeToDraw, svgAddress } from './guest-html.ts';

/** What is shown of one result. A call has up to 20 results, and a browser takes seconds for 100,000 cells. */
const MAX_ROWS = 200;
const MAX_CELLS = 2000;
const MAX_CHARS = 100_000;
/** Longer JSON is shown as it is: data of 100 levels grows a hundredfold when it is indented. */
const MAX_INDENTED_CHARS = 10_000;

/** Reads a file of the session. */
export type ReadFile = (path: string) => Promise<Blob>;

export function Result({ result, readFile }: { result: EncodedResult; readFile: ReadFile }) {
  const { is_main_result, omitted } = result;
  return (
    <figure class="result">
      {is_main_result && <figcaption class="tag">value</figcaption>}
      <Form result={decodeResult(result)} json={result.json} readFile={readFile} />
      {omitted && (
        <p class="note">Not shown (too large, invalid or of an unknown type): {omitted.join(', ')}</p>
      )}
    </figure>
  );
}

function Form(props: { result: DisplayResult; json: EncodedResult['json']; readFile: ReadFile }) {
  const { result, json, readFile } = props;
  const { svg, png, jpeg, data, html, markdown, latex, text, mime, path } = result;
  const alt = titleOf(result) ?? 'Image displayed by the program';
  if (png !== undefined) return <img class="picture" alt={alt} src={`data:image/png;base64,${png}`} />;
  if (jpeg !== undefined) return <img class="picture" alt={alt} src={`data:image/jpeg;base64,${jpeg}`} />;
  if (svg !== undefined) return <SvgPicture svg={svg} alt={alt} />;
  if (path !== undefined && mime.startsWith('image/'))
    return <FilePicture readFile={readFile} path={path} type={mime} alt={alt} />;
  if (data !== undefined) return <Table data={data} />;
  if (html !== undefined) return <Frame html={html} />;
  return <Text text={markdown ?? latex ?? (json === undefined ? text : indented(json, result)) ?? ''} />;
}

/** Timelines that an earlier version has saved contain the value in place of its text. */
const indented = (text: unknown, result: DisplayResult) =>
  typeof text === 'string' && text.length > MAX_INDENTED_CHARS ? text : JSON.stringify(result.json, null, 2);

function Text({ text }: { text: string }) {
  return (
    <>
      <pre class="text">{text.slice(0, MAX_CHARS)}</pre>
      {text.length > MAX_CHARS && (
        <p class="note">
          The first {formatCount(MAX_CHARS)} of {formatItems(text.length, 'character')} are shown.
        </p>
      )}
    </>
  );
}

function titleOf({ chart, text }: DisplayResult): string | undefined {
  const title = (chart as { title?: unknown } | undefined)?.title;
  return typeof title === 'string' && title !== '' ? `Chart: ${title}` : text?.slice(0, 120);
}

function SvgPicture({ svg, alt }: { svg: string; alt: string }) {
  const src = useMemo(() => (isTooLargeToDraw(svg) ? undefined : svgAddress(svg)), [svg]);
  if (src === undefined) return <p class="note">Not shown (the image is too large to draw): {alt}</p>;
  return <img class="picture" alt={alt} src={src} />;
}

/** The empty sandbox attribute gives the frame an opaque origin and forbids scripts, forms, navigation and access to this page. */
function Frame({ html }: { html: string }) {
  const srcdoc = useMemo(() => guestDocument(html), [html]);
  return <iframe class="frame" sandbox="" srcdoc={srcdoc} title="HTML displayed by the program" />;
}

function FilePicture(props: { readFile: ReadFile; path: string; type: string; alt: string }) {
  const { readFile, path, type, alt } = props;
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    readFile(path)
      .then(async (blob) => {
        const isSvg = type === 'image/svg+xml';
        if (isSvg && isTooLargeToDraw(await blob.text())) return undefined;
        return dataAddress(new Blob([blob], { type }));
      })
      .then(
        (made) => isCurrent && setAddress(made),
        () => {},
      );
    return () => {
      isCurrent = false;
    };
  }, [readFile, path]);
  return address === undefined ? <p class="note">{path}</p> : <img class="picture" alt={alt} src={address} />;
}

/** Policies of pages allow images only as data. */
function dataAddress(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

function Table({ data }: { data: NonNullable<DisplayResult['data']> }) {
  const names = Object.keys(data);
  const count = Math.max(0, ...names.map((name) => data[name]!.length));
  const shown = Math.min(count, MAX_ROWS, Math.ceil(MAX_CELLS / names.length));
  const rows = Array.from({ length: shown }, (_, i) => i);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="table-scroll" tabIndex={0} aria-label="Table displayed by the program">
      <table>
        <thead>
          <tr>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              {names.map((name) => (
                <Cell key={name} value={data[name]![row]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        {formatItems(count, 'row')}, {formatItems(names.length, 'column')}
        {count > shown && `; the first ${shown} are shown`}
      </p>
    </section>
  );
}

function Cell({ value }: { value: unknown }) {
  if (typeof value === 'number') return <td class="number">{String(value)}</td>;
  if (value === null || value === undefined) return <td class="note">–</td>;
  return <td>{typeof value === 'string' ? value : JSON.stringify(value)}</td>;
}
