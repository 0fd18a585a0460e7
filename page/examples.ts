/** The example programs that the page offers. */

export interface Example {
  readonly title: string;
  readonly language: string;
  readonly code: string;
}

const REVENUE_CHART = `orders = [
    {"month": "Jan", "revenue": 42}, {"month": "Feb", "revenue": 55},
    {"month": "Mar", "revenue": 49}, {"month": "Apr", "revenue": 73},
    {"month": "May", "revenue": 91}, {"month": "Jun", "revenue": 84},
]

display(chart.bar(orders, x="month", y="revenue", title="Revenue per month"))
print("Total:", sum(row["revenue"] for row in orders))`;

export const EXAMPLES: readonly Example[] = [
  {
    title: 'First steps',
    language: 'python',
    code: `# Press Ctrl+Enter (Cmd+Enter on a Mac) to run this.
# Variables and files stay in the session for the next call.
import statistics

samples = [3.1, 4.1, 5.9, 2.6, 5.3, 5.8]
print("Mean:", statistics.mean(samples))

[{"n": n, "square": n**2, "cube": n**3} for n in range(1, 6)]`,
  },
  {
    title: 'A table from CSV data',
    language: 'python',
    code: `import csv, io

text = """city,country,population
Tokyo,Japan,37115000
Delhi,India,33807000
Shanghai,China,29868000
São Paulo,Brazil,22807000
Mexico City,Mexico,22506000
"""

cities = list(csv.DictReader(io.StringIO(text)))
with open("cities.csv", "w") as file:
    file.write(text)

sorted(cities, key=lambda city: -int(city["population"]))`,
  },
  { title: 'A chart', language: 'python', code: REVENUE_CHART },
  {
    title: 'A mistake with a suggested fix',
    language: 'python',
    code: `import math

radius = 4
area = math.pi * radius**2
pritn("Area:", round(area, 2))`,
  },
  {
    title: 'Where the fuel goes',
    language: 'python',
    code: `def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

longest = max(range(1, 20000), key=collatz)
print(longest, collatz(longest))

squares = sum(i * i for i in range(50000))
print(squares)`,
  },
  {
    title: 'Stopping an endless loop',
    language: 'python',
    code: `import time

count = 0
while True:
    count += 1
    print("tick", count)
    time.sleep(0.5)`,
  },
  {
    title: 'Async JavaScript',
    language: 'javascript',
    code: `const wait = (ms) => new Promise((done) => setTimeout(done, ms));

for (const word of ['streams', 'as', 'it', 'runs']) {
  console.log(word);
  await wait(150);
}

[{ engine: 'QuickJS', language: 'JavaScript' }, { engine: 'CPython', language: 'Python' }]`,
  },
  {
    title: 'Types',
    language: 'typescript',
    code: `interface Item {
  name: string;
  price: number;
  amount: number;
}

const cart: Item[] = [
  { name: 'Notebook', price: 3.5, amount: 4 },
  { name: 'Pen', price: 1.2, amount: 10 },
];

const total = cart.reduce((sum: number, { price, amount }: Item) => sum + price * amount, 0);
console.log(\`Total: \${total.toFixed(2)}\`);
cart`,
  },
];

/** The program that a new session of a language shows. */
export const firstProgram = (language: string) =>
  (EXAMPLES.find((example) => example.language === language) ?? EXAMPLES[0]!).code;
