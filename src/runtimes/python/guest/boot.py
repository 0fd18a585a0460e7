"""The guest side of the Python runtime. It runs once, when the boot image is built, and defines the functions that the host calls.

For every program the host calls `prepare(request)` with JSON and then `run()`, which returns JSON. Programs run in `__main__`, not in this
module. They can patch or delete anything, but only in their own copy of the memory.
"""

import builtins
import sys

# A private copy of the built-ins, so that the report works even if a program deletes or patches them.
__builtins__ = dict(vars(builtins))

_MAIN_FILE = '/app/main.py'
# Later calls of a session have different file names, so that tracebacks and `inspect` find the sources of earlier calls.
_CALL_FILE = '/app/call-{}.py'
_SITE_PACKAGES = '/data/site-packages'

# Imported into the boot image, because programs use them often. Each one makes the image larger.
WARM_MODULES = (
    'base64', 'bisect', 'csv', 'datetime', 'decimal', 'hashlib', 'heapq', 'math', 'pathlib', 'random', 'statistics',
    'string', 'struct', 'typing',
)  # fmt: skip


def _define_entry_points():
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
    # The bits of co_flags that `from __future__` sets. compile() accepts them as flags.
    FUTURE_FLAGS = 0x1FE0000
    # Limits for values, messages and names. The host enforces its own; these avoid unnecessary work.
    TEXT_LIMIT = 20_000
    NAME_LIMIT = 190
    RESULT_ITEMS = 2_000
    RESULT_CHARACTERS = 50_000
    RESULT_DEPTH = 20
    # Limits for the details of an error: characters around a position, and keys of a dict.
    NEAR_LIMIT = 30
    AVAILABLE_LIMIT = 20
    # Frames at each end of a traceback. The middle of a longer one is omitted, because formatting it is expensive.
    TRACEBACK_ENDS = 25
    RAISE = opcode.opmap['RAISE_VARARGS']
    BUILTINS = dict(vars(builtins))
    # Taken from the base types, because metaclasses and subclasses can override them.
    name_of_type = type.__dict__['__name__'].__get__
    part_of_text = str.__getitem__
    low_bits = int.__and__

    brief = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)

    class NotJsonData(Exception):
        pass

    # The host signals a limit, and the handler raises one of these exceptions on the current line. They derive from
    # BaseException, so `except Exception` does not catch them. A program that catches them still ends after a short grace.
    limits = {
        number: type(name, (BaseException,), {'__module__': 'builtins'})
        for number, name in {60: 'OutOfFuel', 61: 'Timeout', 62: 'Cancelled'}.items()
    }
    limit_types = tuple(limits.values())
    # The host stores the message of the limit here before it raises the signal.
    limit_text = bytearray(200)
    current = {}
    # File names of all programs of this interpreter.
    program_files = set()

    def on_limit(number, frame):
        raise limits[number](limit_text.rstrip(b'\0').decode())

    for number in limits:
        signal.signal(number, on_limit)

    def to_json_data(value, depth, room):
        """Copies JSON data, or raises NotJsonData. `room` holds the remaining number of items and characters."""
        room[0] -= 1
        if room[0] < 0 or room[1] < 0 or depth > RESULT_DEPTH:
            raise NotJsonData
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            room[1] -= len(value)
            if room[1] < 0 or len(value) > TEXT_LIMIT:
                raise NotJsonData
            return value
        if kind is int:
            if -(2**53) < value < 2**53:
                return value
            raise NotJsonData
        if kind is float:
            if value - value == 0.0:
                return value
            raise NotJsonData
        if kind is list:
            return [to_json_data(item, depth + 1, room) for item in value]
        if kind is dict:
            for key in value:
                if type(key) is not str:
                    raise NotJsonData
                room[1] -= len(key)
            return {key: to_json_data(item, depth + 1, room) for key, item in value.items()}
        raise NotJsonData

    def encode(value):
        """Encodes JSON data. The json module is not used, because the program may have patched the built-ins that it uses."""
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

    def truncate(text):
        shown = part_of_text(text, slice(0, TEXT_LIMIT + 1))
        return shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + '…'

    def text_of(value):
        """Converts a value to text. The program may control the conversion, so it may fail."""
        try:
            return truncate(str(value))
        except Exception:
            return ''

    def type_name(value):
        return name_of_type(type(value))[:NAME_LIMIT]

    def int32_or_none(value):
        return value if type(value) is int and -(2**31) <= value < 2**31 else None

    def describe_result(value):
        try:
            shown = to_json_data(value, 0, [RESULT_ITEMS, RESULT_CHARACTERS])
        except NotJsonData:
            shown = truncate(repr(value))
        return {'result': shown, 'result_type': type_name(value)}

    def compile_main(source, file):
        """Compiles a program to code objects: its statements and, if it ends with an expression, that expression."""
        tree = compile(source, file, 'exec', ONLY_AST | ALLOW_AWAIT, True)
        last = tree.body.pop().value if tree.body and type(tree.body[-1]) is _ast.Expr else None
        codes = [compile(tree, file, 'exec', ALLOW_AWAIT, True)]
        if last is not None:
            flags = ALLOW_AWAIT | (codes[0].co_flags & FUTURE_FLAGS)
            codes.append(compile(_ast.Expression(last), file, 'eval', flags, True))
        return codes

    def execute(source, file, namespace):
        codes = compile_main(source, file)
        imports.record_loaded(codes[0])
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

    def program_traceback(error):
        """The traceback from the first frame of the program on, without the signal handler that raised a limit."""
        start = tb = error.__traceback__
        if isinstance(error, limit_types):
            while tb.tb_next is not None:
                if tb.tb_next.tb_frame.f_code is on_limit.__code__:
                    tb.tb_next = None
                    break
                tb = tb.tb_next
            tb = start
        imports.remove_wrapper(start)
        while tb is not None:
            if tb.tb_frame.f_code.co_filename in program_files:
                return tb
            tb = tb.tb_next
        # The program did not compile. The frames of this module would not help.
        return None if isinstance(error, SyntaxError) else start

    def short(text):
        return text if len(text) <= NAME_LIMIT else text[:NAME_LIMIT] + '…'

    def describe_key(value):
        """The repr of a key or index of a built-in type; for other types, whose repr may run the program's code, the type's name."""
        return short(repr(value)) if type(value) in (str, int, float, bool, bytes, type(None)) else type(value).__name__

    def failing_source(tb):
        """The source of the expression that failed, if it is on one line."""
        for index, position in enumerate(tb.tb_frame.f_code.co_positions()):
            if index == tb.tb_lasti // 2:
                line, end_line, start, end = position
                break
        if None in position or line != end_line:
            return None
        text = linecache.cache[tb.tb_frame.f_code.co_filename][2][line - 1].encode()
        return text[start:end].decode()

    def look_up(node, frame):
        """Evaluates an expression of names and constant subscripts without calling code of the program."""
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
        """Describes the container in which a key or an index is missing."""
        node = compile(failing_source(tb).strip(), _MAIN_FILE, 'eval', ONLY_AST).body
        if type(node) is not _ast.Subscript:
            return {}
        container = look_up(node.value, tb.tb_frame)
        kind = type(container)
        if kind not in (dict, list, tuple, str):
            return {'container': type_name(container)}
        details = {'container': kind.__name__, 'length': len(container)}
        if kind is dict:
            details['available'] = [describe_key(key) for _, key in zip(range(AVAILABLE_LIMIT), container)]
        return details

    def describe_details(error, tb, last):
        """The details of an exception beyond type and message, by the built-in class from which it derives."""
        details = {}
        if isinstance(error, SyntaxError) and error.filename == current['file']:
            details['line'] = int32_or_none(error.lineno)
            details['column'] = int32_or_none(error.offset)
        elif isinstance(error, OSError):
            details['errno'] = int32_or_none(error.errno)
            if error.filename is not None:
                details['path'] = text_of(error.filename)
                if not details['path'].startswith('/'):
                    details['cwd'] = short(os.getcwd())
            if error.filename2 is not None:
                details['path2'] = text_of(error.filename2)
        elif isinstance(error, ImportError):
            details['name'] = short(str(error.name)) if error.name is not None else None
            details['attribute'] = short(str(error.name_from)) if error.name_from is not None else None
            details['on_path'] = _SITE_PACKAGES in sys.path
        elif isinstance(error, (NameError, AttributeError)):
            details['name'] = short(str(error.name)) if error.name is not None else None
            if isinstance(error, AttributeError) and error.name is not None:
                details['container'] = short(type(error.obj).__name__)
                if type(error.obj) is type(sys):
                    details['module_name'] = short(str(error.obj.__name__))
            if error.name is not None:
                details['suggestion'] = traceback._compute_suggestion_error(error, tb, error.name)
        elif isinstance(error, (KeyError, IndexError)):
            if isinstance(error, KeyError) and len(error.args) == 1:
                details['key'] = describe_key(error.args[0])
            if last is not None and last.tb_frame.f_code.co_filename in program_files:
                details.update(describe_container(last))
        elif isinstance(error, UnicodeError) and hasattr(error, 'encoding'):
            details['name'] = short(str(error.encoding))
            details['position'] = error.start
        elif type(error).__module__ == 'json.decoder' and type(error.doc) is str and type(error.pos) is int:
            details['position'] = error.pos
            details['length'] = len(error.doc)
            details['near'] = error.doc[max(0, error.pos - NEAR_LIMIT) : error.pos + NEAR_LIMIT]
        return {name: value for name, value in details.items() if value is not None}

    def describe_error(error, tb):
        line = other = last = None
        step = tb
        while step is not None:
            file = step.tb_frame.f_code.co_filename
            if file == current['file']:
                line = step.tb_lineno
            elif file in program_files:
                other = file, step.tb_lineno
            last = step
            step = step.tb_next
        kind = type(error)
        details = {'type': type_name(error), 'line': line, 'message': text_of(error)}
        if line is None and other is not None:
            # The exception was raised in a function that an earlier call of the session defined.
            details['file'], details['line'] = other
        try:
            details['module'] = short(str(kind.__module__))
            details['kind'] = next(base.__name__ for base in kind.__mro__ if BUILTINS.get(base.__name__) is base)
            if last is not None and last.tb_frame.f_code.co_filename in program_files:
                details['raised'] = last.tb_frame.f_code.co_code[last.tb_lasti] == RAISE
            details.update(describe_details(error, tb, last))
        except BaseException:
            # Code of the program may run here and fail. The details found so far are kept.
            pass
        return details

    def exit_status(error):
        """Returns the exit code for a SystemExit, and prints its message as the interpreter does."""
        status = error.code
        if status is None:
            return 0
        if isinstance(status, int):
            return low_bits(status, 0xFF)
        print(status, file=sys.stderr)
        return 1

    def shorten(tb):
        """Removes the middle of a long traceback."""
        frames = []
        while tb is not None:
            frames.append(tb)
            tb = tb.tb_next
        if len(frames) > 2 * TRACEBACK_ENDS:
            print(f'({len(frames) - 2 * TRACEBACK_ENDS} frames in the middle are omitted)', file=sys.stderr)
            frames[TRACEBACK_ENDS - 1].tb_next = frames[-TRACEBACK_ENDS]

    def show(error, tb):
        # The interpreter prints the traceback of the exception, which must not contain frames of this module.
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

    def run_and_record(report, action):
        """Runs a part of the program. A failure becomes part of the report."""
        try:
            report.update(action() or {})
        except SystemExit as error:
            report['exit_code'] = exit_status(error)
            handled = error.__context__
            if report['exit_code'] != 0 and isinstance(handled, Exception):
                # Many programs end with `except ...: sys.exit(1)`. The cause is the exception that they were handling.
                report['exit_cause'] = describe_error(handled, program_traceback(handled))
        except BaseException as error:
            tb = program_traceback(error)
            report['exit_code'] = 1
            report['error'] = describe_error(error, tb)
            show(error, tb)

    # Random generators in the image.
    seeded = []

    def reseed():
        """Reseeds the random generators of the image, so that they differ from guest to guest."""
        while seeded:
            seeded.pop().seed()

    def prepare(request):
        """Prepares a program. The host starts to count fuel afterwards."""
        current.clear()
        current.update(decode(request.decode()))
        call = current['call']
        if call == 1:
            reseed()
        os.environ.update(current['env'])
        if not current['inject_setup']:
            removed_paths.extend(path for path in SETUP_PATHS if path in sys.path)
            sys.path[:] = [path for path in sys.path if path not in SETUP_PATHS]
        elif removed_paths:
            sys.path.extend(removed_paths)
            removed_paths.clear()
        source = current['code']
        file = _MAIN_FILE if call == 1 else _CALL_FILE.format(call)
        current['file'] = file
        program_files.add(file)
        lines = [line + '\n' for line in source.split('\n')]
        linecache.cache[file] = (len(source), None, lines, file)
        sys.modules['__main__'].__dict__['__file__'] = file

    def run():
        report = {'exit_code': 0}
        try:
            run_and_record(report, lambda: execute(current['code'], current['file'], sys.modules['__main__'].__dict__))
            if not current['keep']:
                run_and_record(report, atexit._run_exitfuncs)
            flush()
        except BaseException as error:
            # A limit was reached in this module, after the program.
            report['exit_code'] = 1
            report.setdefault('error', {'type': type_name(error), 'message': '', 'line': None})
        try:
            return encode(report).encode()
        except BaseException:
            # The program manipulated the report, or a limit was reached while it was encoded.
            return b'{"exit_code":1}'

    def variables(max_count):
        """The program's variables with their types and short representations."""
        found = []
        for name, value in list(sys.modules['__main__'].__dict__.items()):
            if name.startswith('__') or type(value) is type(sys) or len(found) >= max_count:
                continue
            try:
                shown = brief.repr(value)
            except BaseException as error:
                shown = f'<{type(error).__name__} in repr>'
            found.append({'name': name, 'type': type(value).__name__[:200], 'repr': shown[:200]})
        return found

    def load(modules):
        for name in modules:
            try:
                __import__(name)
            except BaseException as error:
                return {'error': {'module': name, 'message': truncate(f'{type(error).__name__}: {error}')}}
        return {}

    def prepare_image():
        """Prepares the interpreter to be saved as an image."""
        if 'random' in sys.modules:
            from random import Random, SystemRandom

            generators = [one for one in gc.get_objects() if isinstance(one, Random) and not isinstance(one, SystemRandom)]
            seeded.extend(generators)
        # Guests that start from the image have other workspaces.
        sys.path_importer_cache.pop('/app', None)
        linecache.clearcache()
        gc.collect()
        # Exclude the objects of the image from garbage collection: visiting them would cost every run fuel and dirty pages.
        gc.freeze()

    def preload(request):
        """Imports modules before the guest is saved as an image."""
        request = decode(request.decode())
        if request['packages']:
            sys.path.insert(2, USER_PACKAGES)
            imports.track_folder(USER_PACKAGES)
        report = load(request['modules'])
        prepare_image()
        return encode(report).encode()

    USER_PACKAGES = '/data/packages'
    SETUP_PATHS = (USER_PACKAGES, _SITE_PACKAGES)
    # Paths that a call without setup removed from sys.path.
    removed_paths = []
    sys.path[:] = ['/app', '/lib/python3.14', _SITE_PACKAGES]
    sys.argv[:] = [_MAIN_FILE]
    for stream in (sys.stdout, sys.stderr):
        # Line buffering: output is delivered immediately and is not lost if the guest is stopped.
        stream.reconfigure(line_buffering=True, errors='backslashreplace')

    # Imports the modules that formatting the first traceback needs.
    try:
        raise ValueError('boot')
    except ValueError as error:
        ''.join(traceback.format_exception(error))

    for name in WARM_MODULES:
        __import__(name)
    imports.track_folder(_SITE_PACKAGES)
    imports.install()
    prepare_image()
    return prepare, run, preload, limit_text, variables


prepare, run, preload, limit_text, variables = _define_entry_points()
