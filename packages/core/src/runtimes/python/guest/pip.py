"""The modules of pip from which programs import its entry point."""

from _sandbox_pip import __version__ as __version__
from _sandbox_pip import main as main

if __name__ == '__main__':
    raise SystemExit(main())
