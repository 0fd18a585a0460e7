"""Lines of notebooks that are not Python: commands (`!command`, `name = !command`), and the common magic commands of IPython
(`%cd`, `name = %env HOME`, `%%bash` in the first line).

The parser has rejected the line. It is replaced by a call, and the line numbers of the program stay the same.
"""

import os
import re
import sys

LINE = re.compile(r'([ \t]*)(?:([A-Za-z_]\w*)[ \t]*=[ \t]*)?([!%])[ \t]*(\S.*?)[ \t]*')
CELL = re.compile(r'\s*%%([A-Za-z]\w*)[ \t]*([^\n]*)\n?')
NAME = re.compile(r'%[A-Za-z]\w*\b')
CALL = '__import__("_sandbox_notebook")'
# Lines that a command is continued on.
MAX_CONTINUED = 100
# Time that %timeit measures at once, in seconds, and the calls that this may take.
TIMED_SECONDS = 0.01
TIMED_CALLS = 100_000


class UsageError(Exception):
    """A magic command that does not exist, or not with these arguments."""

    __module__ = 'builtins'


def replaced(source, error, file):
    """The source with a call in place of what is not Python; None if the parser has rejected something else."""
    cell = CELL.match(source)
    if cell is not None:
        rest = source[cell.end() :]
        begins = cell[1] in BEGINS
        call = f'{CALL}.{"begin" if begins else "cell"}({cell[1]!r}, {cell[2]!r}{"" if begins else f", {rest!r}"})'
        # What %%capture captures is not the value of the cell.
        end = '' if not begins else f'\n{rest}\nNone' if cell[1] == 'capture' else f'\n{rest}'
        return source[: cell.start(1) - 2] + call + end
    lines = source.split('\n')
    if error.filename != file or not error.lineno or error.lineno > len(lines):
        return None
    first = last = error.lineno - 1
    while lines[last].endswith('\\') and last + 1 < len(lines) and last - first < MAX_CONTINUED:
        last += 1
    text = ' '.join(text.removesuffix('\\') for text in lines[first : last + 1])
    line = LINE.fullmatch(text)
    # A line with a space after the sign is rather an operator.
    if line is None or (line[3] == '%' and not NAME.match(text, line.start(3)) and line[4].split()[0] not in LINES):
        return None
    indent, name, kind, text = line.groups()
    function = 'magic' if kind == '%' else 'run' if name is None else 'output'
    call = f'{CALL}.{function}({text!r}, globals() | locals())'
    lines[first] = indent + (f'{name} = {call}' if name is not None else f'{call}')
    lines[first + 1 : last + 1] = [''] * (last - first)
    return '\n'.join(lines)


def expanded(text, names):
    """The text with the values of Python expressions in braces and of Python variables after `$`."""

    def value(match):
        try:
            return str(eval(match[1], names))
        except Exception:
            return match[0]

    text = re.sub(r'\{([^{}]+)\}', value, text)
    # `$$name` is a variable of the shell.
    return re.sub(r'\$(\$?)([A-Za-z_]\w*)', lambda match: '$' + match[2] if match[1] else str(names.get(match[2], match[0])), text)


def run(text, names):
    text = expanded(text, names)
    sys.stdout.flush()
    if sys.stdout is sys.__stdout__:
        os.system(text)
    else:
        import subprocess

        sys.stdout.write(subprocess.run(text, shell=True, text=True, stdout=-1, stderr=-2).stdout)


def output(text, names):
    """The lines that a command prints."""
    with os.popen(expanded(text, names)) as stream:
        return stream.read().splitlines()


def magic(text, names):
    name, _, argument = text.partition(' ')
    if name in SHELL:
        return run('ls -l ' + argument if name == 'll' else text, names)
    if name not in LINES:
        raise UsageError(f'Line magic function `%{name}` not found.')
    function = LINES[name]
    if function is not None:
        # Of a statement, braces are a part.
        return function(argument if function in (time, timeit) else expanded(argument.strip(), names))


def program():
    """The variables of the program."""
    return sys.modules['__main__'].__dict__


def cd(path):
    os.chdir(os.path.expanduser(path or '~'))
    print(os.getcwd())


def pip(arguments):
    run('pip ' + arguments, {})


def env(text):
    name, separator, value = text.partition('=' if '=' in text else ' ')
    if not name:
        return dict(os.environ)
    if separator:
        os.environ[name.strip()] = value.strip()
        print(f'env: {name.strip()}={value.strip()}')
    elif name in os.environ:
        return os.environ[name]
    else:
        raise UsageError(f'Environment does not have key: {name}')


def lsmagic(_):
    lines, cells = sorted([*LINES, *SHELL]), sorted([*BEGINS, *SCRIPTS, *MIMES, 'timeit', 'writefile'])
    print(f'Line magics: {" ".join("%" + name for name in lines)}\nCell magics: {" ".join("%%" + name for name in cells)}')


def run_file(text):
    """Runs a file, and takes over its variables."""
    import runpy
    import shlex

    words = shlex.split(text)
    names, before = program(), sys.argv
    sys.argv = words
    try:
        found = runpy.run_path(words[0], run_name='__main__')
    except IndexError:
        raise UsageError('%run needs the path of a file.') from None
    finally:
        sys.argv = before
    names.update({name: value for name, value in found.items() if not name.startswith('__')})


def time(statement):
    end = start_timer('')
    names = program()
    try:
        code = compile(statement.strip(), '<time>', 'eval')
    except SyntaxError:
        exec(compile(statement.strip(), '<time>', 'exec'), names)
    else:
        value = eval(code, names)
        end()
        return value
    end()


def timeit(text, cell=None):
    import getopt
    from statistics import mean, pstdev
    from timeit import Timer
    from types import SimpleNamespace

    try:
        options, words = getopt.getopt(text.strip().split(' '), 'n:r:p:tcqov:')
    except getopt.GetoptError as error:
        raise UsageError(str(error)) from None
    options = dict(options)
    line = ' '.join(words)
    timer = Timer(*((line, 'pass') if cell is None else (cell, line or 'pass')), globals=program())
    loops, runs = int(options.get('-n', 0)), max(1, int(options.get('-r', 7)))
    if loops <= 0:
        loops = 1
        while loops < TIMED_CALLS and timer.timeit(loops) < TIMED_SECONDS:
            loops *= 10
    times = [seconds / loops for seconds in timer.repeat(runs, loops)]
    average, deviation = mean(times), pstdev(times)
    if '-q' not in options:
        print(
            f'{duration(average)} ± {duration(deviation)} per loop '
            f'(mean ± std. dev. of {runs} run{"s"[:runs > 1]}, {loops:,} loop{"s"[:loops > 1]} each)'
        )
    if '-o' in options:
        return SimpleNamespace(average=average, stdev=deviation, best=min(times), worst=max(times), loops=loops, all_runs=times)


def duration(seconds):
    for factor, unit in ((1, 's'), (1e3, 'ms'), (1e6, 'μs'), (1e9, 'ns')):
        if seconds * factor >= 1:
            break
    return f'{seconds * factor:.3g} {unit}'


# The functions of line magics. What is accepted without an effect has none: figures are always shown.
LINES = {
    **dict.fromkeys('aimport autoreload autosave colors config gui load_ext matplotlib pprint precision reload_ext xmode'.split()),
    **{'cd': cd, 'env': env, 'lsmagic': lsmagic, 'pip': pip, 'pwd': lambda _: os.getcwd(), 'run': run_file, 'set_env': env},
    **{'time': time, 'timeit': timeit},
}
# Line magics that are commands of the shell.
SHELL = ('cat', 'cp', 'head', 'll', 'ls', 'mkdir', 'more', 'mv', 'rm', 'rmdir', 'tail')


# ---- cells ----

SCRIPTS = ('bash', 'python', 'python3', 'sh')
MIMES = {'html': 'text/html', 'latex': 'text/latex', 'markdown': 'text/markdown', 'svg': 'image/svg+xml'}


def cell(name, argument, text):
    """Runs a cell whose text is not a program of its own."""
    if name in SCRIPTS:
        # A script that fails raises CalledProcessError.
        import shlex
        import subprocess

        option, *arguments = shlex.split(expanded(argument, program())) or ['-s']
        if option != '-s':
            raise UsageError(f'%%{name} accepts no options other than -s, which arguments of the script follow.')
        # The first argument of a shell is its name.
        first = [] if name.startswith('python') else [name]
        sys.stdout.flush()
        subprocess.run([name, '-c', text, *first, *arguments], check=True)
    elif name in ('writefile', 'file'):
        write_file(argument, text)
    elif name in MIMES:
        from _sandbox_display import display

        display(text, mime=MIMES[name])
    elif name == 'timeit':
        return timeit(argument, text)
    else:
        raise UsageError(f'Cell magic `%%{name}` not found.')


def write_file(argument, text):
    words = argument.split()
    append = '-a' in words
    path = ' '.join(word for word in words if word != '-a').strip('\'"')
    if not path:
        raise UsageError('%%writefile needs the path of a file.')
    path = os.path.expanduser(expanded(path, program()))
    print(f'{"Appending to" if append else "Overwriting" if os.path.exists(path) else "Writing"} {path}')
    with open(path, 'a' if append else 'w') as file:
        file.write(text if text.endswith('\n') else text + '\n')


def start_timer(argument):
    from time import perf_counter, process_time

    used, start = process_time(), perf_counter()

    def end():
        total, wall = duration(process_time() - used), duration(perf_counter() - start)
        print(f'CPU times: user {total}, sys: 0 ns, total: {total}\nWall time: {wall}')

    return end


class Captured:
    """What a cell printed and displayed."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout, self.stderr, self.outputs = stdout, stderr, outputs

    def show(self):
        import _sandbox_display

        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for message in self.outputs:
            _sandbox_display._send(*message)

    __call__ = show

    def __str__(self):
        return self.stdout


def start_capture(argument):
    import io
    import _sandbox_display

    words = argument.split()
    outputs, before = [], (sys.stdout, sys.stderr, _sandbox_display._send)
    if '--no-stdout' not in words:
        sys.stdout = io.StringIO()
    if '--no-stderr' not in words:
        sys.stderr = io.StringIO()
    if '--no-display' not in words:
        _sandbox_display._send = lambda *message: outputs.append(message)
    streams = sys.stdout, sys.stderr

    def end():
        figures = sys.modules.get('_sandbox_matplotlib')
        if figures is not None and '--no-display' not in words:
            figures.show_open()
        sys.stdout, sys.stderr, _sandbox_display._send = before
        texts = ['' if now is then else now.getvalue() for now, then in zip(streams, before)]
        for name in words:
            if name.isidentifier():
                program()[name] = Captured(*texts, outputs)

    return end


# Cells that are programs: what begins before them returns what ends it.
BEGINS = {'capture': start_capture, 'time': start_timer}
_ends = []


def begin(name, argument):
    _ends.append(BEGINS[name](argument))


def end_cell():
    """Called when the program has ended, also if it failed."""
    while _ends:
        _ends.pop()()
