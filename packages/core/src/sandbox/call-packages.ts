/**
 * The packages of one program, and of the Python processes that a program in another language starts. What a program asks for
 * while it runs is added when it is stopped and started again, unless something outside the sandbox has already seen what it did.
 * A program that asks for the same package twice is not started again.
 *
 * The image of a process is determined by the text of its program, like that of a Python program, and is found when the process
 * starts. If it has to be built, the call starts again: a thread that waits must not need another one.
 */
import { SandboxError } from '../errors.ts';
import { addedFacts, addedVersions, readAddedPackages } from '../packages/added-packages.ts';
import { vendoredPackagesOf } from '../packages/import-costs.ts';
import type { PackageSet } from '../packages/package-set.ts';
import { satisfies } from '../packages/version-specifiers.ts';
import { normalisedName, parseRequirement, type Requirement } from '../packages/wheel-metadata.ts';
import { formatItems } from '../quantities.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { PackageAddition, PackageFacts } from '../schema.ts';
import { type ImageExtension, isExtended } from '../worker/pool/guest-assets.ts';
import type { HostAnswer, HostRequest, ImageAnswer, ImageQuestion } from '../worker/protocol/messages.ts';
import type { ImageResolver } from './image-resolver.ts';
import {
  extensionFor,
  type ImportingProgram,
  importsOf,
  type NeededPackages,
  type PackagesOnDemand,
} from './packages-on-demand.ts';
import { hasProcessPackages, type ProgramImage } from './sandbox-image.ts';

/**
 * How often a program is started again, and the share of its fuel or time that these starts may use together. A start that ends
 * this way is not charged, so a program must not get many, nor expensive ones.
 */
const MAX_RESTARTS = 5;
const MAX_UNCHARGED = 0.5;
/** Names that a program may ask for in vain. Looking for them is not charged. */
const MAX_NOT_FOUND = 30;
const NOT_LOOKED_FOR = `the program has asked for ${MAX_NOT_FOUND} packages or more that cannot be added, and this and further ones were not looked for`;

/** Names of packages in one answer. */
const MAX_OTHERS = 500;
/** Sets of modules that are loaded into images for one call. Other processes import their modules. */
const MAX_LOADED_SETS = 20;

type PackageQuestion = Extract<HostRequest, { readonly type: 'packages' }>;
type ImageRequest = Extract<HostRequest, { readonly type: 'image' }>;

interface CallPackagesOptions {
  readonly images: ImageResolver;
  /** Whether the program gets packages; otherwise it has only the standard library. */
  readonly isSetUp: boolean;
  readonly approve: NeededPackages['approve'];
  /** What the program has done that cannot be undone, as in "has called tools"; undefined if nothing. */
  effect(): string | undefined;
}

export class CallPackages {
  readonly #options: CallPackagesOptions;
  /** Undefined if no packages are added. */
  readonly #onDemand: PackagesOnDemand | undefined;
  /** Whether the Python processes of the program have other packages than the vendored ones. */
  readonly areOfProcesses: boolean;
  readonly #modules = new Set<string>();
  readonly #requirements = new Map<string, Requirement>();
  /** What was added for the program, and what was not, by name. */
  readonly #additions = new Map<string, PackageAddition>();
  /** The versions of the packages that are there, by normalised name. */
  #available: ReadonlyMap<string, string> = new Map();
  #importable: readonly PackageFacts[] | undefined;
  #restarts = 0;
  /** What earlier starts have used, as a share of the limits. */
  #uncharged = 0;
  #isStopped = false;
  #notFound = 0;
  /** Whether names have been answered without looking for them. */
  #hasGivenUp = false;
  /** The programs of processes whose images were not ready. */
  readonly #wanted = new Map<string, ImageQuestion>();
  /** Their images, by the key of the program. */
  readonly #images = new Map<string, ProgramImage>();
  readonly #loadedSets = new Set<string>();
  /** The packages of the processes of this start, by digest. */
  readonly #used = new Map<string, PackageSet>();

  constructor(options: CallPackagesOptions) {
    const { images, isSetUp } = options;
    this.#options = options;
    this.#onDemand = isSetUp ? images.onDemand : undefined;
    this.areOfProcesses = isSetUp && hasProcessPackages(images.current);
  }

  get addsPackages(): boolean {
    return this.#onDemand !== undefined;
  }

  get additions(): readonly PackageAddition[] {
    return [...this.#additions.values()];
  }

  /** The added packages that a program could import; undefined if no packages are added on demand. */
  get importable(): readonly PackageFacts[] | undefined {
    return this.#importable;
  }

  /** Adds what the program needs and returns its packages, with others; undefined if no packages are added. */
  async find(program: ImportingProgram, others?: PackageSet): Promise<ImageExtension | undefined> {
    if (this.#onDemand === undefined) return undefined;
    const needed = this.#needed(program);
    const { additions, importable } = await this.#onDemand.add(needed);
    this.#importable = importable;
    for (const one of additions) this.#additions.set(one.name, one);
    return extensionFor(needed, others);
  }

  /** The same without adding packages; undefined if some have to be added. Those that could not be added do not count. */
  async #present(program: ImportingProgram, others?: PackageSet): Promise<ImageExtension | undefined> {
    const needed = this.#needed(program);
    const missing = this.#onDemand?.missing(needed) ?? [];
    if (missing.some(({ name }) => !this.#additions.has(name))) return undefined;
    return extensionFor(needed, others);
  }

  #needed({ code, exists }: ImportingProgram): NeededPackages {
    const { approve } = this.#options;
    const requirements = [...this.#requirements.values()];
    return { code, exists, approve, modules: this.#modules, requirements };
  }

  /** The program starts, and these added packages are there for it. Only Python asks for packages, also as a process of another language. */
  begin(added: readonly PackageFacts[] = []): void {
    const facts = [...vendoredPackagesOf(PACKAGE_RUNTIME), ...added];
    this.#available = new Map(facts.map(({ name, version }) => [normalisedName(name), version]));
  }

  /** Whether the program was stopped and has to be started again. */
  get mustRestart(): boolean {
    return this.#isStopped;
  }

  /** The program was stopped. `used` is the share of the limits that the start has used. */
  restarting(used: number): void {
    this.#isStopped = false;
    this.#uncharged += used;
  }

  /** Has the program started again. `used` is what this start has used until now. Returns why not, if that is impossible. */
  #restart(used: number): string | undefined {
    if (this.#isStopped) return undefined;
    const effect = this.#options.effect();
    if (effect !== undefined) return `it cannot be started again, because it has ${effect}`;
    if (this.#restarts >= MAX_RESTARTS)
      return `it was already started again ${formatItems(this.#restarts, 'time')}`;
    if (this.#uncharged + used >= MAX_UNCHARGED)
      return `it and its earlier starts have used ${Math.round((this.#uncharged + used) * 100)} % of its limits`;
    this.#restarts++;
    this.#isStopped = true;
    return undefined;
  }

  answer({ kind, names, used }: PackageQuestion): NonNullable<HostAnswer['packages']> {
    if (kind === 'module') return this.#findModules(names, used);
    const asked = names.map((text) => ({ text, requirement: parseRequirement(text) }));
    const absent = asked.filter(({ requirement }) => !this.#isAvailable(requirement));
    const wanted = this.#acceptable(absent.flatMap(({ requirement }) => requirement ?? []));
    const wantedNames = wanted.map(({ name }) => name);
    if (wanted.length === 0 || !this.#stop(wantedNames, used)) return absent.map(({ text }) => text);
    for (const one of wanted) this.#requirements.set(one.name, one);
    return 'restart';
  }

  #findModules(names: readonly string[], used: number): readonly string[] | 'restart' {
    const onDemand = this.#onDemand;
    const wanted = names.filter((name) => !this.#modules.has(name));
    if (onDemand === undefined || wanted.length === 0 || this.#givesUp(wanted[0]!)) return names;
    const packages = onDemand.packagesOf(wanted).filter((name) => !this.#additions.has(name));
    if (packages.length === 0) this.#notFound += wanted.length;
    if (packages.length === 0 || !this.#stop(packages, used)) return names;
    for (const name of wanted) this.#modules.add(name);
    return 'restart';
  }

  #isAvailable(wanted: Requirement | undefined): boolean {
    const version = wanted && this.#available.get(wanted.name);
    return version !== undefined && satisfies(version, wanted!.specifiers);
  }

  /** The requirements that can be fulfilled. The result says why others cannot. */
  #acceptable(wanted: readonly Requirement[]): readonly Requirement[] {
    const onDemand = this.#onDemand;
    const untried = wanted.filter(({ name }) => !this.#additions.has(name) && !this.#requirements.has(name));
    if (onDemand === undefined || untried.length === 0 || this.#givesUp(untried[0]!.name)) return [];
    const problems = onDemand.refusals(untried);
    this.#notFound += problems.size;
    for (const [name, problem] of problems) this.#refuse(name, problem);
    return untried.filter(({ name }) => !problems.has(name));
  }

  /** Whether packages are not looked for any more. The result says so for the first of them. */
  #givesUp(name: string): boolean {
    if (this.#notFound < MAX_NOT_FOUND) return false;
    if (!this.#hasGivenUp) this.#refuse(name, NOT_LOOKED_FOR);
    this.#hasGivenUp = true;
    return true;
  }

  #stop(names: readonly string[], used: number): boolean {
    const reason = this.#restart(used);
    if (reason === undefined) return true;
    for (const name of names)
      this.#refuse(
        name,
        `the program needs it at run time, and ${reason}; import it in the first lines of the program, or add it with "llm-wasm-sandbox packages add ${name}"`,
      );
    return false;
  }

  #refuse(name: string, problem: string): void {
    if (!this.#additions.has(name)) this.#additions.set(name, { name, problem });
  }

  // ---- processes ----

  /** The packages that processes have had. */
  get usedByProcesses(): readonly (readonly [digest: string, packages: PackageSet])[] {
    return [...this.#used];
  }

  /** Adds packages and builds images before the program starts, as far as an earlier start lacked them. */
  async prepare(): Promise<void> {
    this.#used.clear();
    this.#images.clear();
    this.#loadedSets.clear();
    const { current } = this.#options.images;
    // Packages that processes have asked for by name.
    await this.find({ code: '', exists: () => false });
    for (const [key, question] of this.#wanted) {
      const program = programOf(question);
      const wanted = (await this.find(program, current.packages)) ?? this.#given(program);
      this.#images.set(key, await this.#options.images.withExtension(PACKAGE_RUNTIME, this.#limited(wanted)));
    }
    this.begin(this.#onDemand === undefined ? current.packages?.facts : readAddedPackages().map(addedFacts));
  }

  /** Finds the image of a process. Never rejects. */
  async answerImage({ question, used }: ImageRequest): Promise<ImageAnswer<GuestAssets>> {
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
      const problem = this.#restart(used);
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
      others: this.#onDemand === undefined ? [] : addedVersions().slice(0, MAX_OTHERS),
    };
  }

  async #findReady(question: ImageQuestion): Promise<ProgramImage | undefined> {
    const { images } = this.#options;
    const program = programOf(question);
    const wanted =
      this.#onDemand === undefined
        ? this.#given(program)
        : await this.#present(program, images.current.packages);
    return wanted && images.ready(this.#limited(wanted));
  }

  /** The given packages, and those imports of a program that are loaded into its image. */
  #given(program: ImportingProgram): ImageExtension {
    const { packages, loads } = this.#options.images.current;
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
