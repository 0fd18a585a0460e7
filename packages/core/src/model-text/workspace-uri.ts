/** URIs and MIME types of workspace files. */

export function workspaceUri(session_id: string, path: string): string {
  return `workspace://${session_id}/${path.split('/').map(encodeURIComponent).join('/')}`;
}

const MIME_TYPES: Record<string, string> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  xml: 'application/xml',
  yaml: 'application/yaml',
  zip: 'application/zip',
};

/** The MIME type for a file name extension, or undefined if the extension is unknown. */
export function mimeType(path: string): string | undefined {
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  // Programs choose file names: `x.constructor` must not find an inherited property.
  return Object.hasOwn(MIME_TYPES, extension) ? MIME_TYPES[extension] : undefined;
}
