import { describe, expect, test } from 'vitest';
import { MAX_LABEL_CHARS, stepLabel } from '../../packages/server/src/playground/step-label.ts';

describe('the label of a step', () => {
  test.each([
    ['x = 1', 'x = 1'],
    ['# comment\n// another\n\nprint(2)', 'print(2)'],
    ['import math\nfrom os import path\n\nradius = 4', 'radius = 4'],
    ['from os import (\n    path,\n    sep,\n)\nprint(sep)', 'print(sep)'],
    ['"""Says what it does.\n\nIn two paragraphs.\n"""\nimport os\nrun()', 'run()'],
    ['"""One line."""\nrun()', 'run()'],
    ['import {\n  a,\n  b,\n} from "node:fs";\na(b);', 'a(b);'],
    [
      'const fs = require("fs");\nconst { join } = require("path");\nfs.readdirSync(".");',
      'fs.readdirSync(".");',
    ],
    ['"use strict";\nlet n = 1;', 'let n = 1;'],
    ['orders = [\n    {"month": 1},\n]', 'orders = [{"month": 1},'],
    ['import math', 'import math'],
    ['# only a comment', '# only a comment'],
    ['', 'Empty program'],
    ['from_here = 3', 'from_here = 3'],
    ['importance = 3', 'importance = 3'],
  ])('of %j is %j', (code, label) => {
    expect(stepLabel(code)).toBe(label);
  });

  test('is short', () => {
    expect(stepLabel('x'.repeat(1e6))).toHaveLength(MAX_LABEL_CHARS);
  });
});
