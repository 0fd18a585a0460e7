/** Dependencies in the metadata of a wheel: requirements, versions and environment markers. */
import { describe, expect, test } from 'vitest';
import { appliesToGuests } from '../../packages/core/src/packages/environment-markers.ts';
import { satisfies } from '../../packages/core/src/packages/version-specifiers.ts';
import { parseRequirement, readMetadata } from '../../packages/core/src/packages/wheel-metadata.ts';

describe('environment markers', () => {
  test.each([
    ['python_version >= "3.9"', true],
    ["python_version < '3.14'", false],
    ['python_version < "3.9" or python_version == "3.14"', true],
    ['python_version ~= "3.9"', true],
    ['python_version ~= "2.7"', false],
    ['sys_platform == "win32"', false],
    ['sys_platform == "win32" or sys_platform == "emscripten"', true],
    ['sys_platform == "emscripten" and (os_name == "nt" or python_version >= "3.10")', true],
    ['"linux" in sys_platform', false],
    ['sys_platform not in "win32 darwin"', true],
    ['extra == "test"', false],
    ['platform_python_implementation != "PyPy"', true],
    // A marker that cannot be parsed applies.
    ['(python_version', true],
    ['unknown_name == "x"', true],
    ['', true],
    ['('.repeat(1000), true],
  ])('%s is %s', (marker, expected) => {
    expect(appliesToGuests(marker)).toBe(expected);
  });
});

describe('version specifiers', () => {
  test.each([
    ['2.4.6', '>=1.26,<3', true],
    ['2.4.6', '<2', false],
    ['2.4.6', '==2.4.*', true],
    ['2.4.6', '!=2.4.6', false],
    ['2.4.6', '~=2.3', true],
    ['3.0', '~=2.3', false],
    ['1.10', '>1.9', true],
    ['2.9.0.post0', '==2.9.0', false],
    ['2.9.0.post0', '==2.9.0.*', true],
    ['2.0rc1', '>=2.0', false],
    ['2.1rc1', '>=2.0', true],
    ['1!1.0', '>2', true],
    ['1.0+local', '==1.0', true],
    // An invalid list is ignored, an invalid version satisfies none.
    ['1.0', '>=banana', true],
    ['banana', '>=1.0', false],
    ['9'.repeat(5000), '>=1.0', false],
    ['1.0', '', true],
    // A list with too many comparisons is ignored, too.
    ['1.0', `<1${',>=0'.repeat(19)}`, false],
    ['1.0', `<1${',>=0'.repeat(20)}`, true],
  ])('%s with %s is %s', (version, specifiers, expected) => {
    expect(satisfies(version, specifiers)).toBe(expected);
  });
});

describe('requirements', () => {
  test.each([
    ['numpy>=1.26', { name: 'numpy', specifiers: '>=1.26', marker: '' }],
    ['Python_Dateutil (>=2.8)', { name: 'python-dateutil', specifiers: '>=2.8', marker: '' }],
    ['a[extra] ; os_name == "nt"', { name: 'a', specifiers: '', marker: 'os_name == "nt"' }],
    ['--index-url=x', undefined],
    ['name @ https://example.org/x.whl', undefined],
  ])('%s', (text, expected) => {
    expect(parseRequirement(text)).toEqual(expected);
  });

  test('are read from METADATA for guests without extras', () => {
    const lines = [
      'Name: x',
      'Summary: An example\u001b[31m',
      'License-Expression: MIT',
      'Requires-Dist: numpy>=1.26',
      'Requires-Dist: colorama; sys_platform == "win32"',
      "Requires-Dist: pytest; extra == 'test'",
      '',
      'Requires-Dist: not-a-header',
    ];
    const data = new TextEncoder().encode(lines.join('\n'));
    expect(readMetadata('x', [{ path: 'x-1.dist-info/METADATA', data }])).toEqual({
      summary: 'An example [31m',
      licence: 'MIT',
      requires: [{ name: 'numpy', specifiers: '>=1.26' }],
    });
  });
});
