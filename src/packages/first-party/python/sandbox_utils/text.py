"""Text in files: searching, cutting, counting, comparing. Bytes that are no UTF-8 show as replacement characters."""

import os

from ._failure import operation, read_text


def _lines(name, path):
    with operation(name, path), open(path, encoding='utf-8', errors='replace') as file:
        yield from file


def grep(pattern, files, regex=True):
    """Lines that contain a pattern, as (file, line number, line). `files` is a path or a list of them."""
    import re

    if isinstance(files, (str, os.PathLike)):
        files = [files]
    try:
        search = re.compile(pattern if regex else re.escape(pattern)).search
    except re.error as error:
        raise ValueError(f'grep: {pattern!r} is no regular expression: {error}') from None
    found = []
    for path in files:
        for number, line in enumerate(_lines('grep', path), 1):
            line = line.rstrip('\n')
            if search(line):
                found.append((os.fspath(path), number, line))
    return found


def sed(pattern, replacement, text):
    r"""The text with every match of a regular expression replaced; \1 in the replacement is the first group."""
    import re

    try:
        return re.sub(pattern, replacement, text)
    except re.error as error:
        raise ValueError(f'sed: {pattern!r} with {replacement!r}: {error}') from None


def head(file, lines=10):
    """The first lines of a file, as one text."""
    from itertools import islice

    return ''.join(islice(_lines('head', file), max(0, lines)))


def tail(file, lines=10):
    """The last lines of a file, as one text."""
    from collections import deque

    return ''.join(deque(_lines('tail', file), max(0, lines)))


def wc(file):
    """A dict of how many lines, words and characters a file has; a last line without newline counts."""
    text = read_text('wc', file)
    return {'lines': len(text.splitlines()), 'words': len(text.split()), 'chars': len(text)}


def diff(file1, file2):
    """The unified diff from one file to another; an empty text when they are equal."""
    from difflib import unified_diff

    old = read_text('diff', file1).splitlines(keepends=True)
    new = read_text('diff', file2).splitlines(keepends=True)
    lines = unified_diff(old, new, os.fspath(file1), os.fspath(file2))
    return ''.join(line if line.endswith('\n') else f'{line}\n\\ No newline at end of file\n' for line in lines)
