/**
 * Arguments and environment variables as text. In text that is not UTF-8, each byte above 127 is a lone surrogate, as in Python's
 * `surrogateescape`, so every text becomes the same bytes again.
 */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

const ESCAPE = 0xdc00;
const isEscape = (unit: number) => unit >= ESCAPE + 0x80 && unit <= ESCAPE + 0xff;

export function argumentText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte < 0x80 ? byte : ESCAPE + byte);
    return text;
  }
}

export function argumentBytes(text: string): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return encoder.encode(text);
  const bytes: number[] = [];
  for (const character of text) {
    const unit = character.codePointAt(0)!;
    if (unit < 0x80 || isEscape(unit)) bytes.push(unit & 0xff);
    else bytes.push(...encoder.encode(character));
  }
  return Uint8Array.from(bytes);
}
