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
