"""The only user of the sandbox."""

from collections import namedtuple

struct_passwd = namedtuple('struct_passwd', 'pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell')
_USER = struct_passwd('root', 'x', 0, 0, 'root', '/app', '/bin/bash')


def getpwall():
    return [_USER]


def getpwuid(uid, /):
    if uid == _USER.pw_uid:
        return _USER
    raise KeyError(f'getpwuid(): uid not found: {uid}')


def getpwnam(name, /):
    if name == _USER.pw_name:
        return _USER
    raise KeyError(f'getpwnam(): name not found: {name!r}')
