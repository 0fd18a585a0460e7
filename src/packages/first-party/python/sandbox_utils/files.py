"""Searches, displays, copies and removes folders. Symbolic links are not followed."""

import os

from ._errors import operation, protect_roots


def walk(path='/app', filter_func=None):
    """Iterates over the files below a folder as sorted Path objects. `filter_func` returns false for paths to skip."""
    from pathlib import Path

    def step(folder):
        with operation('walk', folder):
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from step(entry.path)
            else:
                found = Path(entry.path)
                if filter_func is None or filter_func(found):
                    yield found

    return step(os.fspath(path))


def find(pattern, path='/app', recursive=True):
    """Returns the sorted files whose names match a glob pattern. A pattern with a slash is matched against the path below `path`."""
    from fnmatch import fnmatchcase
    from pathlib import Path

    root = Path(path)
    with operation('find', root):
        entries = os.listdir(root)
    if not recursive:
        return sorted(root / name for name in entries if fnmatchcase(name, pattern) and (root / name).is_file())
    if '/' in pattern:
        return sorted(found for found in root.glob(pattern) if found.is_file())
    return sorted(found for found in walk(root) if fnmatchcase(found.name, pattern))


def tree(path='/app', max_depth=None):
    """Returns a drawing of a folder, one line per entry. Folders end with a slash. `max_depth` limits the levels shown."""
    lines = [os.fspath(path)]

    def step(folder, indent, depth):
        if max_depth is not None and depth > max_depth:
            return
        with operation('tree', folder):
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        for entry in entries:
            last = entry is entries[-1]
            inner = entry.is_dir(follow_symlinks=False)
            lines.append(f'{indent}{"└── " if last else "├── "}{entry.name}{"/" if inner else ""}')
            if inner:
                step(entry.path, indent + ('    ' if last else '│   '), depth + 1)

    step(os.fspath(path), '', 1)
    return '\n'.join(lines)


def copy_tree(src, dst):
    """Copies a folder and its contents. Existing files in `dst` stay unless they have the same name."""
    import shutil

    with operation('copy_tree', src):
        if os.path.commonpath([os.path.realpath(src), os.path.realpath(dst)]) == os.path.realpath(src):
            raise ValueError(f'copy_tree: {os.fspath(dst)} is inside {os.fspath(src)}')
        os.listdir(src)
        shutil.copytree(src, dst, symlinks=True, dirs_exist_ok=True)


def remove_tree(path, pattern=None):
    """Removes a folder and its contents. With a pattern, removes only the files whose names match, and no folders."""
    import shutil
    from fnmatch import fnmatchcase

    with operation('remove_tree', path):
        if pattern is None:
            protect_roots('remove_tree', path)
            shutil.rmtree(path)
            return
        for found in list(walk(path)):
            if fnmatchcase(found.name, pattern):
                found.unlink()
