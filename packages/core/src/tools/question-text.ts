/** Text that asks a person about a tool call. The call comes from a program, so it must not hide or imitate other text. */
import { escapeControls } from '../analysis/escape-controls.ts';
import { formatItems } from '../quantities.ts';
import { checkUrl, originOf, sentUrl } from '../schema/url-pattern.ts';
import { NETWORK_CALLS } from './tool-limits.ts';

/** The longest text that a form can show completely. A person must not approve what is not shown. */
const MAX_FORM_CHARS = 4000;

interface AskedCall {
  readonly name: string;
  readonly arguments: unknown;
}

export const isRequest = ({ name }: Pick<AskedCall, 'name'>) => name === NETWORK_CALLS.request;

/** The name and all arguments of a call on one line; of a request, its method, URL and the size of its body. */
export function callText(call: AskedCall): string {
  if (isRequest(call)) return escapeControls(requestText(call.arguments as Record<string, unknown>));
  return escapeControls(`${call.name} with the arguments ${JSON.stringify(call.arguments)}`);
}

/** What a person sees of a request: its URL as it is sent, which a program can write in other ways. */
export function shownRequest({ method, url, body }: Record<string, unknown>) {
  const body_bytes = typeof body === 'string' ? Math.floor((body.replace(/={1,2}$/, '').length * 3) / 4) : 0;
  return { method, url: typeof url === 'string' ? sentUrl(url) : url, body_bytes };
}

/** A call as a person sees it. */
export const shownCall = <Call extends AskedCall>(call: Call): Call =>
  isRequest(call) ? { ...call, arguments: shownRequest(call.arguments as Record<string, unknown>) } : call;

/** Of a request as a program makes it, or as `shownRequest` describes it. A program could add `body_bytes` to its own. */
function requestText(given: Record<string, unknown>): string {
  const { method, url, body_bytes } = shownRequest(given);
  const size = 'body' in given ? body_bytes : Number(given['body_bytes'] ?? 0);
  const sent = size === 0 ? 'without a body' : `with a body of ${formatItems(size, 'byte')}`;
  return `${String(method)} ${String(url)} ${sent}`;
}

/** What a program wants to do. */
export const actionText = (call: AskedCall) =>
  `${isRequest(call) ? 'send the request' : 'call'} ${callText(call)}`;

/** The method and the origin of a request: what a decision for a session is about. */
export function requestScope(call: AskedCall): string {
  const { method, url } = call.arguments as Record<string, unknown>;
  const sent = checkUrl(String(url));
  if (typeof sent === 'string') return 'such requests';
  return escapeControls(`${String(method)} requests to ${originOf(sent)}`);
}

/** Whether a form can show the whole call. */
export const fitsForm = (call: Parameters<typeof callText>[0]) => callText(call).length <= MAX_FORM_CHARS;
