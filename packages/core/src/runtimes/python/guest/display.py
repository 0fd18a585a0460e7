"""What a program displays: `display`, and the value of its last expression. A value becomes a bundle of forms by MIME type, which
is written to /dev/results as one message: JSON, and for an image NUL and its bytes. The host checks and limits everything.
"""

import builtins
import posix
import sys
from json import JSONEncoder

_DEVICE = '/dev/results'
_IN_PROCESS = 'display: a process cannot show results; write a file, such as plot.png, and show it with the command: display plot.png'
# Limits that avoid unnecessary work. The host enforces its own.
_TEXT_LIMIT = 20_000
_TABLE_ROWS = 1000
_TABLE_COLUMNS = 100
_CELL_LIMIT = 1000

_METHODS = (
    ('_repr_html_', 'text/html'),
    ('_repr_markdown_', 'text/markdown'),
    ('_repr_svg_', 'image/svg+xml'),
    ('_repr_png_', 'image/png'),
    ('_repr_jpeg_', 'image/jpeg'),
    ('_repr_latex_', 'text/latex'),
    ('_repr_json_', 'application/json'),
)
# The data of a chart: type, title, labels and elements, with the names of E2B.
CHART_MIME = 'e2b/chart'
_IMAGES = ('image/png', 'image/jpeg', 'image/gif', 'image/webp')
# Types that are shown only as text.
_PLAIN = frozenset((str, int, float, bool, complex, bytes, type(None)))

_encode = JSONEncoder(allow_nan=False, default=str).encode


def _finite(value):
    """Replaces numbers that JSON does not have."""
    if isinstance(value, float):
        return value if value - value == 0.0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _send(message, image=None):
    try:
        text = _encode(message)
    except ValueError:
        text = _encode(_finite(message))
    data = text.encode()
    if image is not None:
        data += b'\0' + image
    try:
        descriptor = posix.open(_DEVICE, posix.O_WRONLY)
    except FileNotFoundError:
        print(_IN_PROCESS, file=sys.stderr)
        return
    try:
        posix.write(descriptor, data)
    except OSError as error:
        if error.errno == 22:
            raise ValueError('display: the value is larger than 8 MiB. Write it to a file instead.') from None
        if error.errno == 28:
            raise ValueError('display: the value has no form that can be shown.') from None
        if error.errno == 1:
            raise ValueError('display: the value has more than 400,000 elements, or is nested more than 100 levels deep. '
                             'Sample or aggregate it, or write it to a file.') from None
        raise
    finally:
        posix.close(descriptor)


def _truncate(text):
    return text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + '…'


def _cell(value):
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -(2**53) < value < 2**53 else str(value)[:_CELL_LIMIT]
    if kind is float:
        return value if value - value == 0.0 else None
    if kind is str:
        return value[:_CELL_LIMIT]
    if kind.__module__ == 'numpy' and hasattr(kind, 'item'):
        return _cell(value.item())
    # Missing values of pandas.
    if kind.__name__ in ('NAType', 'NaTType'):
        return None
    return str(value)[:_CELL_LIMIT]


def _frame_table(frame):
    """The table of a DataFrame. The index of pandas is its first column, unless it only numbers the rows."""
    total = len(frame)
    frame = frame.head(_TABLE_ROWS)
    if not hasattr(frame, 'iloc'):
        return list(frame.columns), frame.rows(), total
    names = [_column_name(name) for name in frame.columns]
    # By column, because a row would have one type for all its values.
    columns = [frame.iloc[:, place].tolist() for place in range(min(len(names), _TABLE_COLUMNS))]
    index = frame.index
    if type(index).__name__ != 'RangeIndex':
        levels = range(index.nlevels)
        names = [_column_name(name, 'index') for name in index.names] + names
        columns = [index.get_level_values(level).tolist() for level in levels] + columns
    return names, list(zip(*columns)), total


def _column_name(name, default='None'):
    """The name of a column as text. Names of several levels are joined."""
    if isinstance(name, tuple):
        return ' '.join(str(part) for part in name if part != '')
    return default if name is None else str(name)


def _record_table(records, names, get):
    """A table of records. Its columns are the names of all records, in the order in which they first occur."""
    columns = {}
    for record in records[:_TABLE_ROWS]:
        for name in names(record):
            if name not in columns:
                if type(name) is not str or len(columns) >= _TABLE_COLUMNS:
                    return None
                columns[name] = None
    rows = [[get(record, name) for name in columns] for record in records[:_TABLE_ROWS]]
    return list(columns), rows, len(records)


def _table(value):
    """The columns, rows and number of rows of a value that is a table, or None."""
    kind = type(value)
    package = kind.__module__.partition('.')[0]
    if package in ('pandas', 'polars') and kind.__name__ in ('DataFrame', 'Series'):
        return _frame_table(value if kind.__name__ == 'DataFrame' else value.to_frame())
    if kind.__name__ == 'Cursor' and kind.__module__ == 'sqlite3' and value.description:
        rows = value.fetchmany(_TABLE_ROWS)
        total = len(rows)
        if total == _TABLE_ROWS:
            total += sum(1 for _ in value)
        return [column[0] for column in value.description], rows, total
    if kind is not list or not value:
        return None
    first = type(value[0])
    if any(type(item) is not first for item in value[:_TABLE_ROWS]):
        return None
    if first is dict:
        return _record_table(value, dict.keys, dict.get) if value[0] else None
    if first.__name__ == 'Row' and first.__module__ == 'sqlite3':
        return list(value[0].keys()), value[:_TABLE_ROWS], len(value)
    fields = getattr(first, '_fields', None)
    if issubclass(first, tuple) and fields:
        return list(fields), value[:_TABLE_ROWS], len(value)
    fields = getattr(first, '__dataclass_fields__', None)
    if fields:
        return _record_table(value, lambda record: fields, getattr)
    return None


def _call(value, name, **options):
    """Calls a display method of the type. A failure is reported, and the other forms are still shown."""
    method = getattr(type(value), name, None)
    if method is None:
        return None
    try:
        return method(value, **options)
    except NotImplementedError:
        return None
    except Exception as error:
        print(f'display: {name} of {type(value).__name__} failed: {type(error).__name__}: {error}', file=sys.stderr)
        return None


def _forms(value):
    """The rich forms of a value by MIME type; empty if it has none."""
    if isinstance(value, type):
        return {}
    if type(value) is dict:
        schema = value.get('$schema')
        if type(schema) is str and '/vega' in schema:
            return {'application/vnd.vegalite.v6+json': value}
        return {}
    forms = {}
    bundle = _call(value, '_repr_mimebundle_', include=None, exclude=None)
    if isinstance(bundle, tuple):
        bundle = bundle[0]
    if isinstance(bundle, dict):
        forms.update(bundle)
    for name, mime in _METHODS:
        if mime in forms:
            continue
        form = _call(value, name)
        # A form can be a pair with metadata.
        if isinstance(form, tuple):
            form = form[0]
        if form is not None:
            forms[mime] = form
    return forms


def _publish(forms, table=None, main=False):
    """Sends the forms. Only the first image is sent, as bytes."""
    message = {'data': forms}
    if main:
        message['main'] = True
    if table is not None:
        columns, rows, total = table
        message['table'] = {
            'columns': columns[:_TABLE_COLUMNS],
            'rows': [[_cell(cell) for cell in row] for row in rows],
            'total': total,
        }
    image = None
    for mime in _IMAGES:
        form = forms.pop(mime, None)
        if form is None or image is not None:
            continue
        if isinstance(form, str):
            from binascii import a2b_base64

            form = a2b_base64(form)
        image = bytes(form)
        message['binary'] = mime
    for mime, form in forms.items():
        if isinstance(form, (bytes, bytearray)):
            forms[mime] = form.decode(errors='replace')
    _send(message, image)


def show_main(value, text):
    """Displays the value of the last expression, if there is more to show than `text`. Returns whether it did."""
    if type(value) in _PLAIN:
        return False
    display_method = getattr(type(value), '_ipython_display_', None)
    if display_method is not None and not isinstance(value, type):
        display_method(value)
        return True
    forms = _forms(value)
    table = None if isinstance(value, type) else _table(value)
    if not forms and table is None:
        return False
    if table is None and type(value) is not dict:
        forms.setdefault('text/plain', text)
    _publish(forms, table, True)
    return True


def display(*objects, mime=None, raw=False, include=None, exclude=None, metadata=None, transient=None, display_id=None, **options):
    """Shows objects: their rich forms (`_repr_html_`, `_repr_png_`, …), tables for lists of records, charts for Vega-Lite
    specifications. With `mime`, the object is text or bytes of this type; with `raw`, it is a dict of forms by MIME type."""
    for value in objects:
        if raw:
            _publish(dict(value))
        elif mime is not None:
            _publish({mime: value})
        elif hasattr(type(value), '_ipython_display_') and not isinstance(value, type):
            value._ipython_display_()
        else:
            forms = _forms(value)
            table = None if isinstance(value, type) else _table(value)
            # Tables and specifications of charts are large as text.
            if not (forms or table) or (table is None and type(value) is not dict and 'text/plain' not in forms):
                forms['text/plain'] = _truncate(repr(value))
            _publish(forms, table)


class _Charts:
    """The functions that create charts: `chart.line(data, x, y, color, title)` and others. Their module is loaded on first use."""

    __slots__ = ()

    def __getattr__(self, kind):
        from _sandbox_chart import KINDS, create

        if kind not in KINDS:
            raise AttributeError(f'chart has no {kind!r}. It has {", ".join(KINDS)}')

        def create_chart(data=None, x=None, y=None, color=None, title=None, **options):
            return create(kind, data, x, y, color, title, **options)

        create_chart.__name__ = create_chart.__qualname__ = kind
        return create_chart

    def __dir__(self):
        from _sandbox_chart import KINDS

        return list(KINDS)

    def __repr__(self):
        return f'<charts: {", ".join(dir(self))}>'


charts = _Charts()
_BUILTINS = {'display': display, 'chart': charts}


def install(wanted):
    """Adds `display` and `chart` to the built-in names, or removes them. Values that a program has put there stay."""
    names = vars(builtins)
    for name, value in _BUILTINS.items():
        if wanted:
            names.setdefault(name, value)
        elif names.get(name) is value:
            del names[name]
