"""Adds the name of the operation and the path to exceptions."""

import os


class operation:
    """A context manager that adds the name of the operation, and the path if there is none, to an OSError."""

    def __init__(self, name, path):
        self.name = name
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, tb):
        if kind is not None and issubclass(kind, OSError) and error.errno is not None:
            path = self.path if error.filename is None else error.filename
            reason = error.strerror or os.strerror(error.errno)
            if not reason.startswith(f'{self.name}: '):
                raise OSError(error.errno, f'{self.name}: {reason}', os.fspath(path)) from None


def os_error(name, errno, reason, path):
    """Creates the OSError for an operation that is not attempted."""
    return OSError(errno, f'{name}: {reason}', os.fspath(path))


def protect_roots(name, path):
    """Raises PermissionError for folders that must not be removed."""
    import errno

    real = os.path.realpath(path)
    if real in ('/', '/app', '/tmp'):
        raise os_error(name, errno.EPERM, 'this folder cannot be removed, only its contents', path)


def read_text(name, path):
    """Reads a text file. Bytes that are not valid UTF-8 become replacement characters."""
    with operation(name, path), open(path, encoding='utf-8', errors='replace', newline='') as file:
        return file.read()
