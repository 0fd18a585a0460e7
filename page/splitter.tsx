/** The space between two panels, which a pointer or the arrow keys move. The sizes are kept for the next visit. */
import { useRef, useState } from 'preact/hooks';

const SIZES_KEY = 'sizes';
const MIN_PIXELS = 90;
const STEP_PIXELS = 24;

/** The shares of the panels in the space of their column or row, by the class of the panel. */
const DEFAULTS = { work: 2.7, side: 1, program: 1.15, output: 1, timeline: 2, variables: 1, files: 1 };
type PanelName = keyof typeof DEFAULTS;
type Sizes = Readonly<Record<PanelName, number>>;

function savedSizes(): Sizes {
  try {
    const saved = JSON.parse(localStorage.getItem(SIZES_KEY) ?? '{}') as Record<string, unknown>;
    const valid = Object.entries(saved).filter(
      ([name, size]) => name in DEFAULTS && typeof size === 'number' && size > 0.01 && size < 100,
    );
    return { ...DEFAULTS, ...Object.fromEntries(valid) };
  } catch {
    return DEFAULTS;
  }
}

export function useSizes() {
  const [sizes, setSizes] = useState(savedSizes);
  const change = (changed: Partial<Sizes>) =>
    setSizes((known) => {
      const next = { ...known, ...changed };
      localStorage.setItem(SIZES_KEY, JSON.stringify(next));
      return next;
    });
  const style = Object.fromEntries(Object.entries(sizes).map(([name, size]) => [`--${name}`, `${size}`]));
  return { sizes, change, style };
}

interface Props {
  readonly axis: 'x' | 'y';
  readonly before: PanelName;
  readonly after: PanelName;
  readonly sizes: Sizes;
  onChange(sizes: Partial<Sizes>): void;
}

export function Splitter({ axis, before, after, sizes, onChange }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const drag = useRef<{ readonly from: number; readonly pixels: readonly [number, number] } | undefined>(
    undefined,
  );
  const pixels = (name: PanelName) => {
    const box = element.current!.parentElement!.querySelector(`:scope > .${name}`)!.getBoundingClientRect();
    return axis === 'x' ? box.width : box.height;
  };
  const bothPixels = () => [pixels(before), pixels(after)] as const;
  const move = (delta: number, [first, second] = bothPixels()) => {
    const total = first + second;
    if (total < 2 * MIN_PIXELS) return;
    const wanted = Math.min(Math.max(first + delta, MIN_PIXELS), total - MIN_PIXELS);
    const share = (sizes[before] + sizes[after]) / total;
    onChange({ [before]: wanted * share, [after]: (total - wanted) * share });
  };
  const reset = () => onChange({ [before]: DEFAULTS[before], [after]: DEFAULTS[after] });
  const position = (event: PointerEvent) => (axis === 'x' ? event.clientX : event.clientY);
  const [less, more] = axis === 'x' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown'];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves has a value, which <hr> cannot have
    <div
      ref={element}
      class={`splitter ${axis}`}
      role="separator"
      tabIndex={0}
      aria-orientation={axis === 'x' ? 'vertical' : 'horizontal'}
      aria-label={`Size of ${before} and ${after}`}
      aria-valuenow={Math.round((100 * sizes[before]) / (sizes[before] + sizes[after]))}
      aria-valuemin={0}
      aria-valuemax={100}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { from: position(event), pixels: bothPixels() };
      }}
      onPointerMove={(event) => {
        const { from, pixels } = drag.current ?? {};
        if (from !== undefined) move(position(event) - from, pixels);
      }}
      onPointerUp={() => {
        drag.current = undefined;
      }}
      onDblClick={reset}
      onKeyDown={(event) => {
        if (event.key === less) move(-STEP_PIXELS);
        else if (event.key === more) move(STEP_PIXELS);
        else if (event.key === 'Home') reset();
        else return;
        event.preventDefault();
      }}
    />
  );
}
