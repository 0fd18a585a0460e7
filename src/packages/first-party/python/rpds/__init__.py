"""Persistent collections with the interface of rpds-py, whose compiled code a guest cannot load.

Every operation returns a new collection and leaves the old one unchanged. A changed copy of a map or set copies the table,
so that building one of n elements by single insertions takes O(n²) steps; `update` copies once.
"""

from collections.abc import Hashable, Mapping, Set

__all__ = ['HashTrieMap', 'HashTrieSet', 'List', 'Queue', 'Stack']


def _same(first, second):
    return first is second or first == second


class HashTrieMap(Mapping):
    """A persistent dict."""

    __slots__ = ('_items', '_hash')

    def __init__(self, value=(), /, **kwds):
        self._items = dict(value, **kwds)
        self._hash = None

    @classmethod
    def _of(cls, items):
        new = cls.__new__(cls)
        new._items = items
        new._hash = None
        return new

    @classmethod
    def convert(cls, value, /):
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def fromkeys(cls, keys, val=None, /):
        return cls._of(dict.fromkeys(keys, val))

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __contains__(self, key):
        return key in self._items

    def get(self, key, default=None):
        return self._items.get(key, default)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def __eq__(self, other):
        if isinstance(other, HashTrieMap):
            return self._items == other._items
        return NotImplemented

    def __hash__(self):
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self):
        return f'HashTrieMap({self._items!r})'

    def __reduce__(self):
        return HashTrieMap, (dict(self._items),)

    def insert(self, key, val):
        return HashTrieMap._of({**self._items, key: val})

    def remove(self, key):
        if key not in self._items:
            raise KeyError(key)
        return self.discard(key)

    def discard(self, key):
        items = self._items.copy()
        items.pop(key, None)
        return HashTrieMap._of(items)

    def update(self, *maps, **kwds):
        items = self._items.copy()
        for one in maps:
            items.update(one)
        items.update(kwds)
        return HashTrieMap._of(items)


class HashTrieSet(Set, Hashable):
    """A persistent set."""

    __slots__ = ('_elements',)

    def __init__(self, value=(), /):
        self._elements = frozenset(value)

    @classmethod
    def _from_iterable(cls, iterable):
        return cls(iterable)

    def __contains__(self, element):
        return element in self._elements

    def __iter__(self):
        return iter(self._elements)

    def __len__(self):
        return len(self._elements)

    def __hash__(self):
        return hash(self._elements)

    def __repr__(self):
        return f'HashTrieSet({{{", ".join(map(repr, self._elements))}}})'

    def __reduce__(self):
        return HashTrieSet, (list(self._elements),)

    def insert(self, value):
        return HashTrieSet(self._elements | {value})

    def discard(self, value):
        return HashTrieSet(self._elements - {value})

    def remove(self, value):
        if value not in self._elements:
            raise KeyError(value)
        return self.discard(value)

    def update(self, *iterables):
        return HashTrieSet(self._elements.union(*iterables))

    def union(self, other):
        return HashTrieSet(self._elements.union(other))

    def intersection(self, other):
        return HashTrieSet(self._elements.intersection(other))

    def difference(self, other):
        return HashTrieSet(self._elements.difference(other))

    def symmetric_difference(self, other):
        return HashTrieSet(self._elements.symmetric_difference(other))


def _elements_of(elements):
    """Elements are given as arguments, or as one iterable."""
    if len(elements) == 1 and not isinstance(elements[0], (str, bytes)):
        try:
            return list(elements[0])
        except TypeError:
            pass
    return list(elements)


class List:
    """A persistent singly linked list. A cell is a pair of the first element and the cell of the rest."""

    __slots__ = ('_cell', '_length')

    def __init__(self, *elements):
        values = _elements_of(elements)
        self._cell = None
        for element in reversed(values):
            self._cell = (element, self._cell)
        self._length = len(values)

    @classmethod
    def _of(cls, cell, length):
        new = cls.__new__(cls)
        new._cell = cell
        new._length = length
        return new

    def __iter__(self):
        cell = self._cell
        while cell is not None:
            element, cell = cell
            yield element

    def __reversed__(self):
        return reversed(list(self))

    def __len__(self):
        return self._length

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._length == other._length and all(map(_same, self, other))

    def __hash__(self):
        return hash(tuple(self))

    def __repr__(self):
        return f'{type(self).__name__}([{", ".join(map(repr, self))}])'

    def __reduce__(self):
        return type(self), (list(self),)

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
        if self._cell is None:
            raise IndexError('empty list has no first element')
        return self._of(self._cell[1], self._length - 1)


class Stack(List):
    """A persistent stack."""

    __slots__ = ()

    def push(self, element):
        return self.push_front(element)

    def pop(self):
        return self.drop_first()

    def peek(self):
        return self.first


class Queue:
    """A persistent queue: elements leave at the front and enter at the back, which is stored in reverse order."""

    __slots__ = ('_front', '_back')

    def __init__(self, *elements):
        self._front = List(_elements_of(elements))
        self._back = List()

    @classmethod
    def _of(cls, front, back):
        new = cls.__new__(cls)
        new._front, new._back = (front, back) if len(front) > 0 else (List(reversed(back)), List())
        return new

    def __iter__(self):
        yield from self._front
        yield from reversed(self._back)

    def __len__(self):
        return len(self._front) + len(self._back)

    def __eq__(self, other):
        if not isinstance(other, Queue):
            return NotImplemented
        return len(self) == len(other) and all(map(_same, self, other))

    def __hash__(self):
        return hash(tuple(self))

    def __repr__(self):
        return f'Queue([{", ".join(map(repr, self))}])'

    def __reduce__(self):
        return Queue, (list(self),)

    @property
    def is_empty(self):
        return len(self) == 0

    @property
    def peek(self):
        if self.is_empty:
            raise IndexError('peeked an empty queue')
        return self._front.first

    def enqueue(self, value):
        return self._of(self._front, self._back.push_front(value))

    def dequeue(self):
        if self.is_empty:
            raise IndexError('dequeued an empty queue')
        return self._of(self._front.rest, self._back)
