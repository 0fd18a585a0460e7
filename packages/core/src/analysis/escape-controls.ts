/**
 * Makes text of guests safe to show to people and models: invisible characters become visible, and no text can look like a
 * line that the host has written.
 */

const visible = (char: string) => {
  const code = char.codePointAt(0)!.toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
};

/** Replaces control characters, line breaks and characters that are invisible, such as fillers and variation selectors, with visible escapes. */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu, visible);
}

/**
 * For text of several lines, such as output: replaces the characters that control a terminal or reorder text. Tabs, line
 * ends and the invisible characters that languages and emoji use stay.
 */
export function escapeBlock(text: string): string {
  return text.replaceAll(/(?![\t\n]|\r\n)[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, visible);
}

const PLAIN_PATH = /^[\p{L}\p{M}\p{N}_./+@=~%#-]+$/u;

/** A file name for a list: in quotation marks unless it consists of letters, digits and usual punctuation. */
export function quotePath(path: string): string {
  return PLAIN_PATH.test(path) ? path : escapeControls(JSON.stringify(path));
}
