"""The part of cachebox that deepdiff uses, in Python: a guest cannot load the compiled code of cachebox."""

from collections import OrderedDict
from collections.abc import MutableMapping

__all__ = ['LRUCache']


class LRUCache(MutableMapping):
    """A mapping that drops the least recently used entry when it is full. A `maxsize` of 0 means no limit."""

    __slots__ = ('_entries', '_maxsize')

    def __init__(self, maxsize, iterable=(), *, capacity=0):
        self._maxsize = maxsize
        self._entries = OrderedDict()
        self.update(iterable)

    @property
    def maxsize(self):
        return self._maxsize

    def __getitem__(self, key):
        self._entries.move_to_end(key)
        return self._entries[key]

    def __setitem__(self, key, value):
        self.insert(key, value)

    def __delitem__(self, key):
        del self._entries[key]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)

    def __contains__(self, key):
        return key in self._entries

    def insert(self, key, value):
        """Stores a value and returns the one that it replaces, or None."""
        previous = self._entries.pop(key, None)
        self._entries[key] = value
        if 0 < self._maxsize < len(self._entries):
            self._entries.popitem(last=False)
        return previous
