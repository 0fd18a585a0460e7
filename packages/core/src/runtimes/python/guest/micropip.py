"""The function of micropip that programs for Pyodide call: `await micropip.install('x')`."""

from _sandbox_pip import missing as _missing
from _sandbox_pip import refusal as _refusal
from _sandbox_pip import requirements_of as _requirements_of


class _Installed:
    def __await__(self):
        return
        yield


def install(requirements, *args, **options):
    """Reports packages that are there. Raises ValueError for the others. The result can be awaited."""
    names = _requirements_of([requirements] if isinstance(requirements, str) else [str(name) for name in requirements])
    absent = _missing('requirement', names) if names else []
    if absent:
        raise ValueError(_refusal(absent))
    return _Installed()
