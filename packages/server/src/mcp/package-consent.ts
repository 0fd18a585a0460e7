/** Whether the user of a server lets programs add packages. The user is asked once, before the first package is added. */

import { type ExecuteOptions, formatBytes, type OnApproval } from '@llm-wasm-sandbox/core/internal';

type OnPackages = NonNullable<ExecuteOptions['onPackages']>;
type OfferedPackages = Parameters<OnPackages>[0];

const CANNOT_ASK = 'this client cannot ask a person for consent, so packages are not added on demand';

export class PackageConsent {
  #decision: boolean | undefined;

  /** Whether the user has not been asked. */
  get isOpen(): boolean {
    return this.#decision === undefined;
  }

  /** Decides about the packages of a call. Without `ask`, nobody can be asked, and nothing is added. */
  decide(ask: OnApproval | undefined, session_id: string, signal: AbortSignal): OnPackages {
    return async (packages) => {
      if (this.#decision !== undefined) return this.#decision;
      if (ask === undefined) return { reason: CANNOT_ASK };
      const question = { call_id: '', seq: 0, name: 'packages', arguments: {}, session_id, signal };
      const answer = await ask({ ...question, text: questionText(packages) });
      this.#decision = typeof answer === 'object' ? answer.approved : answer === true;
      return this.#decision;
    };
  }
}

function questionText(packages: OfferedPackages): string {
  const names = packages.map(({ name, version, bytes }) =>
    [name, version, bytes === undefined ? undefined : `(${formatBytes(bytes)})`]
      .filter((part) => part !== undefined)
      .join(' '),
  );
  return `A program imports packages that are not installed: ${names.join(', ')}.\nDownload them and what they depend on? They run only in the sandbox. Later packages are added without asking.`;
}
