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
_SITE_PACKAGES = '/data/site-packages'

# Loaded in every guest, because programs use them so often; each adds to the image that every run starts from.
WARM_MODULES = (
    'base64', 'bisect', 'csv', 'datetime', 'decimal', 'hashlib', 'heapq', 'math', 'pathlib', 'random', 'statistics',
    'string', 'struct', 'typing',
)  # fmt: skip


def _make_run():
    import _ast
    import atexit
    import gc
    import linecache
    import opcode
    import os
    import reprlib
    import signal
    import traceback
    import _sandbox_imports as imports
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
    # What an error report says about names, keys and texts: enough to recognise them.
    NEAR_LIMIT = 30
    AVAILABLE_LIMIT = 20
    # A longer traceback keeps this many frames at each end: formatting a thousand of them costs more than most programs.
    TRACEBACK_ENDS = 25
    RAISE = opcode.opmap['RAISE_VARARGS']
    BUILTINS = dict(vars(builtins))
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
        imports.tell_loaded(codes[0])
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
        imports.unlink(start)
        while tb is not None:
            if tb.tb_frame.f_code.co_filename in user_files:
                return tb
            tb = tb.tb_next
        # The program never ran: it did not compile, and none of our frames would help.
        return None if isinstance(error, SyntaxError) else start

    def short(text):
        return text if len(text) <= NAME_LIMIT else text[:NAME_LIMIT] + '…'

    def shown(value):
        """A key or an index as the program would write it. Other objects could run the program's code, so: their type."""
        return short(repr(value)) if type(value) in (str, int, float, bool, bytes, type(None)) else type(value).__name__

    def failing_text(tb):
        """The part of the program that the failing instruction belongs to, if it lies on one line."""
        for index, position in enumerate(tb.tb_frame.f_code.co_positions()):
            if index == tb.tb_lasti // 2:
                line, end_line, start, end = position
                break
        if None in position or line != end_line:
            return None
        text = linecache.cache[tb.tb_frame.f_code.co_filename][2][line - 1].encode()
        return text[start:end].decode()

    def look_up(node, frame):
        """What an expression of names and constant subscripts stands for; nothing of the program is called for it."""
        if type(node) is _ast.Name:
            for names in (frame.f_locals, frame.f_globals):
                if node.id in names:
                    return names[node.id]
        if type(node) is _ast.Subscript and type(node.slice) in (_ast.Constant, _ast.Name):
            container = look_up(node.value, frame)
            key = node.slice.value if type(node.slice) is _ast.Constant else look_up(node.slice, frame)
            if type(container) in (dict, list, tuple) and type(key) in (str, int):
                return container[key]
        raise LookupError

    def describe_container(tb):
        """What the program took a missing key or index from."""
        node = compile(failing_text(tb).strip(), _MAIN_FILE, 'eval', ONLY_AST).body
        if type(node) is not _ast.Subscript:
            return {}
        container = look_up(node.value, tb.tb_frame)
        kind = type(container)
        if kind not in (dict, list, tuple, str):
            return {'container': type_name(container)}
        facts = {'container': kind.__name__, 'length': len(container)}
        if kind is dict:
            facts['available'] = [shown(key) for _, key in zip(range(AVAILABLE_LIMIT), container)]
        return facts

    def describe_details(error, tb, last):
        """What is known beyond type and message, by the built-in class the exception derives from."""
        facts = {}
        if isinstance(error, SyntaxError) and error.filename == current['file']:
            facts['line'] = small(error.lineno)
            facts['column'] = small(error.offset)
        elif isinstance(error, OSError):
            facts['errno'] = small(error.errno)
            if error.filename is not None:
                facts['path'] = text_of(error.filename)
                if not facts['path'].startswith('/'):
                    facts['cwd'] = short(os.getcwd())
            if error.filename2 is not None:
                facts['path2'] = text_of(error.filename2)
        elif isinstance(error, ImportError):
            facts['name'] = short(str(error.name)) if error.name is not None else None
            facts['attribute'] = short(str(error.name_from)) if error.name_from is not None else None
            facts['on_path'] = _SITE_PACKAGES in sys.path
        elif isinstance(error, (NameError, AttributeError)):
            facts['name'] = short(str(error.name)) if error.name is not None else None
            if isinstance(error, AttributeError) and error.name is not None:
                facts['container'] = short(type(error.obj).__name__)
                if type(error.obj) is type(sys):
                    facts['module_name'] = short(str(error.obj.__name__))
            if error.name is not None:
                facts['suggestion'] = traceback._compute_suggestion_error(error, tb, error.name)
        elif isinstance(error, (KeyError, IndexError)):
            if isinstance(error, KeyError) and len(error.args) == 1:
                facts['key'] = shown(error.args[0])
            if last is not None and last.tb_frame.f_code.co_filename in user_files:
                facts.update(describe_container(last))
        elif isinstance(error, UnicodeError) and hasattr(error, 'encoding'):
            facts['name'] = short(str(error.encoding))
            facts['position'] = error.start
        elif type(error).__module__ == 'json.decoder' and type(error.doc) is str and type(error.pos) is int:
            facts['position'] = error.pos
            facts['length'] = len(error.doc)
            facts['near'] = error.doc[max(0, error.pos - NEAR_LIMIT) : error.pos + NEAR_LIMIT]
        return {name: value for name, value in facts.items() if value is not None}

    def describe_error(error, tb):
        line = other = last = None
        step = tb
        while step is not None:
            file = step.tb_frame.f_code.co_filename
            if file == current['file']:
                line = step.tb_lineno
            elif file in user_files:
                other = file, step.tb_lineno
            last = step
            step = step.tb_next
        kind = type(error)
        facts = {'type': type_name(error), 'line': line, 'message': text_of(error)}
        if line is None and other is not None:
            # Nothing of this call is on the stack: it is in a function that an earlier call of the session left.
            facts['file'], facts['line'] = other
        try:
            facts['module'] = short(str(kind.__module__))
            facts['kind'] = next(base.__name__ for base in kind.__mro__ if BUILTINS.get(base.__name__) is base)
            if last is not None and last.tb_frame.f_code.co_filename in user_files:
                facts['raised'] = last.tb_frame.f_code.co_code[last.tb_lasti] == RAISE
            facts.update(describe_details(error, tb, last))
        except BaseException:
            # A class of the program may fail in any of these; what was found so far stands.
            pass
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

    def shorten(tb):
        """Takes the middle out of a long traceback."""
        frames = []
        while tb is not None:
            frames.append(tb)
            tb = tb.tb_next
        if len(frames) > 2 * TRACEBACK_ENDS:
            print(f'({len(frames) - 2 * TRACEBACK_ENDS} frames in the middle are left out)', file=sys.stderr)
            frames[TRACEBACK_ENDS - 1].tb_next = frames[-TRACEBACK_ENDS]

    def show(error, tb):
        # The interpreter prints the traceback the exception carries, so ours must not be part of it.
        error.__traceback__ = tb
        try:
            shorten(tb)
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
            handled = error.__context__
            if report['exit_code'] != 0 and isinstance(handled, Exception):
                # `except ...: sys.exit(1)` is how many programs fail; the reason is the exception they were handling.
                report['exit_cause'] = describe_error(handled, user_traceback(handled))
        except BaseException as error:
            tb = user_traceback(error)
            report['exit_code'] = 1
            report['error'] = describe_error(error, tb)
            show(error, tb)

    # Generators that were seeded when the image was made.
    seeded = []

    def renew():
        """What was seeded when the image was made must differ from guest to guest."""
        while seeded:
            seeded.pop().seed()

    def prepare(request):
        """Everything before the program's own first instruction; the host starts counting fuel after it."""
        current.clear()
        current.update(decode(request.decode()))
        call = current['call']
        if call == 1:
            renew()
        os.environ.update(current['env'])
        if not current['inject_setup']:
            taken.extend(path for path in SETUP_PATHS if path in sys.path)
            sys.path[:] = [path for path in sys.path if path not in SETUP_PATHS]
        elif taken:
            sys.path.extend(taken)
            taken.clear()
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

    def load(modules):
        for name in modules:
            try:
                __import__(name)
            except BaseException as error:
                return {'error': {'module': name, 'message': cut(f'{type(error).__name__}: {error}')}}
        return {}

    def settle_image():
        """Leaves the interpreter as an image should have it."""
        if 'random' in sys.modules:
            from random import Random, SystemRandom

            fixed = [one for one in gc.get_objects() if isinstance(one, Random) and not isinstance(one, SystemRandom)]
            seeded.extend(fixed)
        # Another workspace will be there.
        sys.path_importer_cache.pop('/app', None)
        linecache.clearcache()
        gc.collect()
        # Objects of the image are never collected: looking at them would cost every run fuel and dirty pages.
        gc.freeze()

    def warm(request):
        """Makes a booted guest into one that has more modules loaded, before it is saved as an image."""
        request = decode(request.decode())
        if request['packages']:
            sys.path.insert(2, OWN_PACKAGES)
            imports.know(OWN_PACKAGES)
        report = load(request['modules'])
        settle_image()
        return encode(report).encode()

    OWN_PACKAGES = '/data/packages'
    SETUP_PATHS = (OWN_PACKAGES, _SITE_PACKAGES)
    # What an earlier call of the session, one without setup, took off the path.
    taken = []
    sys.path[:] = ['/app', '/lib/python3.14', _SITE_PACKAGES]
    sys.argv[:] = [_MAIN_FILE]
    for stream in (sys.stdout, sys.stderr):
        # A line at a time: output is live, and what was printed before a hard stop is not lost.
        stream.reconfigure(line_buffering=True, errors='backslashreplace')

    # What a first error message would have to import.
    try:
        raise ValueError('boot')
    except ValueError as error:
        ''.join(traceback.format_exception(error))

    for name in WARM_MODULES:
        __import__(name)
    imports.know('/data/site-packages')
    imports.install()
    settle_image()
    return prepare, run, warm, limit_text, variables


prepare, run, warm, limit_text, variables = _make_run()
