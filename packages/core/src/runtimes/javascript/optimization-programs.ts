/** Programs that use what most JavaScript programs use (see worker/thread/idle-optimization.ts). Each runs for some milliseconds. */
export const OPTIMIZATION_PROGRAMS: readonly string[] = [
  `const count = (n) => { let total = 0; for (let i = 0; i < n; i++) total += i % 7; return total; };
for (let i = 0; i < 10; i++) count(2_000);
console.log(count(10))`,
  `const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));
class Point {
  constructor(x, y) { this.x = x; this.y = y; }
  plus(other) { return new Point(this.x + other.x, this.y + other.y); }
}
let p = new Point(0, 0);
for (let i = 0; i < 2_000; i++) p = p.plus(new Point(i, 1));
[fib(13), p.x]`,
  `const counts = new Map();
const byName = {};
for (let i = 0; i < 1_000; i++) {
  const key = i % 100;
  counts.set(key, (counts.get(key) ?? 0) + 1);
  byName['n' + key] = [key, i / 3];
}
const squares = Array.from({ length: 600 }, (_, n) => n * n).filter((n) => n % 3);
squares.sort((a, b) => b - a);
[counts.size, squares.reduce((sum, n) => sum + n, 0)]`,
  `const words = 'the quick brown fox jumps over the lazy dog '.repeat(50).split(' ');
const text = words.map((word) => \`\${word.toUpperCase()}=\${word.length}; \`).join('');
[...text.matchAll(/(\\w+)=(\\d+)/g)].length + text.replaceAll('DOG', 'CAT').indexOf('CAT');
const data = Array.from({ length: 150 }, (_, i) => ({ id: i, name: 'user ' + i, tags: ['a', 'b'], score: i / 3 }));
JSON.parse(JSON.stringify(data)).length`,
  `function* walk(n) { for (let i = 0; i < n; i++) yield i; }
let caught = 0;
for (const i of walk(1_500)) {
  try { if (i % 2) throw new Error('odd'); } catch { caught++; }
}
const later = async (n) => { for (let i = 0; i < n; i++) await i; return n; };
await later(250)`,
  'caught += 1',
  'caught += 1',
  'caught += 1',
];
