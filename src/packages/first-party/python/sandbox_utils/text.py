"""Searches, cuts, counts and compares text files. Bytes that are not valid UTF-8 become replacement characters."""

import os

from ._errors import operation, read_text


def _lines(name, path):
    with operation(name, path), open(path, encoding='utf-8', errors='replace') as file:
        yield from file


def grep(pattern, files, regex=True):
    """Returns the lines that match a pattern as tuples (file, line number, line). `files` is a path or a list of paths."""
    import re

    if isinstance(files, (str, os.PathLike)):
        files = [files]
    try:
        search = re.compile(pattern if regex else re.escape(pattern)).search
    except re.error as error:
        raise ValueError(f'grep: {pattern!r} is not a valid regular expression: {error}') from None
    found = []
    for path in files:
        for number, line in enumerate(_lines('grep', path), 1):
            line = line.rstrip('\n')
            if search(line):
                found.append((os.fspath(path), number, line))
    return found


def sed(pattern, replacement, text):
    r"""Replaces all matches of a regular expression. \1 in the replacement is the first group."""
    import re

    try:
        return re.sub(pattern, replacement, text)
    except re.error as error:
        raise ValueError(f'sed: {pattern!r} with {replacement!r}: {error}') from None


def head(file, lines=10):
    """Returns the first lines of a file as a string."""
    from itertools import islice

    return ''.join(islice(_lines('head', file), max(0, lines)))


def tail(file, lines=10):
    """Returns the last lines of a file as a string."""
    from collections import deque

    return ''.join(deque(_lines('tail', file), max(0, lines)))


def wc(file):
    """Counts lines, words and characters of a file. A last line without a newline counts as a line."""
    text = read_text('wc', file)
    return {'lines': len(text.splitlines()), 'words': len(text.split()), 'chars': len(text)}


def diff(file1, file2):
    """Returns the unified diff of two files, or an empty string if they are equal."""
    from difflib import unified_diff

    old = read_text('diff', file1).splitlines(keepends=True)
    new = read_text('diff', file2).splitlines(keepends=True)
    lines = unified_diff(old, new, os.fspath(file1), os.fspath(file2))
    return ''.join(line if line.endswith('\n') else f'{line}\n\\ No newline at end of file\n' for line in lines)
