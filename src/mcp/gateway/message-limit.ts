/**
 * The size limit of messages from MCP servers. Over HTTP, a message is the body of a response, or an event of an event
 * stream, which may be open for any length of time.
 */
import { formatBytes } from '../../quantities.ts';

export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const LF = 0x0a;
const CR = 0x0d;

/** `fetch` with limited messages. `onExceeded` is called when a message is too long; reading it fails. */
export function limitMessages(onExceeded: () => void) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const mediaType = response.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
    const measure = mediaType === 'text/event-stream' ? eventBytes() : bodyBytes();
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (measure(chunk) <= MAX_MESSAGE_BYTES) return controller.enqueue(chunk);
        controller.error(new Error(`A message is longer than ${formatBytes(MAX_MESSAGE_BYTES)}.`));
        onExceeded();
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
  };
}

/** Returns the size of all chunks so far. */
function bodyBytes() {
  let size = 0;
  return (chunk: Uint8Array): number => {
    size += chunk.length;
    return size;
  };
}

/** Returns the size of the longest event in a chunk, including its part in earlier chunks. An empty line ends an event. */
function eventBytes() {
  let size = 0;
  let lineLength = 0;
  let previous = 0;
  return (chunk: Uint8Array): number => {
    let longest = 0;
    for (const byte of chunk) {
      size++;
      if (byte === CR || (byte === LF && previous !== CR)) {
        longest = Math.max(longest, size);
        if (lineLength === 0) size = 0;
        lineLength = 0;
      } else if (byte !== LF) lineLength++;
      previous = byte;
    }
    return Math.max(longest, size);
  };
}
