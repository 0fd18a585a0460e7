"""The part of rpds-py that jsonschema and referencing use, in Python: a guest cannot load the compiled code of rpds-py.

Every operation returns a new collection and leaves the old one unchanged. A changed copy of a map or set copies the table,
so that building one of n elements by single insertions takes O(n²) steps; `update` copies once.
"""

from collections.abc import Mapping

__all__ = ['HashTrieMap', 'HashTrieSet', 'List']


class HashTrieMap(Mapping):
    """A persistent dict."""

    __slots__ = ('_items', '_hash')

    def __init__(self, value=(), /, **kwds):
        self._items = dict(value, **kwds)
        self._hash = None

    @classmethod
    def convert(cls, value, /):
        return value if isinstance(value, cls) else cls(value)

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __contains__(self, key):
        return key in self._items

    def __eq__(self, other):
        return self._items == other._items if isinstance(other, HashTrieMap) else NotImplemented

    def __hash__(self):
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self):
        return f'HashTrieMap({self._items!r})'

    def insert(self, key, val):
        return HashTrieMap({**self._items, key: val})

    def remove(self, key):
        items = self._items.copy()
        del items[key]
        return HashTrieMap(items)

    def discard(self, key):
        return self.remove(key) if key in self._items else self

    def update(self, *maps, **kwds):
        items = self._items.copy()
        for one in maps:
            items.update(one)
        items.update(kwds)
        return HashTrieMap(items)


class HashTrieSet(frozenset):
    """A persistent set."""

    __slots__ = ()

    def insert(self, value):
        return HashTrieSet(self | {value})

    def discard(self, value):
        return HashTrieSet(self - {value})

    def remove(self, value):
        if value not in self:
            raise KeyError(value)
        return self.discard(value)

    def update(self, *iterables):
        return HashTrieSet(self.union(*iterables))


class List:
    """A persistent singly linked list. A cell is a pair of the first element and the cell of the rest."""

    __slots__ = ('_cell', '_length')

    def __init__(self, *elements):
        if len(elements) == 1 and not isinstance(elements[0], (str, bytes)) and hasattr(elements[0], '__iter__'):
            elements = list(elements[0])
        self._cell = None
        self._length = len(elements)
        for element in reversed(elements):
            self._cell = (element, self._cell)

    @classmethod
    def _of(cls, cell, length):
        new = cls()
        new._cell, new._length = cell, length
        return new

    def __iter__(self):
        cell = self._cell
        while cell is not None:
            element, cell = cell
            yield element

    def __len__(self):
        return self._length

    def __eq__(self, other):
        return list(self) == list(other) if isinstance(other, List) else NotImplemented

    def __hash__(self):
        return hash(tuple(self))

    def __repr__(self):
        return f'List([{", ".join(map(repr, self))}])'

    @property
    def first(self):
        if self._cell is None:
            raise IndexError('empty list has no first element')
        return self._cell[0]

    @property
    def rest(self):
        return self.drop_first()

    def push_front(self, other):
        return self._of((other, self._cell), self._length + 1)

    def drop_first(self):
        self.first
        return self._of(self._cell[1], self._length - 1)
