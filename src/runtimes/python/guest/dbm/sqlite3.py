"""The module `dbm.sqlite3`: a mapping of bytes to bytes in a database of SQLite, in the format of the module of CPython."""

import os
import sqlite3
from collections.abc import MutableMapping

from . import error as errors

error = errors[0]


class _Database(MutableMapping):
    def __init__(self, path, *, flag, mode):
        if flag not in ('r', 'w', 'c', 'n'):
            raise ValueError(f"Flag must be one of 'r', 'w', 'c', or 'n', not {flag!r}")
        self._connection = None
        path = os.fsdecode(path)
        if flag == 'n':
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
        if flag in 'cn':
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, mode))
        uri = 'file:' + path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')
        try:
            self._connection = sqlite3.connect(f'{uri}?mode={"ro" if flag == "r" else "rw"}', autocommit=True, uri=True)
            if flag in 'cn':
                self._run('CREATE TABLE IF NOT EXISTS Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)')
        except sqlite3.Error as failure:
            self.close()
            raise error(str(failure)) from None

    def _run(self, command, *values):
        if self._connection is None:
            raise error('DBM object has already been closed')
        try:
            return self._connection.execute(command, values)
        except sqlite3.Error as failure:
            raise error(str(failure)) from None

    def __len__(self):
        return self._run('SELECT COUNT(*) FROM Dict').fetchone()[0]

    def __getitem__(self, key):
        row = self._run('SELECT value FROM Dict WHERE key = ?', _blob(key)).fetchone()
        if row is None:
            raise KeyError(key)
        return row[0]

    def __setitem__(self, key, value):
        self._run('REPLACE INTO Dict (key, value) VALUES (?, ?)', _blob(key), _blob(value))

    def __delitem__(self, key):
        if self._run('DELETE FROM Dict WHERE key = ?', _blob(key)).rowcount == 0:
            raise KeyError(key)

    def __iter__(self):
        for (key,) in self._run('SELECT key FROM Dict'):
            yield key

    def keys(self):
        return list(super().keys())

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.close()

    def reorganize(self):
        self._run('VACUUM')


def _blob(value):
    return value.encode() if isinstance(value, str) else bytes(value)


def open(filename, /, flag='r', mode=0o666):
    """Open the database at the path `filename`."""
    return _Database(filename, flag=flag, mode=mode)
