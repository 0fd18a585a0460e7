"""Reports the modules that a program imports to the host, which measures the fuel of each import.

Imports that load a module pass through the wrapper of `_find_and_load`. Imports of modules that are already loaded do
not; they are found in the bytecode of the program. An import made by a module that is being loaded counts as part of it.

The host accepts reports only from the functions of this file, which it recognises by their code objects, and reads the
name of the module from their frames (memory/import-observer.ts). `name` is therefore the first variable of each.
"""

import builtins
import importlib._bootstrap as bootstrap
import sys
from fcntl import ioctl
from opcode import EXTENDED_ARG, opmap

__builtins__ = dict(vars(builtins))

# The ioctl requests, with the numbers of IMPORT_IOCTL in syscalls/abi.ts.
BEGIN = 0x4C570001
END = 0x4C570002
LOADED = 0x4C570003
FAILED = 0x4C570004

IMPORT_NAME = opmap['IMPORT_NAME']
IMPORTLIB = '<frozen importlib._bootstrap>'
# Modules of this runtime that adapt a package to the sandbox, by the module of the package after which they are loaded.
ADAPTERS = {
    'matplotlib.pyplot': '_sandbox_matplotlib',
    'numpy': '_sandbox_numpy',
    'altair': '_sandbox_altair',
    'plotly.basedatatypes': '_sandbox_plotly',
    'xlrd': '_sandbox_xlrd',
}

_modules = sys.modules
_tracked = set(sys.stdlib_module_names)


def _report_loaded(name):
    ioctl(0, LOADED, 0, True)


def track(names):
    """Adds the top-level modules among the names of files and folders to those that are reported."""
    for name in names:
        if not name.endswith('-info') and name != '__pycache__':
            _tracked.add(name.partition('.')[0])


def _imported(code):
    """The names of the modules that the top-level code of a program imports."""
    raw = code.co_code
    at = raw.find(IMPORT_NAME)
    while at >= 0:
        if not at & 1:
            index = raw[at + 1]
            if at > 1 and raw[at - 2] == EXTENDED_ARG:
                index |= raw[at - 1] << 8
            yield code.co_names[index]
        at = raw.find(IMPORT_NAME, at + 1)


def record_loaded(code):
    """Reports the imports in a program's top-level code whose modules are already loaded."""
    for name in _imported(code):
        top = name.partition('.')[0]
        if name in _modules and top in _tracked:
            _report_loaded(name)


# Modules that are searched for after a failed import.
MAX_MISSING = 20


def missing_modules(code):
    """The top-level modules that the top-level code of a program imports and that do not exist."""
    tops = dict.fromkeys(name.partition('.')[0] for name in _imported(code))
    wanted = [top for top in tops if top and top not in _modules and top not in sys.builtin_module_names]
    return [top for top in wanted[:MAX_MISSING] if bootstrap._find_spec(top, None) is None]


def set_network(is_allowed):
    """Permits or forbids requests. The libraries are adapted when they are imported, or now if they have been."""
    import _sandbox_network as network

    if not is_allowed:
        network.end()
        return
    network.begin()
    ADAPTERS.update(network.ADAPTERS)
    _load_adapters(bootstrap._gcd_import)


def _load_adapters(import_):
    for loaded, added in ADAPTERS.items():
        if loaded in _modules and added not in _modules:
            _load_adapter(added, import_)


def _load_adapter(name, import_):
    """Loads a module of ADAPTERS. With an unknown version of the package this can fail; the package then works as it is."""
    try:
        _original(name, import_)
    except Exception:
        _modules[name] = None


def _wrap(original):
    inside = False

    def _find_and_load(name, import_):
        nonlocal inside
        if inside:
            return original(name, import_)
        top = name.partition('.')[0] if '.' in name else name
        if top not in _tracked:
            return original(name, import_)
        inside = True
        # All four arguments are given, so that a program cannot replace `ioctl` with a partial function that adds others.
        ioctl(0, BEGIN, 0, True)
        result = END
        try:
            module = original(name, import_)
            _load_adapters(import_)
            return module
        except Exception:
            result = FAILED
            raise
        finally:
            inside = False
            ioctl(0, result, 0, True)

    # The interpreter removes frames of this file from tracebacks, and so the frame of the wrapper.
    _find_and_load.__code__ = _find_and_load.__code__.replace(co_filename=IMPORTLIB)
    return _find_and_load


_original = bootstrap._find_and_load
_wrapper = _wrap(_original)


def remove_wrapper(tb):
    """Removes the wrapper from a traceback where the interpreter does not, as below importlib.import_module."""
    while tb is not None:
        while tb.tb_next is not None and tb.tb_next.tb_frame.f_code is _wrapper.__code__:
            tb.tb_next = tb.tb_next.tb_next
        tb = tb.tb_next


def install():
    bootstrap._find_and_load = _wrapper
