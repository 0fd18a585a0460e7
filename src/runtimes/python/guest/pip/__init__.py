"""pip as a module: `pip.main` and `pip._internal.main` run the commands of the sandbox's pip."""

__version__ = '0+sandbox'


def main(args=None):
    """Returns the exit status of a command, as pip does."""
    import sys

    from _sandbox_processes import run_pip

    try:
        run_pip(list(sys.argv[1:] if args is None else args))
    except SystemExit as end:
        return end.code
    return 0
