/**
 * What programs display. SVG is shown as an image and HTML in a frame without scripts, requests or access to the page; all
 * other forms are text.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { formatItems } from '../src/quantities.ts';
import { decodeResult, type EncodedResult } from '../src/results/encoded-result.ts';
import type { DisplayResult } from '../src/schema.ts';
import { guestDocument, svgAddress } from './guest-html.ts';

const MAX_ROWS = 200;

/** Reads a file of the session. */
export type ReadFile = (path: string) => Promise<Blob>;

export function Result({ result, readFile }: { result: EncodedResult; readFile: ReadFile }) {
  const { is_main_result, omitted } = result;
  return (
    <figure class="result">
      {is_main_result && <figcaption class="tag">value</figcaption>}
      <Form result={decodeResult(result)} readFile={readFile} />
      {omitted && (
        <p class="note">Not shown (too large, invalid or of an unknown type): {omitted.join(', ')}</p>
      )}
    </figure>
  );
}

function Form({ result, readFile }: { result: DisplayResult; readFile: ReadFile }) {
  const { svg, png, jpeg, data, html, markdown, latex, json, text, mime, path } = result;
  const alt = titleOf(result) ?? 'Image displayed by the program';
  if (png !== undefined) return <img class="picture" alt={alt} src={`data:image/png;base64,${png}`} />;
  if (jpeg !== undefined) return <img class="picture" alt={alt} src={`data:image/jpeg;base64,${jpeg}`} />;
  if (svg !== undefined) return <img class="picture" alt={alt} src={svgAddress(svg)} />;
  if (path !== undefined && mime.startsWith('image/'))
    return <FilePicture readFile={readFile} path={path} type={mime} alt={alt} />;
  if (data !== undefined) return <Table data={data} />;
  if (html !== undefined) return <Frame html={html} />;
  const shown = markdown ?? latex ?? (json === undefined ? text : JSON.stringify(json, null, 2)) ?? '';
  return <pre class="text">{shown}</pre>;
}

function titleOf({ chart, text }: DisplayResult): string | undefined {
  const title = (chart as { title?: unknown } | undefined)?.title;
  return typeof title === 'string' && title !== '' ? `Chart: ${title}` : text?.slice(0, 120);
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
      .then((blob) => dataAddress(new Blob([blob], { type })))
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
  const rows = Array.from({ length: Math.min(count, MAX_ROWS) }, (_, i) => i);
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
        {count > MAX_ROWS && `; the first ${MAX_ROWS} are shown`}
      </p>
    </section>
  );
}

function Cell({ value }: { value: unknown }) {
  if (typeof value === 'number') return <td class="number">{String(value)}</td>;
  if (value === null || value === undefined) return <td class="note">–</td>;
  return <td>{typeof value === 'string' ? value : JSON.stringify(value)}</td>;
}
