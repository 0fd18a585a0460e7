"""The module `dbm`, which the distribution of Python lacks. Its only format is that of `dbm.sqlite3`."""

import os

__all__ = ['open', 'whichdb', 'error']


class error(Exception):
    pass


HEADER = b'SQLite format 3\0'
error = (error, OSError)


def whichdb(filename):
    """Guess which format a database file has: 'dbm.sqlite3', '' if unknown, None if the file is missing."""
    try:
        with io_open(filename) as file:
            return 'dbm.sqlite3' if file.read(len(HEADER)) in (HEADER, b'') else ''
    except OSError:
        return None


def io_open(filename):
    import io

    return io.open(os.fspath(filename), 'rb')


def open(file, flag='r', mode=0o666):
    """Open or create the database at the path `file`. Flags: 'r' read, 'w' write, 'c' create if missing, 'n' new."""
    from . import sqlite3

    if flag[:1] != 'n':
        format = whichdb(file)
        if format is None and flag[:1] != 'c':
            raise error[0](f"db file doesn't exist; use 'c' or 'n' flag to create a new db: {os.fspath(file)!r}")
        if format == '':
            raise error[0](f'db type could not be determined: the sandbox reads only files of dbm.sqlite3: {os.fspath(file)!r}')
    return sqlite3.open(file, flag, mode)
