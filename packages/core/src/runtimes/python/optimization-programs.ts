/** Programs that use what most Python programs use (see worker/thread/idle-optimization.ts). Each runs for some milliseconds. */
export const OPTIMIZATION_PROGRAMS: readonly string[] = [
  `def count(n):
    total = 0
    for i in range(n):
        total += i & 7
    return total
for _ in range(10):
    count(2_000)
print(count(10))`,
  `def depth(tree):
    return 0 if tree is None else 1 + max(depth(tree[0]), depth(tree[1]))
def grow(levels):
    return None if levels == 0 else (grow(levels - 1), grow(levels - 1))
class Account:
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
    def deposit(self, amount):
        return Account(self.owner, self.balance + amount)
account = Account('a')
for amount in range(2_000):
    account = account.deposit(amount)
depth(grow(8)), account.balance`,
  `counts = {}
for i in range(2_000):
    name = i % 500
    counts[name] = counts.get(name, 0) + 1
    counts[str(name)] = [name, i / 3]
cubes = [n ** 3 for n in range(1_500) if n & 5]
sorted(cubes, key=lambda n: n % 101), len({n % 13 for n in cubes}), {n: n % 89 for n in cubes}
len(counts)`,
  `import json, re
words = ('a sandbox runs programs that no person has read before ' * 25).split()
text = ' '.join(f'{word.upper()[::-1]}={len(word):>4}; ' for word in words for _ in range(3))
len(re.findall(r'(\\w+)=\\s*(\\d+)', text)), text.replace('SNUR', 'STOPS').count('STOPS')
rows = [{'key': f'row {i}', 'cells': [i, i / 7, None], 'even': i % 2 == 0} for i in range(80)]
print(len(json.loads(json.dumps(rows, indent=1))))`,
  `def pairs(items):
    previous = None
    for item in items:
        yield previous, item
        previous = item
caught = 0
for before, after in pairs(range(1_500)):
    try:
        {0: 'even'}[after % 2]
    except KeyError:
        caught += 1
sum(after - before for before, after in pairs(range(5_000)) if before)`,
  `import math, random
source = random.Random(7)
points = [(source.uniform(-1, 1), source.uniform(-1, 1)) for _ in range(1_000)]
inside = sum(math.hypot(x, y) < 1 for x, y in points)
area = 0.0
for step in range(3_000):
    area += math.exp(-step / 1_000) * 0.001
print(inside / 250, area, min(points))`,
  'caught += 1',
  'caught += 1',
  'caught += 1',
];
