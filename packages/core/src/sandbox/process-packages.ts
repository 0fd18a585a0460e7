/**
 * The packages of the Python processes that a program in another language starts. The image of a process is determined by the
 * text of its program, like that of a Python program, and is found when the process starts. If it has to be built, or packages have
 * to be added, the call starts again from the beginning: a thread that waits must not need another one.
 */
import { SandboxError } from '../errors.ts';
import { addedFacts, addedVersions, readAddedPackages } from '../packages/added-packages.ts';
import type { PackageSet } from '../packages/package-set.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import { type ImageExtension, isExtended } from '../worker/pool/guest-assets.ts';
import type { HostRequest, ImageAnswer, ImageQuestion } from '../worker/protocol/messages.ts';
import type { CallPackages } from './call-packages.ts';
import type { ImageResolver } from './image-resolver.ts';
import { type ImportingProgram, importsOf } from './packages-on-demand.ts';
import type { ProgramImage } from './sandbox-image.ts';

type ImageRequest = Extract<HostRequest, { readonly type: 'image' }>;

/** Names of packages in one answer. */
const MAX_OTHERS = 500;
/** Sets of modules that are loaded into images for one call. Other processes import their modules. */
const MAX_LOADED_SETS = 20;

export class ProcessPackages {
  /** The programs whose images were not ready. */
  readonly #wanted = new Map<string, ImageQuestion>();
  /** Their images, by the key of the program. */
  readonly #images = new Map<string, ProgramImage>();
  readonly #loadedSets = new Set<string>();
  /** The packages of the processes of this start, by digest. */
  readonly #used = new Map<string, PackageSet>();

  constructor(
    readonly images: ImageResolver,
    readonly call: CallPackages,
  ) {}

  /** The packages that processes have had. */
  get used(): readonly (readonly [digest: string, packages: PackageSet])[] {
    return [...this.#used];
  }

  /** Adds packages and builds images before the program starts, as far as an earlier start lacked them. */
  async prepare(): Promise<void> {
    this.#used.clear();
    this.#images.clear();
    this.#loadedSets.clear();
    const { onDemand, current } = this.images;
    // Packages that processes have asked for by name.
    await this.call.find({ code: '', exists: () => false });
    for (const [key, question] of this.#wanted) {
      const program = programOf(question);
      const wanted = (await this.call.find(program, current.packages)) ?? this.#given(program);
      this.#images.set(key, await this.images.withExtension(PACKAGE_RUNTIME, this.#limited(wanted)));
    }
    this.call.begin(onDemand === undefined ? current.packages?.facts : readAddedPackages().map(addedFacts));
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
    const { packages, assets } = found;
    for (const digest of packages?.digests ?? []) this.#used.set(digest, packages!);
    return {
      image: isExtended(found) ? assets : undefined,
      others: this.images.onDemand === undefined ? [] : addedVersions().slice(0, MAX_OTHERS),
    };
  }

  async #findReady(question: ImageQuestion): Promise<ProgramImage | undefined> {
    const { onDemand, current } = this.images;
    const program = programOf(question);
    const wanted =
      onDemand === undefined ? this.#given(program) : await this.call.present(program, current.packages);
    return wanted && this.images.ready(this.#limited(wanted));
  }

  /** The given packages, and those imports of a program that are loaded into its image. */
  #given(program: ImportingProgram): ImageExtension {
    const { packages, loads } = this.images.current;
    return { preload: loads === 'imported' && packages ? importsOf(packages, program) : [], packages };
  }

  /** Without modules if those of too many other programs are loaded into images. */
  #limited(extension: ImageExtension): ImageExtension {
    const loaded = extension.preload.join();
    if (loaded === '') return extension;
    if (this.#loadedSets.size >= MAX_LOADED_SETS && !this.#loadedSets.has(loaded))
      return { ...extension, preload: [] };
    this.#loadedSets.add(loaded);
    return extension;
  }
}

/** A program, with the files next to it that it can import. */
function programOf({ code, names }: ImageQuestion): ImportingProgram {
  const present = new Set(names);
  return { code, exists: (path: string) => present.has(path.split('/', 1)[0]!) };
}
