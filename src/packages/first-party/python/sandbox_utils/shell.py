"""The everyday commands of a shell."""

import errno
import os

from ._failure import keep_roots, operation, read_text, refuse


def ls(path='/app', all=False, long=False):
    """Names in a folder, sorted; those with a leading dot only with `all`.

    With `long`, dicts of name, size, type ("file", "directory" or "symlink"), modified (ISO 8601, UTC) and permissions.
    """
    with operation('ls', path):
        folder = os.fspath(path)
        single = not os.path.isdir(folder)
        names = [folder] if single else sorted(os.listdir(folder))
        if not all and not single:
            names = [name for name in names if not name.startswith('.')]
        if long:
            return [_describe(folder if single else os.path.join(folder, name), name) for name in names]
        if single:
            os.lstat(folder)
        return names


def _describe(path, name):
    import stat
    from datetime import UTC, datetime

    found = os.lstat(path)
    kind = 'symlink' if stat.S_ISLNK(found.st_mode) else 'directory' if stat.S_ISDIR(found.st_mode) else 'file'
    return {
        'name': name,
        'size': found.st_size,
        'type': kind,
        'modified': datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec='seconds'),
        'permissions': stat.filemode(found.st_mode),
    }


def cat(*files):
    """The contents of the files, one after another, as text."""
    return ''.join([read_text('cat', file) for file in files])


def touch(file):
    """Makes an empty file, or gives an existing one the current time."""
    with operation('touch', file):
        with open(file, 'ab'):
            pass
        os.utime(file)


def mkdir(path, parents=True):
    """Makes a folder and, with `parents`, those above it; then one that exists already is fine."""
    with operation('mkdir', path):
        if parents:
            os.makedirs(path, exist_ok=True)
        else:
            os.mkdir(path)


def rm(path, recursive=False, force=False):
    """Removes a file or, with `recursive`, a folder with everything in it. With `force`, a missing path is fine."""
    import shutil

    with operation('rm', path):
        if force and not os.path.lexists(path):
            return
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        keep_roots('rm', path)
        if not recursive:
            raise refuse('rm', errno.EISDIR, 'Is a directory (use recursive=True)', path)
        shutil.rmtree(path)


def cp(src, dst, recursive=False):
    """Copies a file to a file or into a folder; a folder only with `recursive`, as `copy_tree` does."""
    import shutil

    from .files import copy_tree

    with operation('cp', src):
        if not os.path.isdir(src):
            shutil.copy2(src, dst)
        elif recursive:
            copy_tree(src, dst)
        else:
            raise refuse('cp', errno.EISDIR, 'Is a directory (use recursive=True)', src)


def mv(src, dst):
    """Moves or renames a file or folder; into `dst` if that is a folder."""
    import shutil

    with operation('mv', src):
        os.lstat(src)
        try:
            shutil.move(src, dst)
        except shutil.Error as error:
            raise refuse('mv', errno.EEXIST, str(error), dst) from None


def echo(text, file=None, append=False):
    """Prints a text and returns it, or writes it to a file with a newline after it."""
    if file is None:
        print(text)
        return text
    with operation('echo', file), open(file, 'a' if append else 'w', encoding='utf-8') as target:
        target.write(f'{text}\n')
