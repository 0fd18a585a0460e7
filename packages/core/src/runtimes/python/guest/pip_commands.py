"""pip as programs call it: in a notebook line, in a subprocess, with os.system, and through micropip.

Nothing is installed here. The host says which packages are there. If it can add the others, it stops the program and starts it
again with them.
"""

import builtins
import os
import re
import subprocess
import sys
from fcntl import ioctl

from _sandbox_processes import other_packages

__builtins__ = dict(vars(builtins))
__version__ = '0+sandbox'

# The ioctl request, with the number of PACKAGE_IOCTL in syscalls/abi.ts.
FIND = 0x4C570031
# Python copies shorter buffers, and the host would not see the original.
BUFFER_BYTES = 1100
# Names in one request. The host answers with a bit for each.
MAX_NAMES = 30
MAX_FILE_CHARACTERS = 20_000
# Exceptions that are followed to their cause.
MAX_CAUSES = 10

COMMAND = r'(?:sudo\s+)?(?:uv\s+)?(?:(?:\{sys\.executable\}|[\w./-]*python[\d.]*)?\s*-m\s+)?pip3?\s+install\s+'
COMMAND_TEXT = re.compile(COMMAND + r'(.*)', re.S)
COMMAND_LINE = re.compile(r'(\s*)[!%]?\s*(' + COMMAND + r'\S.*?)\s*')
# What follows the command in a shell.
SHELL_REST = re.compile(r'\s(?:\d?>|&>|#)|&&|\|\|?|;')
VERSION = r'(?:===?|[<>!~]=|[<>])\s*[\w.*+!-]+'
REQUIREMENT = re.compile(rf'[A-Za-z0-9][\w.-]*(?:\[[\w,. -]*\])?\s*(?:{VERSION}(?:\s*,\s*{VERSION})*)?')
FILE_OPTION = re.compile(r'--requirement(?:=(.+))?|-r(.+)?', re.S)
REFUSED_OPTIONS = (
    '-i', '--index-url', '--extra-index-url', '-f', '--find-links', '-t', '--target', '-c', '--constraint', '-e', '--editable',
    '--prefix', '--root',
)  # fmt: skip


def missing(kind, names):
    """The names of modules or requirements that are not there. Does not return if the host starts the program again."""
    data = '\n'.join([kind, *names]).encode()
    buffer = bytearray(max(len(data) + 4, BUFFER_BYTES))
    buffer[:4] = len(data).to_bytes(4, 'little')
    buffer[4 : 4 + len(data)] = data
    try:
        absent = ioctl(0, FIND, buffer, True)
    except OSError:
        # A process that another program started cannot ask the host.
        return names if kind == 'module' else unsatisfied(names)
    return [name for index, name in enumerate(names) if absent >> index & 1]


def installed():
    """The versions of the packages that are there, by name, from the names of their metadata folders."""
    folders = [path for path in sys.path if path.startswith('/data/') and os.path.isdir(path)]
    entries = [name.removesuffix('.dist-info') for folder in folders for name in os.listdir(folder) if name.endswith('.dist-info')]
    versions = {normalised(name): version for name, _, version in sorted(entry.rpartition('-') for entry in entries)}
    return {**other_packages, **versions}


def normalised(name):
    return re.sub(r'[-_.]+', '-', name).lower()


def unsatisfied(names):
    from packaging.requirements import Requirement

    versions = installed()
    wanted = {name: Requirement(name) for name in names}
    return [
        name
        for name, one in wanted.items()
        if (version := versions.get(normalised(one.name))) is None or not one.specifier.contains(version, prereleases=True)
    ]


def find_missing_module(error):
    """Asks the host for the module whose absence caused an exception."""
    try:
        for _ in range(MAX_CAUSES):
            if type(error) is ModuleNotFoundError and type(error.name) is str:
                missing('module', [error.name.partition('.')[0]])
            if type(error) is ModuleNotFoundError or not isinstance(error, ImportError):
                return
            error = error.__cause__ or error.__context__
    except Exception:
        # A class of the program has other attributes.
        pass


def requirements_of(words):
    """The requirements among the arguments of `pip install`. Raises ValueError for what cannot be honoured."""
    names = []
    words = iter(words)
    for word in words:
        file = FILE_OPTION.fullmatch(word)
        if file is not None:
            names += lines_of(file[1] or file[2] or next(words, ''))
        elif word.split('=', 1)[0] in REFUSED_OPTIONS:
            raise ValueError(f'the option {word} of pip is not supported in the sandbox')
        elif not word.startswith('-'):
            names.append(word)
    for name in names:
        if REQUIREMENT.fullmatch(name) is None:
            raise ValueError(f'{name[:100]!r} is not the name of a package. Files and addresses cannot be installed in the sandbox')
    if len(names) > MAX_NAMES:
        raise ValueError(f'a command can name at most {MAX_NAMES} packages')
    return [re.sub(r'\s', '', name) for name in names]


def lines_of(path):
    with open(path) as file:
        content = file.read(MAX_FILE_CHARACTERS + 1)
    if len(content) > MAX_FILE_CHARACTERS:
        raise ValueError(f'a list of requirements has at most {MAX_FILE_CHARACTERS:,} characters: {path}')
    return [text for line in content.splitlines() if (text := line.split('#')[0].split(';')[0].strip())]


def refusal(names):
    quoted = [name if re.fullmatch(r'[\w.=-]+', name) else f'"{name}"' for name in names]
    versions = installed()
    present = [name for text in names if (name := normalised(re.match(r'[\w.-]*', text)[0])) in versions]
    them = 'it' if len(names) == 1 else 'them'
    command = f'llm-wasm-sandbox packages add {" ".join(quoted)}'
    return (
        f'cannot install {", ".join(names)}: the sandbox does not have {them}. '
        + ''.join(f'The sandbox has {name} {versions[name]}. ' for name in present)
        + f'The user can add {them}, with: {command}'
    )


def install(words, out, err):
    """Runs `pip install` and returns its exit status."""
    try:
        names = requirements_of(words)
        if not names and not any(FILE_OPTION.fullmatch(word) for word in words):
            raise ValueError('You must give at least one requirement to install')
        absent = missing('requirement', names) if names else []
        if absent:
            raise ValueError(refusal(absent))
    except (ValueError, OSError) as error:
        print(f'ERROR: {error}', file=err)
        return 1
    if not any(word == '--quiet' or re.fullmatch('-q+', word) for word in words):
        for name in names:
            print(f'Requirement already satisfied: {name}', file=out)
    return 0


def text_arguments(text):
    """The arguments of `pip install` in a shell command; None for another command."""
    command = COMMAND_TEXT.fullmatch(text.strip())
    if command is None:
        return None
    import shlex

    try:
        return shlex.split(SHELL_REST.split(command[1], 1)[0])
    except ValueError:
        return None


def process_arguments(args):
    """The same for the arguments of a process."""
    if isinstance(args, str):
        return text_arguments(args)
    if not isinstance(args, (list, tuple)) or not all(isinstance(word, str) for word in args):
        return None
    words = list(args)
    if words[:2] == ['uv', 'pip']:
        words = words[1:]
    if words[1:3] == ['-m', 'pip'] and re.fullmatch(r'|.*python[\d.]*', words[0]):
        words = words[2:]
    if len(words) < 2 or os.path.basename(words[0]) not in ('pip', 'pip3') or words[1] != 'install':
        return None
    return words[2:]


def run_line(text):
    """Runs the command of a notebook line."""
    install(text_arguments(text) or [], sys.stdout, sys.stderr)


def without_command(source, error, file):
    """The source with a call in place of the line that is a pip command and no Python; None if there is no such line."""
    lines = source.split('\n')
    if error.filename != file or not error.lineno or error.lineno > len(lines):
        return None
    line = COMMAND_LINE.fullmatch(lines[error.lineno - 1])
    if line is None or text_arguments(line[2]) is None:
        return None
    lines[error.lineno - 1] = f'{line[1]}__import__("_sandbox_pip").run_line({line[2]!r})'
    return '\n'.join(lines)


def _deliver(text, target, stream, is_text):
    """Writes the output of a process to its target. Returns it if the program reads it from a pipe."""
    if target is None:
        stream.write(text)
    elif target == subprocess.PIPE:
        return text if is_text else text.encode()
    elif target != subprocess.DEVNULL:
        os.write(target if isinstance(target, int) else target.fileno(), text.encode())


def _start(process, args, words, options):
    """Makes a Popen object that of a process which has ended."""
    from io import BytesIO, StringIO

    is_text = any(options.get(name) for name in ('text', 'universal_newlines', 'encoding', 'errors'))
    out = StringIO()
    err = out if options.get('stderr') == subprocess.STDOUT else StringIO()
    process.args = args
    process.pid = 0
    process.stdin = None
    process.returncode = install(words, out, err)
    captured = [_deliver(out.getvalue(), options.get('stdout'), sys.stdout, is_text), None]
    if err is not out:
        captured[1] = _deliver(err.getvalue(), options.get('stderr'), sys.stderr, is_text)
    opened = StringIO if is_text else BytesIO
    process.stdout, process.stderr = [None if text is None else opened(text) for text in captured]
    process.communicate = lambda input=None, timeout=None: tuple(captured)


def main(args=None):
    """`pip.main`: returns the exit status of a command, as pip does."""
    from _sandbox_processes import run_pip

    try:
        run_pip(list(sys.argv[1:] if args is None else args))
    except SystemExit as end:
        return end.code
    return 0


def define_commands():
    """Lets subprocess and os.system run `pip install`."""
    from functools import wraps

    start = subprocess.Popen.__init__
    system = os.system

    @wraps(start)
    def __init__(self, args, *rest, **options):
        words = process_arguments(args)
        if words is None or rest:
            return start(self, args, *rest, **options)
        _start(self, args, words, options)

    @wraps(system)
    def run_command(command):
        words = process_arguments(command)
        if words is None:
            return system(command)
        return install(words, sys.stdout, sys.stderr) << 8

    subprocess.Popen.__init__ = __init__
    os.system = run_command
