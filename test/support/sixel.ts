/** Decodes the part of Sixel that charts/sixel.ts writes; other text is an error. */
import { ESCAPE } from './terminal.ts';

interface SixelPixels {
  readonly width: number;
  readonly height: number;
  readonly colors: number;
  /** Red, green and blue of a pixel, or undefined if it is not drawn. */
  at(x: number, y: number): [number, number, number] | undefined;
}

type Color = [number, number, number];

const IMAGE = new RegExp(`^${ESCAPE}P0;1;0q"1;1;(\\d+);(\\d+)([ -~]*)${ESCAPE}\\\\\n?$`);

export function decodeSixel(text: string): SixelPixels {
  const match = IMAGE.exec(text);
  if (match === null) throw new Error(`Not a Sixel image: ${JSON.stringify(text.slice(0, 100))}`);
  const [width, height] = [Number(match[1]), Number(match[2])];
  const palette = new Map<number, Color>();
  const drawn = new Map<number, Color>();
  let [x, band, color] = [0, 0, -1];
  const draw = (character: string, count: number) => {
    const bits = character.charCodeAt(0) - 63;
    for (const end = x + count; x < end; x++)
      for (let row = 0; row < 6; row++) {
        if (((bits >> row) & 1) === 0) continue;
        const y = band * 6 + row;
        if (x >= width || y >= height) throw new Error(`The pixel ${x}, ${y} is outside the image.`);
        const known = palette.get(color);
        if (known === undefined) throw new Error(`The color ${color} is not defined.`);
        if (drawn.has(y * width + x)) throw new Error(`The pixel ${x}, ${y} is drawn twice.`);
        drawn.set(y * width + x, known);
      }
  };
  const tokens = match[3]!.matchAll(/#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|([?-~])|([$-])/g);
  let end = 0;
  for (const [token, define, r, g, b, select, count, repeated, single, control] of tokens) {
    end += token.length;
    if (define !== undefined)
      palette.set(Number(define), [r, g, b].map((share) => Math.round((Number(share) * 255) / 100)) as Color);
    else if (select !== undefined) color = Number(select);
    else if (count !== undefined) draw(repeated!, Number(count));
    else if (single !== undefined) draw(single, 1);
    else {
      x = 0;
      if (control === '-') band++;
    }
  }
  if (end !== match[3]!.length) throw new Error('The image contains text that is not Sixel.');
  return { width, height, colors: palette.size, at: (px, py) => drawn.get(py * width + px) };
}
