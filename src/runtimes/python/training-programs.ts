/** Programs that use what most Python programs use (see worker/idle-training.ts). Each runs for some milliseconds. */
export const TRAINING_PROGRAMS: readonly string[] = [
  `def count(n):
    total = 0
    for i in range(n):
        total += i & 7
    return total
for _ in range(10):
    count(2_000)
print(count(10))`,
  `def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def plus(self, other):
        return Point(self.x + other.x, self.y + other.y)
p = Point(0, 0)
for i in range(2_000):
    p = p.plus(Point(i, 1))
fib(13), p.x`,
  `counts = {}
for i in range(2_000):
    key = i % 500
    counts[key] = counts.get(key, 0) + 1
    counts[str(key)] = [key, i / 3]
squares = [n * n for n in range(1_500) if n % 3]
sorted(squares, key=lambda n: -n), sum(set(squares)), {n % 97: n for n in squares}
len(counts)`,
  `import json, re
words = ('the quick brown fox jumps over the lazy dog ' * 25).split()
text = ' '.join(f'{word.upper()[::-1]}={len(word):>4}; ' for word in words for _ in range(3))
len(re.findall(r'(\\w+)=\\s*(\\d+)', text)), text.replace('GOD', 'CAT').count('CAT')
data = [{'id': i, 'name': f'user {i}', 'tags': ['a', 'b'], 'score': i / 3} for i in range(80)]
print(json.loads(json.dumps(data)) == data)`,
  `def walk(n):
    for i in range(n):
        yield i
caught = 0
for i in walk(1_500):
    try:
        if i % 2:
            raise ValueError(i)
    except ValueError:
        caught += 1
sum(a * b for a, b in zip(walk(3_000), walk(3_000)))`,
  `import math, random
rng = random.Random(1)
values = [rng.random() for _ in range(1_000)]
total = 0.0
for i in range(1, 4_000):
    total += math.sqrt(i) / (i + 0.5)
print(sorted(values)[0] < total)`,
  'caught += 1',
  'caught += 1',
  'caught += 1',
];
