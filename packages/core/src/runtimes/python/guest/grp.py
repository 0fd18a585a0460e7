"""The only group of the sandbox."""

from collections import namedtuple

struct_group = namedtuple('struct_group', 'gr_name gr_passwd gr_gid gr_mem')
_GROUP = struct_group('root', 'x', 0, [])


def getgrall():
    return [_GROUP]


def getgrgid(id):
    if id == _GROUP.gr_gid:
        return _GROUP
    raise KeyError(f'getgrgid(): gid not found: {id}')


def getgrnam(name):
    if name == _GROUP.gr_name:
        return _GROUP
    raise KeyError(f'getgrnam(): name not found: {name!r}')
