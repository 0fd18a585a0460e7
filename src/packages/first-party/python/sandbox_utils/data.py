"""Lists of things: grouping, filtering, sorting. All but `chunk` return new lists or dicts."""


def group_by(items, key_func):
    """A dict from each key to the list of items that have it, keys in order of appearance."""
    groups = {}
    for item in items:
        groups.setdefault(key_func(item), []).append(item)
    return groups


def filter_by(items, predicate):
    """The items for which `predicate` is true."""
    return [item for item in items if predicate(item)]


def map_items(items, transform):
    """What `transform` makes of each item."""
    return [transform(item) for item in items]


def sort_by(items, key_func, reverse=False):
    """The items ordered by a key; equal ones keep their order."""
    return sorted(items, key=key_func, reverse=reverse)


def unique(items, key=None):
    """The first of all items that are equal, or whose keys are. Unhashable ones are compared one by one."""
    seen = set()
    odd = []
    kept = []
    for item in items:
        mark = item if key is None else key(item)
        try:
            if mark in seen:
                continue
            seen.add(mark)
        except TypeError:
            if mark in odd:
                continue
            odd.append(mark)
        kept.append(item)
    return kept


def chunk(items, size):
    """An iterator over lists of `size` items each; the last may be shorter."""
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
