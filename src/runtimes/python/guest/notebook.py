"""Lines of notebooks that are not Python: `!command`, `name = !command`, `%cd`, `%matplotlib`, `%pip`, and the cells `%%bash` and
`%%sh`.

The parser has rejected the line. It is replaced by a call, and the line numbers of the program stay the same.
"""

import os
import re
import sys

LINE = re.compile(r'([ \t]*)(?:([A-Za-z_]\w*)[ \t]*=[ \t]*)?([!%])[ \t]*(\S.*?)[ \t]*')
CELL = re.compile(r'\s*%%(bash|sh)\b[^\n]*\n')
MAGICS = ('cd', 'matplotlib', 'pip')
CALL = '__import__("_sandbox_notebook")'
# Lines that a command is continued on.
MAX_CONTINUED = 100


def replaced(source, error, file):
    """The source with a call in place of what is not Python; None if the parser has rejected something else."""
    cell = CELL.match(source)
    if cell is not None:
        return f'{CALL}.cell({cell[1]!r}, {source[cell.end():]!r})'
    lines = source.split('\n')
    if error.filename != file or not error.lineno or error.lineno > len(lines):
        return None
    first = last = error.lineno - 1
    while lines[last].endswith('\\') and last + 1 < len(lines) and last - first < MAX_CONTINUED:
        last += 1
    line = LINE.fullmatch(' '.join(text.removesuffix('\\') for text in lines[first : last + 1]))
    if line is None:
        return None
    indent, name, kind, text = line.groups()
    if kind == '%' and (name is not None or text.split()[0] not in MAGICS):
        return None
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
    return re.sub(r'\$([A-Za-z_]\w*)', lambda match: str(names.get(match[1], match[0])), text)


def run(text, names):
    sys.stdout.flush()
    os.system(expanded(text, names))


def output(text, names):
    """The lines that a command prints."""
    with os.popen(expanded(text, names)) as stream:
        return stream.read().splitlines()


def magic(text, names):
    name, _, argument = text.partition(' ')
    if name == 'cd':
        os.chdir(os.path.expanduser(expanded(argument.strip(), names) or '~'))
    elif name == 'pip':
        run(text, names)


def cell(shell, text):
    """Runs a script. A script that fails raises CalledProcessError."""
    import subprocess

    sys.stdout.flush()
    subprocess.run([shell, '-c', text], check=True)
