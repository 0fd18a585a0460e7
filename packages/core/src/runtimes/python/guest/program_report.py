"""Describes the outcome of a program for the host: its result, as data if possible, or its error.

The values are under the control of the program, so every step is bounded and may fail.
"""

import builtins
import sys

# A private copy of the built-ins, so that the report works even if a program deletes or patches them.
__builtins__ = dict(vars(builtins))

_SITE_PACKAGES = '/data/site-packages'


def define(current, program_files):
    """Defines the functions of the report. `current` is the request of the running program."""
    import _ast
    import linecache
    import opcode
    import os
    import traceback
    from _sandbox_imports import missing_modules
    from _json import encode_basestring_ascii as quote

    # Limits for values, messages and names. The host enforces its own; these avoid unnecessary work.
    TEXT_LIMIT = 20_000
    NAME_LIMIT = 190
    RESULT_ITEMS = 2_000
    RESULT_CHARACTERS = 50_000
    RESULT_DEPTH = 20
    # Limits for the details of an error: characters around a position, and keys of a dict.
    NEAR_LIMIT = 30
    INNER_LIMIT = 3
    INNER_CHARACTERS = 150
    AVAILABLE_LIMIT = 20
    # Limits for the variables of a frame.
    SHOWN_NAMES = 20
    SHOWN_ITEMS = 6
    SHOWN_CHARACTERS = 120
    SHOWN_BITS = 300
    FRAME_LOCALS = type((lambda: sys._getframe().f_locals)())
    # Objects that are not data of the program.
    NOT_DATA = (type(sys), type(define), type(len), type(abs))
    RAISE = opcode.opmap['RAISE_VARARGS']
    BUILTINS = dict(vars(builtins))
    # Taken from the base types, because metaclasses and subclasses can override them.
    name_of_type = type.__dict__['__name__'].__get__
    part_of_text = str.__getitem__

    class NotJsonData(Exception):
        pass

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
            is_data = False
        else:
            is_data = True
        # Not in the handler above: an exception of the program's code would refer to the one that is handled there.
        if not is_data:
            return {'result': truncate(repr(value)), 'result_type': type_name(value)}
        described = {'result': shown, 'result_type': type_name(value)}
        if type(value) is not int:
            # The host writes an int in the same way.
            described['result_text'] = truncate(repr(value))
        return described

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
        node = compile(failing_source(tb).strip(), current['file'], 'eval', _ast.PyCF_ONLY_AST).body
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

    def describe_labels(tb):
        """Describes the columns or the index of pandas in which a label is missing."""
        table = searched = None
        while tb is not None:
            frame = tb.tb_frame
            if frame.f_globals.get('__name__', '').startswith('pandas.'):
                value = frame.f_locals.get('self')
                if type(value).__name__ == 'DataFrameGroupBy':
                    value = value.__dict__.get('obj')
                if type(value).__name__ == 'DataFrame':
                    table = value
                elif hasattr(type(value), 'get_loc'):
                    searched = value
            tb = tb.tb_next
        labels = table.columns if searched is None else searched
        container = 'Index' if table is None or labels is not table.columns else 'DataFrame'
        shown = [short(repr(label)) for label in labels[:AVAILABLE_LIMIT].tolist()]
        return {'container': container, 'length': len(labels), 'available': shown}

    def describe_details(error, tb, last):
        """The details of an exception beyond type and message, by the built-in class from which it derives."""
        details = {}
        calls = sys.modules.get('_sandbox_tool_calls')
        if calls is not None and isinstance(error, calls.ToolError):
            details['code'] = short(str(error.code))
            details['tool'] = short(str(error.tool)) if error.tool is not None else None
        elif isinstance(error, SyntaxError) and error.filename == current['file']:
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
            if type(error) is ModuleNotFoundError and 'compiled' in current:
                details['missing'] = [short(name) for name in missing_modules(current['compiled'])]
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
            elif 'pandas' in sys.modules:
                details.update(describe_labels(tb))
        elif isinstance(error, BaseExceptionGroup):
            details['available'] = [describe_inner(inner) for inner in error.exceptions[:INNER_LIMIT]]
            details['length'] = len(error.exceptions)
        elif isinstance(error, UnicodeError) and hasattr(error, 'encoding'):
            details['name'] = short(str(error.encoding))
            details['position'] = error.start
        elif type(error).__module__ == 'json.decoder' and type(error.doc) is str and type(error.pos) is int:
            details['position'] = error.pos
            details['length'] = len(error.doc)
            details['near'] = error.doc[max(0, error.pos - NEAR_LIMIT) : error.pos + NEAR_LIMIT]
        return {name: value for name, value in details.items() if value is not None}

    def describe_inner(error):
        line = None
        tb = error.__traceback__
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == current['file']:
                line = tb.tb_lineno
            tb = tb.tb_next
        text = f'{type_name(error)}: {text_of(error)}'
        return short(text if line is None else f'{text[:INNER_CHARACTERS]} (line {line})')

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

    def count(value):
        return f'{len(value)} item' if len(value) == 1 else f'{len(value)} items'

    def show(value, depth=0):
        """A short text of a value. Only the exact built-in types are read, so no code of the program runs."""
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return repr(value)
        if kind is int:
            bits = value.bit_length()
            return repr(value) if bits <= SHOWN_BITS else f'<int, about 10**{bits * 3 // 10}>'
        if kind is str:
            shown = repr(value[:SHOWN_CHARACTERS])
            return shown if len(value) <= SHOWN_CHARACTERS else f'{shown}… ({len(value)} characters)'
        if kind is bytes or kind is bytearray:
            return f'<{kind.__name__}, {len(value)} byte{"" if len(value) == 1 else "s"}>'
        if kind is set or kind is frozenset:
            return f'<{kind.__name__}, {count(value)}>'
        if kind is list or kind is tuple or kind is dict:
            opening, closing = {list: '[]', tuple: '()', dict: '{}'}[kind]
            if not value or depth > 0:
                return opening + (count(value) if value else '') + closing
            items = [item for _, item in zip(range(SHOWN_ITEMS), value.items() if kind is dict else value)]
            if kind is dict:
                shown = [f'{show(key, 1)}: {show(item, 1)}' for key, item in items]
            else:
                shown = [show(item, 1) for item in items]
            more = f', … {count(value)}' if len(value) > len(shown) else ''
            return opening + ', '.join(shown) + more + closing
        return f'<{type_name(value)}>'

    def is_data(value):
        kind = type(value)
        return kind not in NOT_DATA and not issubclass(kind, type)

    def describe_place(tb):
        """The innermost frame of the program in a traceback, with its variables, those of the line first."""
        place = None
        while tb is not None:
            if tb.tb_frame.f_code.co_filename.startswith('/app/'):
                place = tb
            tb = tb.tb_next
        if place is None:
            return None
        frame, line = place.tb_frame, place.tb_lineno
        code = frame.f_code
        found = {'file': short(code.co_filename), 'line': line, 'function': short(code.co_qualname), 'variables': {}}
        names = frame.f_locals
        if type(names) is not dict and type(names) is not FRAME_LOCALS:
            # A class body can have any mapping as its namespace.
            return found
        lines = linecache.cache[code.co_filename][2] if code.co_filename in program_files else []
        text = ''.join(lines[max(0, line - 2) : line + 1])[:TEXT_LIMIT]
        names = [name for _, name in zip(range(SHOWN_NAMES * 10), names) if type(name) is str and name[:2] != '__']
        names.sort(key=lambda name: name not in text)
        for name in names:
            value = frame.f_locals[name]
            if is_data(value) and len(found['variables']) < SHOWN_NAMES:
                found['variables'][short(name)] = short(show(value))
        return found

    return describe_result, describe_error, describe_place, encode, truncate, type_name
