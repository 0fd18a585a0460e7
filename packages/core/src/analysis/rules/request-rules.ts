/** Rules for programs that may send requests: requests that were refused, and requests that failed. */
import type { NetworkExchange } from '../../schema.ts';
import { STDERR_SCAN_CHARS } from '../find-rule.ts';
import type { AnalysisInput } from '../input.ts';
import { failedAt, oneLine } from '../quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../rule.ts';

/** Characters of the reason for which a request failed that the message of the exception has to contain. */
const COMPARED = 60;
/** Exceptions that name no reason. */
const WITHOUT_REASON = /^(?:fetch failed|terminated|socket hang up)$/;

/** The request whose failure ended the program, or a command such as curl. */
function failedRequest(input: AnalysisInput): NetworkExchange | undefined {
  const { requests, error, ending, stderr } = input;
  const failed = (requests ?? []).filter((request) => request.error !== undefined).reverse();
  if (ending === 'exited' && error === undefined && stderr.length <= STDERR_SCAN_CHARS)
    return failed.find((request) => stderr.includes(request.error!.slice(0, COMPARED)));
  if (error === undefined || ending !== 'exception' || error.raised === true) return undefined;
  const hasReason = !WITHOUT_REASON.test(error.message);
  return failed.find((request) => !hasReason || error.message.includes(request.error!.slice(0, COMPARED)));
}

/** Reasons for a refusal begin with the request. */
function whatFailed({ method, url, error }: NetworkExchange): string {
  const request = `${oneLine(method, 20)} ${oneLine(url, 200)}`;
  return error!.startsWith(request) ? oneLine(error!, 400) : `${request} failed: ${oneLine(error!)}`;
}

function nextStep({ outcome, error }: NetworkExchange): string {
  if (outcome !== 'refused') return 'Catch the exception if the program can continue without the response';
  return error!.includes('is not in the recording')
    ? 'Nothing was sent. Send the requests of the recording, each as often as it was recorded; only the person who runs the sandbox can record others'
    : 'Nothing was sent. Only the person who runs the sandbox can permit requests: do not try the same request or another address of the host again';
}

export const requestRules: readonly Rule[] = [
  rule({
    type: 'RequestFailed',
    evidence:
      'A request was refused or failed, and the program does not handle the exception, or ended with the message on standard error.',
    docs: [DOCS.network],
    match: failedRequest,
    advise: (request, input) => ({
      guidance: [
        whatFailed(request),
        nextStep(request),
        'metadata.network lists the requests that were made: do not repeat those that changed something',
        failedAt(input),
      ],
    }),
  }),
];
