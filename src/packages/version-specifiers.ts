/** Versions and version specifiers of Python packages (PEP 440). Only release numbers are compared: pre-releases count as releases. */

/** The numbers of a version: `2.4.6rc1` is 2, 4, 6. */
function release(version: string): number[] {
  const text = /^\s*v?(?:\d+!)?(\d{1,9}(?:\.\d{1,9}){0,20})/.exec(version)?.[1] ?? '';
  return text === '' ? [] : text.split('.').map(Number);
}

/** Negative, zero or positive, like the comparison functions of sort(). */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [release(a), release(b)];
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const startsWith = (version: string, prefix: string) => {
  const numbers = release(version);
  return release(prefix).every((number, i) => (numbers[i] ?? 0) === number);
};

/** Whether a version satisfies one comparison, such as `>=1.26`. Unknown operators are satisfied. */
function satisfiesOne(version: string, operator: string, wanted: string): boolean {
  const isPrefix = wanted.endsWith('.*');
  const order = compareVersions(version, wanted);
  switch (operator) {
    case '==':
    case '===':
      return isPrefix ? startsWith(version, wanted) : order === 0;
    case '!=':
      return isPrefix ? !startsWith(version, wanted) : order !== 0;
    case '>=':
      return order >= 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    case '~=':
      return order >= 0 && startsWith(version, release(wanted).slice(0, -1).join('.'));
    default:
      return true;
  }
}

/** Whether a version satisfies a list of comparisons, such as `>=1.26,<3`. */
export function satisfies(version: string, specifiers: string): boolean {
  return specifiers.split(',').every((one) => {
    const match = /^\s*([<>=!~]{1,3})\s*(\S{1,100})\s*$/.exec(one);
    return match === null || satisfiesOne(version, match[1]!, match[2]!);
  });
}
