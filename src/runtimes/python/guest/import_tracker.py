"""Tells the host which modules a program imports, so that it can say what each of them cost.

Only an import that has to load something passes through the wrapper below; what is loaded already is found in the
program's bytecode. The host reads the fuel counter when it is told, so nothing here measures anything. Imports made by
a module while it is being loaded belong to that module.
"""

import builtins
import importlib._bootstrap as bootstrap
import os
import sys
from fcntl import ioctl
from opcode import EXTENDED_ARG, opmap

__builtins__ = dict(vars(builtins))

# The ioctl requests, with the numbers of IMPORT_IOCTL in syscalls/abi.ts.
BEGIN = 0x4C570001
END = 0x4C570002
LOADED = 0x4C570003

IMPORT_NAME = opmap['IMPORT_NAME']
IMPORTLIB = '<frozen importlib._bootstrap>'

_modules = sys.modules
_known = set(sys.stdlib_module_names)


def tell(request, argument):
    try:
        ioctl(0, request, argument)
    except OSError:
        pass


def know(folder):
    """Adds the top-level modules of a folder to those the host hears about."""
    for name in os.listdir(folder):
        if not name.endswith('-info') and name != '__pycache__':
            _known.add(name.removesuffix('.py'))


def tell_loaded(code):
    """Tells of the imports in a program's own statements that find their module loaded."""
    raw = code.co_code
    at = raw.find(IMPORT_NAME)
    while at >= 0:
        if not at & 1:
            index = raw[at + 1]
            if at > 1 and raw[at - 2] == EXTENDED_ARG:
                index |= raw[at - 1] << 8
            name = code.co_names[index]
            top = name.partition('.')[0]
            if name in _modules and top in _known:
                tell(LOADED, top)
        at = raw.find(IMPORT_NAME, at + 1)


def _wrap(original):
    inside = False

    def _find_and_load(name, import_):
        nonlocal inside
        if inside:
            return original(name, import_)
        top = name.partition('.')[0] if '.' in name else name
        if top not in _known:
            return original(name, import_)
        inside = True
        tell(BEGIN, top)
        try:
            return original(name, import_)
        finally:
            inside = False
            tell(END, 0)

    # The interpreter takes frames of this file out of tracebacks, and ours are to go with them.
    _find_and_load.__code__ = _find_and_load.__code__.replace(co_filename=IMPORTLIB)
    return _find_and_load


_wrapper = _wrap(bootstrap._find_and_load)


def unlink(tb):
    """Takes the wrapper out of a traceback in which the interpreter left it, as it does below importlib.import_module."""
    while tb is not None:
        while tb.tb_next is not None and tb.tb_next.tb_frame.f_code is _wrapper.__code__:
            tb.tb_next = tb.tb_next.tb_next
        tb = tb.tb_next


def install():
    bootstrap._find_and_load = _wrapper
