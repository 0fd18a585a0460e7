/** Values of both languages that must survive between two calls of a session. */

export interface PersistentValue {
  readonly name: string;
  /** Creates the value and changes it once. */
  readonly make: string;
  /** An expression that shows the value and uses it once more. */
  readonly show: string;
  readonly expected: string;
}

export const PERSISTENT_VALUES: Record<'python' | 'javascript', readonly PersistentValue[]> = {
  python: [
    {
      name: 'a generator half consumed',
      make: 'g = (n * n for n in range(9)); next(g); next(g)',
      show: 'next(g)',
      expected: '4',
    },
    {
      name: 'a lambda over a changed cell',
      make: 'def cells():\n    n = 1\n    look = lambda: n\n    n = 5\n    return look\nlook = cells()',
      show: 'look()',
      expected: '5',
    },
    {
      name: 'a closure that goes on counting',
      make: 'def counter():\n    n = 0\n    def step():\n        nonlocal n\n        n += 1\n        return n\n    return step\nstep = counter(); step()',
      show: 'step()',
      expected: '2',
    },
    {
      name: 'an instance with its own equality',
      make: 'class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\np = P(3)',
      show: '[p == P(3), p == P(4), type(p).__name__]',
      expected: "[True, False, 'P']",
    },
    {
      name: 'a thread that holds a lock and waits for an event',
      make: 'import threading, queue\nheld, go = threading.Lock(), threading.Event()\ndef hold():\n    with held: go.wait()\nholder = threading.Thread(target=hold); holder.start()',
      show: '[held.locked(), go.set(), holder.join(), held.locked()]',
      expected: '[True, None, None, False]',
    },
    {
      name: 'a thread that waits for items of a queue, and a daemon',
      make: 'inbox, outbox = queue.Queue(), queue.Queue()\ndef double():\n    while True: outbox.put(inbox.get() * 2)\nfor is_daemon in (False, True): threading.Thread(target=double, daemon=is_daemon).start()\ninbox.put(1); outbox.get()',
      show: '[inbox.put(n) or outbox.get() for n in (4, 5)]',
      expected: '[8, 10]',
    },
    {
      name: 'a timer',
      make: 'timer = threading.Timer(1e6, print); timer.daemon = True; timer.start()',
      show: '[timer.is_alive(), timer.cancel(), timer.join(), timer.is_alive()]',
      expected: '[True, None, None, False]',
    },
    {
      name: 'the state of a random generator',
      make: 'import random\nr = random.Random(7); r.random(); twin = random.Random(7); [twin.random() for _ in range(2)]; after = twin.random()\nr.random()',
      show: 'r.random() == after',
      expected: 'True',
    },
    { name: 'a set', make: 's = {1, 2, 3}; s.discard(2)', show: 'sorted(s)', expected: '[1, 3]' },
    { name: 'a tuple', make: 't = (1, (2, 3))', show: 't', expected: '(1, (2, 3))' },
    { name: 'bytes', make: "b = b'\\x00\\xff'", show: 'b', expected: "b'\\x00\\xff'" },
    {
      name: 'a datetime',
      make: 'import datetime\nd = datetime.datetime(2026, 7, 1)',
      show: 'd.isoformat()',
      expected: '2026-07-01T00:00:00',
    },
    {
      name: 'a Decimal',
      make: 'from decimal import Decimal\nm = Decimal("1.10")',
      show: 'str(m * 3)',
      expected: '3.30',
    },
    {
      name: 'a compiled regex',
      make: 'import re\nx = re.compile(r"(\\d+)-(\\d+)")',
      show: 'x.match("12-34").groups()',
      expected: "('12', '34')",
    },
    {
      name: 'the offset of an open file',
      make: "f = open('open.txt', 'w+'); f.write('hello world'); f.flush(); f.seek(6)",
      show: 'f.read()',
      expected: 'world',
    },
    {
      name: 'a file that was deleted while open',
      make: "import os\nh = open('gone.txt', 'w+'); h.write('still here'); h.flush(); os.remove('gone.txt'); h.seek(6)",
      show: 'h.read()',
      expected: 'here',
    },
    {
      name: 'the modes of the workspace and of /tmp',
      make: "os.chmod('/app', 0o711); os.chmod('/tmp', 0o700)",
      show: "[oct(os.stat(path).st_mode & 0o7777) for path in ('/app', '/tmp')]",
      expected: "['0o711', '0o700']",
    },
    {
      name: 'a descriptor of a folder that was deleted and created again',
      make: "def has_f(fd):\n    try: return bool(os.stat('f', dir_fd=fd))\n    except OSError: return False\nos.mkdir('old'); old = os.open('old', 0); os.rmdir('old'); os.mkdir('old'); open('old/f', 'w').close()",
      show: '(os.listdir(old), has_f(old))',
      expected: '([], False)',
    },
    {
      name: 'a descriptor of a folder that was renamed',
      make: "os.mkdir('from'); open('from/f', 'w').close(); moved = os.open('from', 0); os.rename('from', 'to')",
      show: '(os.listdir(moved), has_f(moved))',
      expected: "(['f'], True)",
    },
    {
      name: 'a folder that was read in part',
      make: "os.mkdir('many'); [open(f'many/{i:03}', 'w').close() for i in range(300)]; scan = os.scandir('many'); next(scan)\nos.remove('many/200'); open('many/999', 'w').close()",
      show: 'sum(1 for _ in scan)',
      expected: '298',
    },
    {
      name: 'an imported module that was changed',
      make: 'import json\njson.mark = 5',
      show: 'json.mark',
      expected: '5',
    },
    {
      name: 'a temporary file',
      make: "open('/tmp/t', 'w').write('tmp')",
      show: "open('/tmp/t').read()",
      expected: 'tmp',
    },
    {
      name: 'the working directory',
      make: "os.makedirs('deep'); os.chdir('deep')",
      show: 'os.getcwd()',
      expected: '/app/deep',
    },
  ],
  javascript: [
    {
      name: 'a generator half consumed',
      make: 'function* squares() { for (let n = 0; ; n++) yield n * n; }\nconst g = squares(); g.next(); g.next();',
      show: 'g.next().value',
      expected: '4',
    },
    {
      name: 'a closure over a changed variable',
      make: 'const step = (() => { let n = 0; return () => ++n; })(); step();',
      show: 'step()',
      expected: '2',
    },
    {
      name: 'an instance with a private field',
      make: 'class P { #x; constructor(x) { this.#x = x; } same(other) { return this.#x === other.#x; } }\nlet p = new P(3);',
      show: '[p.same(new P(3)), p.same(new P(4)), p.constructor.name].join()',
      expected: 'true,false,P',
    },
    {
      name: 'a global',
      make: 'globalThis.shared = [1, 2]; shared.push(3);',
      show: 'shared.join()',
      expected: '1,2,3',
    },
    {
      name: 'the object for state',
      make: '_state.list = [1]; _state.list.push(2); _state.itself = _state;',
      show: '_state.itself.list.join()',
      expected: '1,2',
    },
    {
      name: 'a let and a const',
      make: 'let changed = 1; const fixed = 2; changed += 5;',
      show: 'changed * fixed',
      expected: '12',
    },
    {
      name: 'a set and a map',
      make: 'const both = [new Set([1, 2]), new Map([["a", 1n]])]; both[0].delete(1);',
      show: '[...both[0], both[1].get("a")].join(" ")',
      expected: '2 1',
    },
    {
      name: 'a frozen array',
      make: 'const frozen = Object.freeze([1, Object.freeze([2, 3])]);',
      show: '[Object.isFrozen(frozen), frozen].join()',
      expected: 'true,1,2,3',
    },
    {
      name: 'a large integer',
      make: 'const large = 2n ** 70n; let twice = large * 2n;',
      show: 'String(twice)',
      expected: '2361183241434822606848',
    },
    {
      name: 'typed arrays',
      make: 'const bytes = new Uint8Array([0, 255]);',
      show: 'bytes.join()',
      expected: '0,255',
    },
    {
      name: 'a date',
      make: 'const when = new Date(Date.UTC(2026, 6, 1));',
      show: 'when.toISOString()',
      expected: '2026-07-01T00:00:00.000Z',
    },
    {
      name: 'a regular expression with its position',
      make: 'const re = /\\d/g; re.exec("1a2");',
      show: 're.exec("1a2")[0]',
      expected: '2',
    },
    {
      name: 'the offset of an open file',
      make: 'const f = std.open("open.txt", "w+"); f.puts("hello world"); f.flush(); f.seek(6, std.SEEK_SET);',
      show: 'f.readAsString()',
      expected: 'world',
    },
    {
      name: 'a promise that is settled',
      make: 'const later = Promise.resolve(7);',
      show: 'await later',
      expected: '7',
    },
  ],
};
