"""How an operation says that it failed: the exception Python would raise, with the operation and the path in it."""

import os


class operation:
    """Within it, an OSError gets the operation's name; one without a path gets the path too."""

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


def refuse(name, errno, reason, path):
    """The OSError of an operation that is refused before it is tried."""
    return OSError(errno, f'{name}: {reason}', os.fspath(path))


def keep_roots(name, path):
    """Refuses to remove what the sandbox itself stands on."""
    import errno

    real = os.path.realpath(path)
    if real in ('/', '/app', '/tmp'):
        raise refuse(name, errno.EPERM, 'this folder cannot be removed, only what is in it', path)


def read_text(name, path):
    """A whole text file; bytes that are no UTF-8 show as replacement characters."""
    with operation(name, path), open(path, encoding='utf-8', errors='replace', newline='') as file:
        return file.read()
