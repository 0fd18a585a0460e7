"""The guest side of the Python runtime. It runs once, when the boot image is built, and defines the functions that the host calls.

For every program the host calls `prepare(request)` with JSON and then `run()`, which returns JSON. Programs run in `__main__`, not in this
module. They can patch or delete anything, but only in their own copy of the memory.
"""

import builtins
import sys

# A private copy of the built-ins, so that the report works even if a program deletes or patches them.
__builtins__ = dict(vars(builtins))

# Files of this runtime whose frames are left out of tracebacks.
_OWN_FILES = tuple(f'/lib/python3.14/_sandbox_{name}.py' for name in ('threads', 'pip', 'notebook', 'network', 'processes'))
_TOOL_FILES = ('/lib/python3.14/_sandbox_tools.py', '/lib/python3.14/_sandbox_tool_calls.py')
_ARGPARSE_FILE = '/lib/python3.14/argparse.py'
_SITE_PACKAGES = '/data/site-packages'

# Imported into the boot image, because programs use them often. Each one makes the image larger.
WARM_MODULES = (
    'asyncio', 'base64', 'bisect', 'csv', 'datetime', 'decimal', 'hashlib', 'heapq', 'math', 'pathlib', 'random', 'statistics',
    'string', 'struct', 'typing',
)  # fmt: skip


def _define_entry_points():
    # Before subprocess, which other modules import.
    import _sandbox_processes as processes

    processes.install()
    # Before modules that are based on `_thread`.
    import _sandbox_threads as threads

    threads.install()
    import _ast
    import atexit
    import gc
    import linecache
    import os
    import reprlib
    import signal
    import traceback
    import _sandbox_display
    import _sandbox_imports as imports
    import _sandbox_local_time as local_time
    import _sandbox_pip as pip
    import _sandbox_report
    from json import JSONDecoder

    local_time.install()
    decode = JSONDecoder().decode
    ALLOW_AWAIT = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    ONLY_AST = _ast.PyCF_ONLY_AST
    CO_COROUTINE = 0x80
    # The bits of co_flags that `from __future__` sets. compile() accepts them as flags.
    FUTURE_FLAGS = 0x1FE0000
    # Frames at each end of a traceback that are shown. The middle of a longer one is omitted, because formatting it is expensive.
    TRACEBACK_ENDS = 25
    # Frames at each end that are examined. With a higher recursion limit, a traceback can have millions of them.
    EXAMINED_ENDS = 500
    # Lines with commands in a program.
    MAX_COMMANDS = 100
    # Taken from the base type, because subclasses can override them.
    low_bits = int.__and__
    bit_length = int.bit_length

    brief = reprlib.Repr(maxstring=100, maxother=100, maxlong=60)

    # The host signals a limit, and the handler raises one of these exceptions on the current line. They derive from
    # BaseException, so `except Exception` does not catch them. A program that catches them still ends after a short grace.
    limits = {
        number: type(name, (BaseException,), {'__module__': 'builtins'})
        for number, name in {60: 'OutOfFuel', 61: 'Timeout', 62: 'Cancelled'}.items()
    }
    limit_types = threads.limit_types = tuple(limits.values())
    limit_names = {kind.__name__ for kind in limit_types}
    # The host stores the message of the limit here before it raises the signal.
    limit_text = bytearray(200)
    current = {}
    # File names of all programs of this interpreter.
    program_files = set()
    show_main = _sandbox_display.show_main
    install_display = _sandbox_display.install
    report_functions = _sandbox_report.define(current, program_files)
    describe_result, describe_error, describe_place, encode, truncate, type_name = report_functions

    def on_limit(number, frame):
        raise limits[number](limit_text.rstrip(b'\0').decode())

    def on_endless_wait(number, frame):
        raise RuntimeError(threads.NO_THREADS)

    handlers = on_limit.__code__, on_endless_wait.__code__
    for number in limits:
        signal.signal(number, on_limit)
    signal.signal(63, on_endless_wait)

    def parse(source, file):
        """The tree of a program, and its source without the lines of notebooks."""
        for _ in range(MAX_COMMANDS):
            try:
                return compile(source, file, 'exec', ONLY_AST | ALLOW_AWAIT, True), source
            except SyntaxError as error:
                changed = pip.without_command(source, error, file)
                if changed is None:
                    from _sandbox_notebook import replaced

                    changed = replaced(source, error, file)
                if changed is None:
                    raise
                source = changed
        return compile(source, file, 'exec', ONLY_AST | ALLOW_AWAIT, True), source

    def has_semicolon(source, node):
        """Whether a semicolon follows a statement. As in notebooks, the value of the last expression is then not a result."""
        line = ''.join(source.split('\n')[node.end_lineno - 1 : node.end_lineno])
        return line.encode()[node.end_col_offset :].lstrip().startswith(b';')

    def compile_main(source, file, tools):
        """Compiles a program to code objects: its statements and, if it ends with an expression, that expression."""
        tree, source = parse(source, file)
        if tools is not None:
            tree = tools.transform(tree)
        end = tree.body[-1] if tree.body else None
        last = tree.body.pop().value if type(end) is _ast.Expr and not has_semicolon(source, end) else None
        codes = [compile(tree, file, 'exec', ALLOW_AWAIT, True)]
        if last is not None:
            flags = ALLOW_AWAIT | (codes[0].co_flags & FUTURE_FLAGS)
            codes.append(compile(_ast.Expression(last), file, 'eval', flags, True))
        return codes

    def execute(source, file, namespace, tools=None):
        codes = compile_main(source, file, tools)
        current['compiled'] = codes[0]
        imports.record_loaded(codes[0])
        if tools is not None:
            return execute_with_tools(tools, codes, namespace)
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
        return {} if len(codes) == 1 or value is None else show_result(value)

    def show_result(value):
        described = describe_result(value)
        try:
            show_main(value, described.get('result_text') or described['result'])
        except Exception:
            # The result is shown as text.
            pass
        return described

    def execute_with_tools(tools, codes, namespace):
        current['has_result'] = len(codes) > 1
        if not any(code.co_flags & CO_COROUTINE for code in codes):
            for code in codes:
                value = eval(code, namespace)
            return result_with_tools(tools, value)

        async def main():
            for code in codes:
                value = eval(code, namespace)
                if code.co_flags & CO_COROUTINE:
                    value = await value
            return value

        return result_with_tools(tools, tools.run(main()))

    def result_with_tools(tools, value):
        if tools.is_paused():
            return {}
        tools.check_awaited()
        return show_result(value) if current['has_result'] and value is not None else {}

    def resume():
        """Continues a program that is paused."""
        tools = current['tools']
        return run(lambda: result_with_tools(tools, tools.drive()))

    def without_files(tb, files):
        """Removes the frames of files of the runtime from a traceback."""
        while tb is not None:
            while tb.tb_next is not None and tb.tb_next.tb_frame.f_code.co_filename in files:
                tb.tb_next = tb.tb_next.tb_next
            tb = tb.tb_next

    def program_traceback(error):
        """The traceback from the first frame of the program on, without the signal handler that raised the exception."""
        start = tb = error.__traceback__
        if isinstance(error, (*limit_types, RuntimeError)):
            while tb.tb_next is not None:
                if tb.tb_next.tb_frame.f_code in handlers:
                    tb.tb_next = None
                    break
                tb = tb.tb_next
            tb = start
        imports.remove_wrapper(start)
        without_files(start, _OWN_FILES)
        if 'tools' in current:
            without_files(start, _TOOL_FILES)
        while tb is not None:
            if tb.tb_frame.f_code.co_filename in program_files:
                return tb
            tb = tb.tb_next
        # The program did not compile, or it has ended. The frames of this module would not help.
        while start is not None and start.tb_frame.f_code.co_filename == on_limit.__code__.co_filename:
            start = start.tb_next
        return None if isinstance(error, SyntaxError) or 'tools' in current else start

    def exit_status(error):
        """Returns the exit code for a SystemExit, and prints its message as the interpreter does."""
        status = error.code
        if status is None:
            return 0
        if isinstance(status, int):
            return low_bits(status, 0xFF) if bit_length(status) < 64 else 0xFF
        print(status, file=sys.stderr)
        return 1

    def rejected_arguments(error):
        """The error for which argparse ended the program; None if something else ended it."""
        tb = error.__traceback__
        while tb is not None:
            code = tb.tb_frame.f_code
            if code.co_name == 'error' and code.co_filename == _ARGPARSE_FILE:
                message = tb.tb_frame.f_locals.get('message')
                details = describe_error(error, program_traceback(error))
                return {**details, 'type': 'ArgumentError', 'module': 'argparse', 'message': truncate(str(message))}
            tb = tb.tb_next
        return None

    def shorten(tb, ends):
        """Removes the middle of a traceback, so that `ends` frames remain at each end. Returns the number of removed frames."""
        last = step = tb
        count = 0
        while step is not None:
            count += 1
            step = step.tb_next
            if count > ends:
                last = last.tb_next
        if count <= 2 * ends:
            return 0
        for _ in range(ends - 1):
            tb = tb.tb_next
        tb.tb_next = last
        return count - 2 * ends

    def show(error, tb, omitted):
        # The interpreter prints the traceback of the exception, which must not contain frames of this module.
        error.__traceback__ = tb
        try:
            omitted += shorten(tb, TRACEBACK_ENDS)
            if omitted > 0:
                print(f'(frames omitted in the middle: {omitted})', file=sys.stderr)
            sys.excepthook(type(error), error, tb)
        except BaseException:
            traceback.print_exception(type(error), error, tb, file=sys.__stderr__)

    def flush():
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    def place_of(tb):
        try:
            return describe_place(tb)
        except BaseException:
            # The program manipulated the interpreter, or a limit was reached.
            return None

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
            elif report['exit_code'] != 0:
                report['exit_cause'] = rejected_arguments(error)
        except BaseException as error:
            if isinstance(error, ImportError) and current['inject_setup']:
                pip.find_missing_module(error)
            omitted = shorten(error.__traceback__, EXAMINED_ENDS)
            tb = program_traceback(error)
            report['exit_code'] = 1
            report['error'] = describe_error(error, tb)
            if type(error) not in limit_types:
                # For a limit, the host has already read the variables.
                report['stopped_at'] = place_of(tb)
            show(error, tb, omitted)

    # Random generators in the image.
    seeded = []

    def reseed():
        """Reseeds the random generators of the image, so that they differ from guest to guest."""
        while seeded:
            seeded.pop().seed()

    # Names in the folder of the added packages.
    known_packages = []
    list_folder = os.listdir

    def find_packages():
        """Makes packages importable that were added since the last call."""
        try:
            names = list_folder(USER_PACKAGES)
        except OSError:
            return
        if names == known_packages:
            return
        known_packages[:] = names
        imports.track(names)
        sys.path_importer_cache.pop(USER_PACKAGES, None)
        if 'matplotlib' in names:
            # No window, and no cache of fonts in the workspace.
            os.environ.setdefault('MPLBACKEND', 'agg')
            os.environ.setdefault('MPLCONFIGDIR', '/tmp/.matplotlib')

    def prepare(request):
        """Prepares a program. What earlier programs of the session have changed can fail here; `run` then raises the exception."""
        try:
            prepare_program(request)
        except BaseException as error:
            current['failure'] = error

    def enter_folder():
        """Programs that start in a folder of the workspace can import its modules."""
        folder = os.getcwd()
        if folder != '/app' and folder != os.path.realpath('/app'):
            sys.path.insert(0, folder)

    def prepare_program(request):
        current.clear()
        current.update(decode(request.decode()))
        if current['call'] == 1:
            reseed()
            enter_folder()
        os.environ.update(current['env'])
        local_time.follow(current['env'])
        find_packages()
        threads.is_used = False
        file = current['file']
        sys.argv = [file, *current['args']]
        if not current['inject_setup']:
            install_display(False)
            removed_paths.extend(path for path in SETUP_PATHS if path in sys.path)
            sys.path[:] = [path for path in sys.path if path not in SETUP_PATHS]
        elif removed_paths:
            install_display(True)
            sys.path.extend(removed_paths)
            removed_paths.clear()
        source = current['code']
        program_files.add(file)
        lines = [line + '\n' for line in source.removesuffix('\n').split('\n')]
        linecache.cache[file] = (len(source), None, lines, file)
        if 'is_cell' in current:
            sys.modules['__main__'].__dict__.pop('__file__', None)
        else:
            sys.modules['__main__'].__dict__['__file__'] = file
        has_network = 'network' in current
        if has_network or '_sandbox_network' in sys.modules:
            imports.set_network(has_network)
        if has_network or 'tools' in current:
            tool_module.begin(current.get('tools'))
            current['tools'] = tool_module
        else:
            tool_module.end()

    def run_program():
        failure = current.pop('failure', None)
        if isinstance(failure, SystemExit):
            raise RuntimeError('the program was not started: code of an earlier call exited while it was prepared') from failure
        if failure is not None:
            raise failure
        return execute(current['code'], current['file'], sys.modules['__main__'].__dict__, current.get('tools'))

    def is_limited(report):
        return 'error' in report and report['error']['type'] in limit_names

    def is_stopped(report):
        return is_limited(report) or ('tools' in current and current['tools'].is_paused())

    def finish_threads(report):
        if is_limited(report):
            threads.abandon()
        elif not is_stopped(report):
            run_and_record(report, lambda: threads.finish(current['keep'], 'error' in report))

    def show_figures(report):
        """Displays the figures that are open at the end of a program, also of one that failed. Figures of a paused program stay open."""
        if is_stopped(report) or not current['inject_setup'] or processes.is_child:
            return
        try:
            sys.modules['_sandbox_matplotlib'].show_open()
        except Exception as error:
            print(f'display: a figure cannot be drawn: {type_name(error)}: {truncate(str(error))}', file=sys.stderr)

    def run_cell(action):
        """Runs a program, and ends what the first line of a notebook cell has begun."""
        try:
            return action()
        finally:
            notebook = sys.modules.get('_sandbox_notebook')
            if notebook is not None and not ('tools' in current and current['tools'].is_paused()):
                notebook.end_cell()

    def run(action=run_program):
        report = {'exit_code': 0}
        try:
            run_and_record(report, lambda: run_cell(action))
            if threads.is_used:
                report['uses_threads'] = True
            numpy = sys.modules.get('_sandbox_numpy')
            if numpy is not None and numpy.take_asked():
                report['asks_float_errors'] = True
            if threads.has_others():
                finish_threads(report)
            if sys.modules.get('_sandbox_matplotlib') is not None:
                show_figures(report)
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
        if 'numpy.random.mtrand' in sys.modules:
            seeded.append(sys.modules['numpy.random.mtrand']._rand)
        # Guests that start from the image have other workspaces.
        sys.path_importer_cache.pop('/app', None)
        linecache.clearcache()
        gc.collect()
        # Exclude the objects of the image from garbage collection: visiting them would cost every run fuel and dirty pages.
        gc.freeze()

    def preload(request):
        """Imports modules before the guest is saved as an image."""
        find_packages()
        report = load(decode(request.decode())['modules'])
        prepare_image()
        return encode(report).encode()

    USER_PACKAGES = '/data/packages'
    SETUP_PATHS = (USER_PACKAGES, _SITE_PACKAGES)
    # Paths that a call without setup removed from sys.path.
    removed_paths = []
    sys.path[:] = ['/app', '/lib/python3.14', USER_PACKAGES, _SITE_PACKAGES]
    sys.argv[:] = ['/app/main.py']
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
    # A program can remove the module from sys.modules.
    tool_module = __import__('_sandbox_tools')
    hashlib = sys.modules['hashlib']
    hashlib.pbkdf2_hmac = __import__('_sandbox_pbkdf2').pbkdf2_hmac
    hashlib.__builtin_constructor_cache['ripemd160'] = lambda *args, **named: __import__('_sandbox_ripemd160').ripemd160(*args, **named)
    hashlib.algorithms_available.add('ripemd160')
    imports.track(os.listdir(_SITE_PACKAGES))
    imports.install()
    install_display(True)
    processes.install_wait()
    pip.define_commands()
    prepare_image()
    return prepare, run, resume, preload, limit_text, variables, execute


prepare, run, resume, preload, limit_text, variables, execute = _define_entry_points()
