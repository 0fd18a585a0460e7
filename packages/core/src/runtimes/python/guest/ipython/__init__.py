"""The part of IPython that programs use to display values."""

from . import display

version_info = (9, 0, 0, '')
__version__ = '9.0.0'


def get_ipython():
    """There is no interactive shell, as in a script."""
    return None
