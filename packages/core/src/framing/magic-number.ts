/** Magic numbers: the first bytes of a binary format, given as text with one character per byte. */

export function encodeMagic(magic: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(magic, (char) => char.charCodeAt(0));
}

export function hasMagic(bytes: Uint8Array, magic: string): boolean {
  return bytes.length >= magic.length && encodeMagic(magic).every((byte, i) => byte === bytes[i]);
}
