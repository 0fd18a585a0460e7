/** Programs that several benchmarks run. */

/** Each takes about ten milliseconds and exercises a different interpreter feature. */
export const PYTHON_PROGRAMS = {
  fib: `
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(20)`,
  loop: `
total = 0
for i in range(300_000):
    total += i & 7`,
  dict: `
counts = {}
for i in range(100_000):
    key = i % 1000
    counts[key] = counts.get(key, 0) + 1`,
  json: `
import json
data = [{'id': i, 'name': f'user {i}', 'tags': ['a', 'b'], 'score': i / 3} for i in range(1500)]
json.loads(json.dumps(data)) == data`,
  strings: `
words = ('the quick brown fox jumps over the lazy dog ' * 500).split()
text = ' '.join(word.upper()[::-1] for word in words for _ in range(4))
text.replace('GOD', 'CAT').count('CAT')`,
  objects: `
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def plus(self, other):
        return Point(self.x + other.x, self.y + other.y)
p = Point(0, 0)
for i in range(40_000):
    p = p.plus(Point(i, 1))`,
  float: `
import math
total = 0.0
for i in range(1, 100_000):
    total += math.sqrt(i) / (i + 0.5)`,
  regex: `
import re
text = 'alpha=1; beta=22; gamma=333; ' * 800
len(re.findall(r'(\\w+)=(\\d+)', text)), len(re.sub(r'[aeiou]', '', text))`,
  sort: `
import random
rng = random.Random(1)
values = [rng.random() for _ in range(30_000)]
sorted(values), sorted(values, key=lambda v: -v)`,
  comprehension: `
squares = [n * n for n in range(60_000) if n % 3]
{n % 97: n for n in squares}, sum(set(squares))`,
  generator: `
def walk(n):
    for i in range(n):
        yield i
sum(a * b for a, b in zip(walk(60_000), walk(60_000)))`,
  bigint: `
value = 1
for i in range(1, 1200):
    value *= i
len(str(value))`,
  exceptions: `
caught = 0
for i in range(30_000):
    try:
        if i % 2:
            raise ValueError(i)
    except ValueError:
        caught += 1`,
  hashing: `
import hashlib
data = bytes(range(256)) * 64
for _ in range(20):
    digest = hashlib.sha256(data).hexdigest()`,
};

/** A loop of 1,000,000 iterations, which takes long enough for V8 to optimise the interpreter. */
export const LOOPS = {
  python: 'n = 0\nfor i in range(1_000_000):\n    n += i % 7',
  javascript: 'var n = 0; for (let i = 0; i < 1_000_000; i++) n += i % 7;',
};

/** Bodies of functions, each of which exercises a different feature of the engine and returns a checksum. */
export const JAVASCRIPT_PROGRAMS = {
  calls: `
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
return fib(24);`,
  integers: `
let sum = 0;
for (let i = 0; i < 500; i++) for (let j = 0; j < 600; j++) sum = (sum + ((i * j) ^ (j << 1))) | 0;
return sum;`,
  floats: `
let total = 0;
for (let y = 0; y < 60; y++)
  for (let x = 0; x < 60; x++) {
    let [re, im, steps] = [0, 0, 0];
    while (steps < 100 && re * re + im * im < 4) {
      const next = re * re - im * im + x / 20 - 2;
      im = 2 * re * im + y / 30 - 1;
      re = next;
      steps++;
    }
    total += steps;
  }
return total;`,
  sort: `
const values = [];
for (let i = 0, seed = 12345; i < 15000; i++) values.push((seed = (seed * 1103515245 + 12345) & 0x7fffffff));
values.sort((a, b) => a - b);
return values.map((v) => v % 97).filter((v) => v & 1).reduce((sum, v) => sum + v, values[7000]);`,
  typedArrays: `
const composite = new Uint8Array(150001);
let count = 0;
for (let i = 2; i <= 150000; i++) {
  if (composite[i]) continue;
  count++;
  for (let j = i * 2; j <= 150000; j += i) composite[j] = 1;
}
return count;`,
  grid: `
const grid = Array.from({ length: 120 }, (_, i) => Array.from({ length: 120 }, (_, j) => i * j));
let sum = 0;
for (let round = 0; round < 5; round++)
  for (let i = 1; i < 119; i++) for (let j = 1; j < 119; j++) sum += grid[i - 1][j] + grid[i][j + 1] - grid[i][j];
return sum;`,
  strings: `
let text = '';
for (let i = 0; i < 20000; i++) text += 'w' + (i % 50) + ' ';
let short = '';
for (const word of text.split(' ')) short += word.toUpperCase().slice(0, 2);
let hash = 0;
for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
return hash + short.length;`,
  mapsAndSets: `
const counts = new Map();
const seen = new Set();
for (let i = 0; i < 20000; i++) {
  const key = 'k' + (i % 1000);
  counts.set(key, (counts.get(key) ?? 0) + 1);
  seen.add(i % 777);
  if (seen.has(i)) counts.set(i, i);
}
return seen.size + [...counts.values()].reduce((sum, count) => sum + count);`,
  queues: `
const queue = [];
for (let i = 0; i < 1500; i++) queue.unshift(i);
for (let i = 0; i < 1500; i++) queue.splice(700, 1, i, i + 1);
return queue.length + queue[800];`,
  properties: `
const o = { a: 1, b: 2, c: 3, d: { e: 4 } };
let sum = 0;
for (let i = 0; i < 100000; i++) {
  o.a = o.b + o.c;
  o.b = o.a - o.d.e;
  o.c = i & 7;
  sum += o.b;
}
const counts = {};
for (let i = 0; i < 20000; i++) counts['x' + (i % 300)] = (counts['x' + (i % 300)] | 0) + i;
for (const key in counts) sum += counts[key];
return sum;`,
  classes: `
class Vector {
  constructor(x, y) { this.x = x; this.y = y; }
  plus(other) { return new Vector(this.x + other.x, this.y + other.y); }
  get length2() { return this.x * this.x + this.y * this.y; }
}
class Unit extends Vector { plus(other) { return super.plus(other); } }
let [sum, unit] = [new Vector(0, 0), new Unit(1, 1)];
for (let i = 0; i < 50000; i++) { sum = sum.plus(unit); if (i % 3 === 0) unit.plus(sum); }
return sum.length2;`,
  closures: `
const counter = (n) => { let c = n; return { add: () => ++c, get: () => c }; };
let sum = 0;
for (let i = 0; i < 4000; i++) { const one = counter(i); for (let j = 0; j < 8; j++) one.add(); sum += one.get(); }
const compose = (...all) => (x) => all.reduce((v, f) => f(v), x);
const f = compose((x) => x + 1, (x) => x * 2, (x) => x - 3);
for (let i = 0; i < 15000; i++) sum += f(i);
return sum;`,
  search: `
const [columns, up, down] = [[], [], []];
let count = 0;
const place = (row) => {
  if (row === 7) { count++; return; }
  for (let i = 0; i < 7; i++) {
    if (columns[i] || up[row + i] || down[row - i + 7]) continue;
    columns[i] = up[row + i] = down[row - i + 7] = true;
    place(row + 1);
    columns[i] = up[row + i] = down[row - i + 7] = false;
  }
};
for (let round = 0; round < 4; round++) place(0);
return count;`,
  generators: `
function* numbers(n) { for (let i = 0; i < n; i++) yield i; }
let sum = 0;
for (const n of numbers(40000)) sum += n;
for (let i = 0; i < 8000; i++) { const [a, b] = [i, i + 1]; const { x, ...rest } = { x: a, y: b, z: 1 }; sum += a + rest.y; }
return sum;`,
  regex: `
let text = '';
for (let i = 0; i < 1500; i++) text += 'user' + i + '@mail' + (i % 9) + '.example.com, tel +49-' + ((i * 7919) % 10007) + '; ';
let count = 0;
for (const match of text.matchAll(/([a-z0-9]+)@([a-z0-9.]+)\\.com/g)) count += match[1].length;
return count + text.replace(/\\d+/g, (d) => d.length).length + text.match(/\\+49-(\\d{2,4});/g).length;`,
  json: `
const rows = [];
for (let i = 0; i < 1500; i++)
  rows.push({ id: i, name: 'user ' + i, tags: ['a', 'b', 'c'], score: i / 3, sub: { x: i, y: [i, i + 1] } });
let size = 0;
for (let round = 0; round < 3; round++) { const text = JSON.stringify(rows); size += text.length + JSON.parse(text).length; }
return size;`,
  bigints: `
let value = 1n;
for (let i = 1n; i < 600n; i++) value *= i;
return value.toString().length;`,
  exceptions: `
let caught = 0;
for (let i = 0; i < 8000; i++) { try { if (i % 2) throw new Error(i); } catch { caught++; } }
return caught;`,
};
