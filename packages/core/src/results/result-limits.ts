/** Limits on what one call can display. The host enforces them; guests stay below them to avoid unnecessary work. */

export const RESULT_LIMITS = {
  /** Results of a call. Further results are counted and dropped. */
  count: 20,
  /** Bytes of one message from a guest. */
  messageBytes: 8 * 1024 * 1024,
  /** Bytes of one form of a result. A larger one becomes a file. */
  formBytes: 1024 * 1024,
  /** Bytes of all forms in the results of a call. Further forms become files. */
  totalBytes: 4 * 1024 * 1024,
  /** Characters of the plain text of a result. Longer text is truncated. */
  textChars: 100_000,
  /** Rows and columns of a table in `data`. */
  tableRows: 1000,
  tableColumns: 100,
  /** Rows of a table in Markdown, and characters of each of its cells. */
  shownRows: 50,
  cellChars: 200,
  /** Width and height of an image. */
  imageEdge: 16_384,
  /** Pixels of an image. */
  imagePixels: 64 * 1024 * 1024,
  /** Width and height of an image as it is shown. Clients downscale larger images. */
  shownEdge: 1568,
} as const;

/** Limits of the JSON text in a message. */
export const MESSAGE_SHAPE = { depth: 100, members: 400_000, literalChars: 512 } as const;
