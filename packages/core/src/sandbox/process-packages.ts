/**
 * The packages of the Python processes that a program in another language starts. The image of a process is determined by the
 * text of its program, like that of a Python program, and is found when the process starts. If it has to be built, or packages have
 * to be added, the call starts again from the beginning: a thread that waits must not need another one.
 */
import { SandboxError } from '../errors.ts';
import { addedFacts, addedVersions, readAddedPackages } from '../packages/added-packages.ts';
import type { UserPackages } from '../packages/read-user-packages.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import type { HostRequest, ImageAnswer, ImageQuestion } from '../worker/protocol/messages.ts';
import type { CallPackages } from './call-packages.ts';
import { importsOf, type PackagesOnDemand } from './packages-on-demand.ts';

/** The packages of a sandbox whose runtime has none. */
export interface PackageSource {
  /** The given ones, or those that a session has recorded. */
  readonly packages: UserPackages | undefined;
  /** Whether the packages that a program imports are loaded into its image. */
  readonly loadsImports: boolean;
  /** Adds packages when programs import them; undefined if only the given packages are available. */
  readonly onDemand: PackagesOnDemand | undefined;
}

type ImageRequest = Extract<HostRequest, { readonly type: 'image' }>;

interface ProcessImage {
  readonly extension: ImageExtension | undefined;
  readonly assets: GuestAssets;
}

/** What a sandbox provides. */
interface ImageSource {
  packages(): PackageSource;
  /** The image with an extension. */
  build(extension: ImageExtension | undefined): Promise<ProcessImage>;
  /** The same; undefined if it has to be built. */
  find(extension: ImageExtension | undefined): Promise<ProcessImage | undefined>;
}

/** Names of packages in one answer. */
const MAX_OTHERS = 500;
/** Sets of modules that are loaded into images for one call. Other processes import their modules. */
const MAX_LOADED_SETS = 20;

export class ProcessPackages {
  /** The programs whose images were not ready. */
  readonly #wanted = new Map<string, ImageQuestion>();
  /** Their images, by the key of the program. */
  readonly #images = new Map<string, ProcessImage>();
  readonly #loadedSets = new Set<string>();
  /** The packages of the processes of this start, by digest. */
  readonly #used = new Map<string, UserPackages>();

  constructor(
    readonly source: ImageSource,
    readonly call: CallPackages,
  ) {}

  /** The packages that processes have had. */
  get used(): readonly (readonly [digest: string, packages: UserPackages])[] {
    return [...this.#used];
  }

  /** Adds packages and builds images before the program starts, as far as an earlier start lacked them. */
  async prepare(): Promise<void> {
    this.#used.clear();
    this.#images.clear();
    this.#loadedSets.clear();
    await this.call.find('', () => false);
    for (const [key, question] of this.#wanted) {
      const { code, exists } = programOf(question);
      await this.call.find(code, exists);
      this.#images.set(key, await this.source.build(await this.#extensionFor(question)));
    }
    const { packages, onDemand } = this.source.packages();
    this.call.begin(onDemand === undefined ? packages?.facts : readAddedPackages().map(addedFacts));
  }

  /** Finds the image of a process. Never rejects. */
  async answer({ question, used }: ImageRequest): Promise<ImageAnswer<GuestAssets>> {
    try {
      return await this.#find(question, used);
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      return { problem: cause.message };
    }
  }

  async #find(question: ImageQuestion, used: number): Promise<ImageAnswer<GuestAssets>> {
    const key = JSON.stringify(question);
    const found = this.#images.get(key) ?? (await this.#findReady(question));
    if (found === undefined) {
      const problem = this.call.restart(used);
      if (problem !== undefined)
        return {
          problem: `the packages of this program are not ready, and ${problem}. Run it in a call of its own first.`,
        };
      this.#wanted.set(key, question);
      return 'restart';
    }
    const { extension, assets } = found;
    for (const digest of extension?.packages?.digests ?? []) this.#used.set(digest, extension!.packages!);
    const { onDemand } = this.source.packages();
    return {
      image: extension && assets,
      others: onDemand === undefined ? [] : addedVersions().slice(0, MAX_OTHERS),
    };
  }

  async #findReady(question: ImageQuestion): Promise<ProcessImage | undefined> {
    const { code, exists } = programOf(question);
    if (this.call.mustAdd(code, exists)) return undefined;
    return this.source.find(await this.#extensionFor(question));
  }

  /** The packages of a program, and those of its imports that are loaded into its image. */
  async #extensionFor(question: ImageQuestion): Promise<ImageExtension | undefined> {
    const extension = await this.#wantedFor(question);
    if (extension === undefined || extension.preload.length === 0) return extension;
    const loaded = extension.preload.join();
    if (this.#loadedSets.size >= MAX_LOADED_SETS && !this.#loadedSets.has(loaded))
      return { ...extension, preload: [] };
    this.#loadedSets.add(loaded);
    return extension;
  }

  async #wantedFor(question: ImageQuestion): Promise<ImageExtension | undefined> {
    const { packages, loadsImports, onDemand } = this.source.packages();
    const program = programOf(question);
    if (onDemand !== undefined) return this.call.extensionFor(program.code, program.exists, packages);
    const preload = loadsImports && packages ? importsOf(PACKAGE_RUNTIME, packages, program) : [];
    return packages && { preload, packages };
  }
}

/** A program, with the files next to it that it can import. */
function programOf({ code, names }: ImageQuestion) {
  const present = new Set(names);
  return { code, exists: (path: string) => present.has(path.split('/', 1)[0]!) };
}
