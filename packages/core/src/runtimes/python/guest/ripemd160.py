"""`hashlib.new('ripemd160')` in Python (Dobbertin, Bosselaers and Preneel 1996). CPython takes it from OpenSSL, which the sandbox does not have."""

_MASK = 0xFFFFFFFF
_START = 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0
_CONSTANTS = (0, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E), (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0)
_RHO = 7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8
_SHIFTS = (
    (11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8),
    (12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7),
    (13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9),
    (14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6),
    (15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5),
)
_FUNCTIONS = (
    lambda x, y, z: x ^ y ^ z,
    lambda x, y, z: x & y | ~x & z,
    lambda x, y, z: (x | ~y) ^ z,
    lambda x, y, z: x & z | y & ~z,
    lambda x, y, z: x ^ (y | ~z),
)


def _line(orders, constants, functions):
    """The steps of one line: function, word, constant and shift."""
    return [
        (function, word, constant, shifts[word])
        for order, function, constant, shifts in zip(orders, functions, constants, _SHIFTS, strict=True)
        for word in order
    ]


def _orders(order):
    """The order of the words in each round."""
    found = [order]
    while len(found) < 5:
        found.append([_RHO[word] for word in found[-1]])
    return found


_LEFT = _line(_orders(list(range(16))), _CONSTANTS[0], _FUNCTIONS)
_RIGHT = _line(_orders([(9 * i + 5) % 16 for i in range(16)]), _CONSTANTS[1], _FUNCTIONS[::-1])


def _run(steps, state, words):
    a, b, c, d, e = state
    for function, word, constant, shift in steps:
        total = (a + function(b, c, d) + words[word] + constant) & _MASK
        turned = ((total << shift | total >> (32 - shift)) + e) & _MASK
        a, e, d, c, b = e, d, (c << 10 | c >> 22) & _MASK, b, turned
    return a, b, c, d, e


def _compress(state, block):
    words = [int.from_bytes(block[i : i + 4], 'little') for i in range(0, 64, 4)]
    left, right = _run(_LEFT, state, words), _run(_RIGHT, state, words)
    return tuple((state[(i + 1) % 5] + left[(i + 2) % 5] + right[(i + 3) % 5]) & _MASK for i in range(5))


class ripemd160:
    name = 'ripemd160'
    digest_size = 20
    block_size = 64

    def __init__(self, data=b'', *, usedforsecurity=True, string=None):
        self._state, self._rest, self._size = _START, b'', 0
        self.update(data if string is None else string)

    def update(self, data):
        if isinstance(data, str):
            raise TypeError('Strings must be encoded before hashing')
        data = bytes(memoryview(data))
        self._size += len(data)
        data = self._rest + data
        end = len(data) // 64 * 64
        for i in range(0, end, 64):
            self._state = _compress(self._state, data[i : i + 64])
        self._rest = data[end:]

    def copy(self):
        other = ripemd160()
        other._state, other._rest, other._size = self._state, self._rest, self._size
        return other

    def digest(self):
        last = self.copy()
        last.update(b'\x80' + bytes((55 - self._size) % 64) + (self._size * 8 % 2**64).to_bytes(8, 'little'))
        return b''.join(word.to_bytes(4, 'little') for word in last._state)

    def hexdigest(self):
        return self.digest().hex()
