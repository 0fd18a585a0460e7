/** The theme of the host: light or dark, and those of its colours and fonts that the styles of the page have. */
import type { HostContext } from './host.ts';

/** Variables of the page, by those of the host. */
const VARIABLES: Readonly<Record<string, string>> = {
  '--color-background-primary': '--panel',
  '--color-background-secondary': '--raised',
  '--color-text-primary': '--text',
  '--color-text-secondary': '--muted',
  '--color-border-primary': '--line',
  '--font-sans': '--sans',
  '--font-mono': '--mono',
};

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
let chosen: unknown;

function showTheme(): void {
  const isDark = chosen === undefined ? prefersDark.matches : chosen === 'dark';
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
}

export function applyTheme({ theme, styles }: HostContext): void {
  if (theme !== undefined) chosen = theme;
  showTheme();
  for (const [name, own] of Object.entries(VARIABLES)) {
    const value = styles?.variables?.[name];
    if (typeof value === 'string') document.documentElement.style.setProperty(own, value);
  }
}

/** Until the host has said which theme it has, the one that the person prefers is shown. */
export function followPreference(): void {
  showTheme();
  prefersDark.addEventListener('change', showTheme);
}
