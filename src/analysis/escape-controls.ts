/** Makes invisible characters visible in text that a person reads. Such text may come from guests. */

/** Replaces control characters, line breaks and characters that are invisible, such as fillers and variation selectors, with visible escapes. */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (char) => {
      const code = char.codePointAt(0)!.toString(16);
      return code.length <= 2 ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
    },
  );
}
