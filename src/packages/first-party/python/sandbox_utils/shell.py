"""Shell commands for files and folders."""

import errno
import os

from ._errors import operation, os_error, protect_roots, read_text


def ls(path='/app', all=False, long=False):
    """Returns the sorted names in a folder, without hidden ones unless `all` is true.

    With `long`, returns dicts with name, size, type ("file", "directory" or "symlink"), modified (ISO 8601, UTC) and
    permissions.
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
    """Returns the concatenated contents of files."""
    return ''.join([read_text('cat', file) for file in files])


def touch(file):
    """Creates an empty file, or sets the modification time of an existing file to the current time."""
    with operation('touch', file):
        with open(file, 'ab'):
            pass
        os.utime(file)


def mkdir(path, parents=True):
    """Creates a folder. With `parents`, also creates missing parent folders, and the folder may already exist."""
    with operation('mkdir', path):
        if parents:
            os.makedirs(path, exist_ok=True)
        else:
            os.mkdir(path)


def rm(path, recursive=False, force=False):
    """Removes a file or, with `recursive`, a folder and its contents. With `force`, the path may be missing."""
    import shutil

    with operation('rm', path):
        if force and not os.path.lexists(path):
            return
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        protect_roots('rm', path)
        if not recursive:
            raise os_error('rm', errno.EISDIR, 'Is a directory (use recursive=True)', path)
        shutil.rmtree(path)


def cp(src, dst, recursive=False):
    """Copies a file to a file or into a folder. With `recursive`, copies a folder like `copy_tree`."""
    import shutil

    from .files import copy_tree

    with operation('cp', src):
        if not os.path.isdir(src):
            shutil.copy2(src, dst)
        elif recursive:
            copy_tree(src, dst)
        else:
            raise os_error('cp', errno.EISDIR, 'Is a directory (use recursive=True)', src)


def mv(src, dst):
    """Moves or renames a file or folder. If `dst` is a folder, moves into it."""
    import shutil

    with operation('mv', src):
        os.lstat(src)
        try:
            shutil.move(src, dst)
        except shutil.Error as error:
            raise os_error('mv', errno.EEXIST, str(error), dst) from None


def echo(text, file=None, append=False):
    """Prints and returns a text, or writes it to a file, followed by a newline."""
    if file is None:
        print(text)
        return text
    with operation('echo', file), open(file, 'a' if append else 'w', encoding='utf-8') as target:
        target.write(f'{text}\n')
