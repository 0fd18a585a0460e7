"""PyPDF2 was renamed to pypdf. This package provides pypdf under the former name.

Submodules are those of pypdf, so `PyPDF2.errors.PdfReadError` is the class that pypdf raises. Names that PyPDF2 3.0
removed raise an ImportError that names the replacement.
"""

import sys

import pypdf
import pypdf.annotations
import pypdf.errors
import pypdf.generic
from pypdf import *  # noqa: F403
from pypdf import PdfReader, PdfWriter, __version__

__all__ = [*pypdf.__all__, 'PdfMerger']


class PdfMerger(PdfWriter):
    """An alias of PdfWriter, which has the methods of the former PdfMerger: `append`, `merge`, `write` and `close`."""


_REMOVED = {
    'PdfFileReader': 'PdfReader',
    'PdfFileWriter': 'PdfWriter',
    'PdfFileMerger': 'PdfMerger',
    'convertToInt': 'int.from_bytes',
}


def __getattr__(name):
    if name in _REMOVED:
        raise ImportError(f'{name} was removed in PyPDF2 3.0; use {_REMOVED[name]} instead', name=__name__)
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')


for _name, _module in list(sys.modules.items()):
    if _name.startswith('pypdf.'):
        sys.modules['PyPDF2' + _name[5:]] = _module
        if '.' not in _name[6:]:
            globals().setdefault(_name[6:], _module)
del _name, _module
