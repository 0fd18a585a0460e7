/** The programs that the models run: output, a failure with guidance, and an image. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const PROGRAMS = [
  'x = 6\nprint(x * 7)',
  'print({"a": x}["b"])',
  `import base64\ndisplay(base64.b64decode("${PNG}"), mime="image/png")`,
];
