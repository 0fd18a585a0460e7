"""Groups, filters and sorts items. All functions but `chunk` return new lists or dicts."""


def group_by(items, key_func):
    """Groups items into a dict of lists by key, in order of first appearance."""
    groups = {}
    for item in items:
        groups.setdefault(key_func(item), []).append(item)
    return groups


def filter_by(items, predicate):
    """Returns the items for which `predicate` returns true."""
    return [item for item in items if predicate(item)]


def map_items(items, transform):
    """Returns the result of `transform` for each item."""
    return [transform(item) for item in items]


def sort_by(items, key_func, reverse=False):
    """Sorts items by a key. Items with equal keys keep their order."""
    return sorted(items, key=key_func, reverse=reverse)


def unique(items, key=None):
    """Removes items that equal an earlier one, or whose key does. Items need not be hashable."""
    seen = set()
    unhashable = []
    result = []
    for item in items:
        mark = item if key is None else key(item)
        try:
            if mark in seen:
                continue
            seen.add(mark)
        except TypeError:
            if mark in unhashable:
                continue
            unhashable.append(mark)
        result.append(item)
    return result


def chunk(items, size):
    """Iterates over lists of `size` items. The last list may be shorter."""
    if size < 1:
        raise ValueError(f'chunk: size must be at least 1, not {size}')
    return _chunks(iter(items), size)


def _chunks(items, size):
    part = []
    for item in items:
        part.append(item)
        if len(part) == size:
            yield part
            part = []
    if part:
        yield part
