/**
 * The vendored packages: one row per package in vendored-packages.json. Versions and digests are in lock.json, measured fuel in
 * import-costs.json; both are generated from these rows.
 */
import type { RuntimeName } from '../schema.ts';
import table from './vendored-packages.json' with { type: 'json' };

export interface VendoredPackage {
  readonly language: RuntimeName;
  /** Name of the distribution, as installers use it. */
  readonly name: string;
  readonly import_names: readonly string[];
  /** What the package is for, in one line. */
  readonly use: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Version bounds that other rows require. */
  readonly version_bounds?: string;
  /** Imports to measure instead of `import_names`, for packages whose top level loads nothing. */
  readonly typical_imports?: readonly string[];
  /** Files that guests do not need, such as data of less common locales and tools for development. */
  readonly omitted_files?: RegExp;
  /** Python: modules without their source: generated code, data, and code that only other packages import. */
  readonly bytecode_only?: RegExp;
  /** The package's wheels contain compiled code, and the package works without it. */
  readonly compiled?: 'optional';
  /** Packages with native code that the package requires, and that are not vendored. */
  readonly needs?: readonly string[];
  /** Heavy in every installation, regardless of the measured fuel. */
  readonly heavy?: true;
  /**
   * The package is part of this project, in packages/first-party/<language>/. Its version is that of the package
   * `version_of`, by default the project's.
   */
  readonly first_party?: { readonly version_of?: string };
  /** JavaScript: the default export is the module namespace, although the package exports another default. */
  readonly default_export?: 'namespace';
  /** JavaScript: a folder of modules that programs import separately; `excluded` modules do not work in a guest. */
  readonly submodules?: { readonly folder: string; readonly excluded: readonly string[] };
  /** JavaScript: the package imports modules of Node.js, which it gets from the guest. */
  readonly uses_node_modules?: true;
  /** JavaScript: modules of the package that programs import separately, such as `sync` for NAME/sync. */
  readonly subpaths?: readonly string[];
  /**
   * JavaScript: the default export is the value of `instance`, an expression that uses the names in `imports` and creates the
   * parts of the package on first use. The other exports are taken from it on first use.
   */
  readonly lazy_instance?: { readonly imports: readonly string[]; readonly instance: string };
  /** JavaScript: modules that the package imports, and the files of first-party/javascript that it gets instead. */
  readonly replaced_modules?: Readonly<Record<string, string>>;
  /** JavaScript: texts of the bundle and what replaces them. */
  readonly replaced_texts?: Readonly<Record<string, string>>;
  /** JavaScript: statements that prepare the package, whose namespace is `all`, for use in a guest. */
  readonly setup?: string;
}

/** A package that a build had to omit. */
export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  readonly reason: string;
}

/** Describes missing packages with one sentence for each reason. */
export function describeMissing(missing: readonly MissingPackage[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const { name, version, reason } of missing)
    reasons.set(reason, [...(reasons.get(reason) ?? []), `${name} ${version}`]);
  return [...reasons].map(([reason, names]) => {
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
    const subject = `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
    return `${subject} ${names.length === 1 ? 'is' : 'are'} missing: ${reason}`;
  });
}

/** Maximum number of names in a sentence. */
const MAX_NAMES = 5;

/** A package is heavy if its first import takes more than this share of the default fuel budget. */
export const HEAVY_SHARE = 0.02;
/** A module of the standard library is costly if its first import takes at least this much fuel. */
export const COSTLY_FUEL = 10_000_000;

/** A row of vendored-packages.json. Patterns are texts; a package that is imported by its name has no `import_names`. */
interface StoredRow
  extends Omit<VendoredPackage, 'language' | 'import_names' | 'omitted_files' | 'bytecode_only'> {
  readonly import_names?: readonly string[];
  readonly omitted_files?: string;
  readonly bytecode_only?: string;
  /** Why the row is as it is. */
  readonly note?: string;
}

const rowsOf = (language: RuntimeName, rows: readonly StoredRow[]): readonly VendoredPackage[] =>
  rows.map(({ import_names, omitted_files, bytecode_only, note: _, ...row }) => ({
    ...row,
    language,
    import_names: import_names ?? [row.name],
    ...(omitted_files !== undefined && { omitted_files: new RegExp(omitted_files) }),
    ...(bytecode_only !== undefined && { bytecode_only: new RegExp(bytecode_only) }),
  }));

const stored = table as { readonly python: readonly StoredRow[]; readonly javascript: readonly StoredRow[] };
export const PYTHON_PACKAGES = rowsOf('python', stored.python);
export const JAVASCRIPT_PACKAGES = rowsOf('javascript', stored.javascript);
export const VENDORED_PACKAGES: readonly VendoredPackage[] = [...PYTHON_PACKAGES, ...JAVASCRIPT_PACKAGES];

/** The row of a Python package. As for pip, letter case and the difference between "-", "_" and "." do not matter. */
export function pythonPackage(name: string): VendoredPackage | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  return PYTHON_PACKAGES.find((one) => plain(one.name) === plain(name));
}
