"""The module `chart`, for programs that import it: the functions of the built-in name `chart`."""

from _sandbox_chart import KINDS as __all__
from _sandbox_display import charts as _charts


def __getattr__(name):
    return getattr(_charts, name)
