"""The guest side of the Python runtime: runs once when the boot image is made, and leaves `prepare` and `run` for every call.

The host calls `prepare(request)` with JSON, then `run()`, and gets JSON back. Names of this module are private to it: user code lives in
`__main__`, whose namespace is a script's. What a program patches or deletes ends with its memory.
"""

import builtins
import sys

# Functions below keep their own built-ins, so that a program that deletes or patches the real ones still gets a report.
__builtins__ = dict(vars(builtins))

_MAIN_FILE = '/app/main.py'
# Later calls of a session have files of their own, so that tracebacks and `inspect` find what earlier ones defined.
_CALL_FILE = '/app/call-{}.py'


def _make_run():
    import _ast
    import atexit
    import gc
    import linecache
    import os
    import reprlib
    import signal
    import traceback
    from _json import encode_basestring_ascii as quote
    from json import JSONDecoder

    decode = JSONDecoder().decode
    ALLOW_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    ONLY_AST = _ast.PyCF_ONLY_AST
    CO_COROUTINE = 0x80
    # The bits of co_flags that `from __future__` sets, which compile() takes as they are.
    FUTURE_FLAGS = 0x1FE0000
    # How much of a value, a message or a name goes to the host: the host cuts again, this saves the work.
    TEXT_LIMIT = 20_000
    NAME_LIMIT = 190
    RESULT_ITEMS = 2_000
    RESULT_CHARACTERS = 50_000
    RESULT_DEPTH = 20
    # Taken from the types themselves: metaclasses and subclasses can put anything in their place.
    name_of_type = type.__dict__['__name__'].__get__
    part_of_text = str.__getitem__
    low_bits = int.__and__

    brief = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)

    class NotPlain(Exception):
        pass

    # The host reports a limit as one of these signals, and the program meets it as an exception on the line it is on.
    # No `except Exception` stops them, and whoever catches more only uses up a bounded grace.
    limits = {
        number: type(name, (BaseException,), {'__module__': 'builtins'})
        for number, name in {60: 'OutOfFuel', 61: 'Timeout', 62: 'Cancelled'}.items()
    }
    limit_types = tuple(limits.values())
    # The host writes the words of the limit here before it sends the signal.
    limit_text = bytearray(200)
    current = {}
    # Names under which programs of this interpreter were compiled.
    user_files = set()

    def on_limit(number, frame):
        raise limits[number](limit_text.rstrip(b'\0').decode())

    for number in limits:
        signal.signal(number, on_limit)

    def plain(value, depth, room):
        """The value as JSON data, or NotPlain. `room` counts down the items and the characters left."""
        room[0] -= 1
        if room[0] < 0 or room[1] < 0 or depth > RESULT_DEPTH:
            raise NotPlain
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            room[1] -= len(value)
            if room[1] < 0 or len(value) > TEXT_LIMIT:
                raise NotPlain
            return value
        if kind is int:
            if -(2**53) < value < 2**53:
                return value
            raise NotPlain
        if kind is float:
            if value - value == 0.0:
                return value
            raise NotPlain
        if kind is list:
            return [plain(item, depth + 1, room) for item in value]
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    raise NotPlain
                room[1] -= len(key)
            return {key: plain(item, depth + 1, room) for key, item in value.items()}
        raise NotPlain

    def encode(value):
        """JSON of plain data, without the json module: that one runs with whatever the program left of the built-ins."""
        if type(value) is str:
            return quote(value)
        if type(value) is dict:
            return '{' + ','.join([quote(key) + ':' + encode(item) for key, item in value.items()]) + '}'
        if type(value) is list:
            return '[' + ','.join([encode(item) for item in value]) + ']'
        if value is None or type(value) is bool:
            return {None: 'null', True: 'true', False: 'false'}[value]
        if type(value) is int or type(value) is float:
            return repr(value)
        raise TypeError

    def cut(text):
        shown = part_of_text(text, slice(0, TEXT_LIMIT + 1))
        return shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + '…'

    def text_of(value):
        """What the value says of itself, which may fail or be a lie."""
        try:
            return cut(str(value))
        except Exception:
            return ''

    def type_name(value):
        return name_of_type(type(value))[:NAME_LIMIT]

    def small(value):
        return value if type(value) is int and -(2**31) <= value < 2**31 else None

    def describe_result(value):
        try:
            shown = plain(value, 0, [RESULT_ITEMS, RESULT_CHARACTERS])
        except NotPlain:
            shown = cut(repr(value))
        return {'result': shown, 'result_type': type_name(value)}

    def compile_main(source, file):
        """The code objects of the program: its statements and, if it ends in an expression, that."""
        tree = compile(source, file, 'exec', ONLY_AST | ALLOW_AWAIT, True)
        last = tree.body.pop().value if tree.body and type(tree.body[-1]) is _ast.Expr else None
        codes = [compile(tree, file, 'exec', ALLOW_AWAIT, True)]
        if last is not None:
            flags = ALLOW_AWAIT | (codes[0].co_flags & FUTURE_FLAGS)
            codes.append(compile(_ast.Expression(last), file, 'eval', flags, True))
        return codes

    def execute(source, file, namespace):
        codes = compile_main(source, file)
        if not any(code.co_flags & CO_COROUTINE for code in codes):
            for code in codes:
                value = eval(code, namespace)
        else:
            import asyncio

            async def main():
                for code in codes:
                    value = eval(code, namespace)
                    if code.co_flags & CO_COROUTINE:
                        value = await value
                return value

            value = asyncio.run(main())
        return describe_result(value) if len(codes) > 1 and value is not None else {}

    def user_traceback(error):
        """The traceback from the program's first own frame on, without the handler that raised a limit."""
        start = tb = error.__traceback__
        if isinstance(error, limit_types):
            while tb.tb_next is not None:
                if tb.tb_next.tb_frame.f_code is on_limit.__code__:
                    tb.tb_next = None
                    break
                tb = tb.tb_next
            tb = start
        while tb is not None:
            if tb.tb_frame.f_code.co_filename in user_files:
                return tb
            tb = tb.tb_next
        # The program never ran: it did not compile, and none of our frames would help.
        return None if isinstance(error, SyntaxError) else start

    def describe_error(error, tb):
        line = None
        while tb is not None:
            if tb.tb_frame.f_code.co_filename in user_files:
                line = tb.tb_lineno
            tb = tb.tb_next
        facts = {'type': type_name(error), 'line': line, 'message': text_of(error)}
        if isinstance(error, SyntaxError):
            facts['line'] = small(error.lineno)
        if isinstance(error, OSError):
            facts['errno'] = small(error.errno)
            facts['path'] = text_of(error.filename) if error.filename is not None else None
        if isinstance(error, (ImportError, NameError)):
            facts['name'] = text_of(error.name) if error.name is not None else None
        return facts

    def exit_status(error):
        """What a process would end with, and what it would print."""
        status = error.code
        if status is None:
            return 0
        if isinstance(status, int):
            return low_bits(status, 0xFF)
        print(status, file=sys.stderr)
        return 1

    def show(error, tb):
        # The interpreter prints the traceback the exception carries, so ours must not be part of it.
        error.__traceback__ = tb
        try:
            sys.excepthook(type(error), error, tb)
        except BaseException:
            traceback.print_exception(type(error), error, tb, file=sys.__stderr__)

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    def settle(report, action):
        """Runs one step of the program's life; how it fails becomes part of the report."""
        try:
            report.update(action() or {})
        except SystemExit as error:
            report['exit_code'] = exit_status(error)
        except BaseException as error:
            tb = user_traceback(error)
            report['exit_code'] = 1
            report['error'] = describe_error(error, tb)
            show(error, tb)

    def renew():
        """What was seeded when the image was made must differ from guest to guest."""
        random = sys.modules.get('random')
        if random is not None:
            random.seed()

    def prepare(request):
        """Everything before the program's own first instruction; the host starts counting fuel after it."""
        current.clear()
        current.update(decode(request.decode()))
        call = current['call']
        if call == 1:
            renew()
        os.environ.update(current['env'])
        source = current['code']
        file = _MAIN_FILE if call == 1 else _CALL_FILE.format(call)
        current['file'] = file
        user_files.add(file)
        lines = [line + '\n' for line in source.split('\n')]
        linecache.cache[file] = (len(source), None, lines, file)
        sys.modules['__main__'].__dict__['__file__'] = file

    def run():
        report = {'exit_code': 0}
        try:
            settle(report, lambda: execute(current['code'], current['file'], sys.modules['__main__'].__dict__))
            if not current['keep']:
                settle(report, atexit._run_exitfuncs)
            flush()
        except BaseException as error:
            # A limit that was met in our own code, after the program's.
            report['exit_code'] = 1
            report.setdefault('error', {'type': type_name(error), 'message': '', 'line': None})
        try:
            return encode(report).encode()
        except BaseException:
            # The program put something of its own into the report, or a limit was met on the last few lines.
            return b'{"exit_code":1}'

    def variables(most):
        """The program's names with type and short form, for whoever looks at a session."""
        found = []
        for name, value in list(sys.modules['__main__'].__dict__.items()):
            if name.startswith('__') or type(value) is type(sys) or len(found) >= most:
                continue
            try:
                shown = brief.repr(value)
            except BaseException as error:
                shown = f'<{type(error).__name__} in its repr>'
            found.append({'name': name, 'type': type(value).__name__[:200], 'repr': shown[:200]})
        return found

    sys.path[:] = ['/app', '/lib/python3.14', '/data/site-packages']
    sys.argv[:] = [_MAIN_FILE]
    for stream in (sys.stdout, sys.stderr):
        # A line at a time: output is live, and what was printed before a hard stop is not lost.
        stream.reconfigure(line_buffering=True, errors='backslashreplace')

    # What a first error message would have to import.
    try:
        raise ValueError('boot')
    except ValueError as error:
        ''.join(traceback.format_exception(error))

    gc.collect()
    # Objects of the image are never collected: looking at them would cost every run fuel and dirty pages.
    gc.freeze()
    return prepare, run, limit_text, variables


prepare, run, limit_text, variables = _make_run()
