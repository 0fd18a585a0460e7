/** The imports that programs usually write for packages whose top-level module alone is of little use. */

const USUAL_IMPORTS: Readonly<Record<string, string>> = {
  matplotlib: 'matplotlib.pyplot',
  PIL: 'PIL.Image',
  lxml: 'lxml.etree',
};

/** The module that programs usually import: the top-level module, or a submodule that takes most of the fuel. */
export const usualImport = (module: string): string =>
  Object.hasOwn(USUAL_IMPORTS, module) ? USUAL_IMPORTS[module]! : module;
