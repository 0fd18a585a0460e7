"""Notices when a program asks numpy to report floating-point errors, which WebAssembly does not detect in arithmetic. Loaded when
numpy is imported.
"""

import sys

from numpy._core import _ufunc_config

_REPORTS = ('raise', 'call', 'print', 'log')
_make = _ufunc_config._make_extobj
_is_asked = False


def _make_extobj(**options):
    global _is_asked
    # Called by `errstate` and `seterr`, which numpy itself calls as well.
    caller = sys._getframe(2).f_code.co_filename
    if not caller.startswith(('/data/', '/lib/')):
        _is_asked = _is_asked or any(type(value) is str and value in _REPORTS for value in options.values())
    return _make(**options)


def take_asked():
    """Whether the program asked for reports since the last call."""
    global _is_asked
    asked, _is_asked = _is_asked, False
    return asked


_ufunc_config._make_extobj = _make_extobj
