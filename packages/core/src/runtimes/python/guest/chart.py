"""Charts for common cases: `chart.line`, `bar`, `scatter`, `histogram`, `pie` and `heatmap` turn data into Vega-Lite
specifications, which the host draws."""

from datetime import date, datetime, time
from decimal import Decimal

KINDS = ('line', 'bar', 'scatter', 'histogram', 'pie', 'heatmap')
SCHEMA = 'https://vega.github.io/schema/vega-lite/v6.json'
VEGA_LITE_MIME = 'application/vnd.vegalite.v6+json'
# More rows take too long to draw.
MAX_ROWS = 10_000
_MAX_NAMES = 20
# Columns of a histogram; a column of the data can have the same name only by intent.
_END = 'end of interval'
_COUNT = 'number of rows'
# Names that data without names of its own gets. They are not shown.
_UNNAMED = ('x', 'y', 'color')
# Width of a character of a label, in pixels.
_CHARACTER = 6.5


class Chart:
    """A chart. It is displayed as the last expression or with `display(chart)`; `spec` is its Vega-Lite specification."""

    def __init__(self, kind, spec):
        self.kind = kind
        self.spec = spec

    def to_dict(self):
        return self.spec

    def show(self):
        from _sandbox_display import display

        display(self)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {VEGA_LITE_MIME: self.spec, 'text/plain': repr(self)}

    def __repr__(self):
        title, rows = self.spec.get('title'), len(self.spec['data']['values'])
        return f'Chart({self.kind}, {rows} row{"" if rows == 1 else "s"}{f", {title!r}" if title else ""})'


def json_value(value):
    """A value as JSON data."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return value if value - value == 0 else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (date, datetime, time)):
        # A missing value of pandas is a datetime without a year.
        return value.isoformat() if value == value else None
    item = getattr(value, 'item', None)
    if callable(item):
        return json_value(item())
    return str(value)


def _is_sequence(value):
    return not isinstance(value, (str, bytes, dict)) and hasattr(value, '__len__') and hasattr(value, '__iter__')


def _is_scalar(value):
    return not isinstance(value, dict) and not _is_sequence(value)


def _from_columns(columns):
    names = [str(name) for name in columns]
    values = [list(column) for column in columns.values()]
    lengths = {len(column) for column in values}
    if len(lengths) > 1:
        sizes = ', '.join(f'{name}: {len(column)}' for name, column in zip(names, values))
        raise ValueError(f'the columns have different lengths ({sizes})')
    return names, [dict(zip(names, row)) for row in zip(*values)]


def _from_mapping(data):
    values = list(data.values())
    if values and all(_is_sequence(value) for value in values):
        return _from_columns(data)
    return ['x', 'y'], [{'x': key, 'y': value} for key, value in data.items()]


def _from_sequence(items):
    if not items:
        return [], []
    first = items[0]
    if isinstance(first, dict):
        names = {}
        for item in items:
            for name in item:
                names[str(name)] = None
        return list(names), [{str(name): value for name, value in item.items()} for item in items]
    fields = getattr(first, '_fields', None) or getattr(first, '__dataclass_fields__', None)
    if fields:
        names = list(fields)
        return names, [{name: getattr(item, name) for name in names} for item in items]
    keys = getattr(first, 'keys', None)
    if keys is not None:
        names = list(keys())
        return names, [{name: item[name] for name in names} for item in items]
    if _is_scalar(first):
        return ['x', 'y'], [{'x': index, 'y': value} for index, value in enumerate(items)]
    names = ['x', 'y', 'color'][: len(first)]
    if len(first) > 3:
        raise ValueError(f'rows with {len(first)} values have no names. Pass a list of dicts, or a dict of columns')
    return names, [dict(zip(names, item)) for item in items]


def _from_frame(frame):
    index = getattr(frame, 'index', None)
    if index is not None and getattr(index, 'name', None) is not None:
        frame = frame.reset_index()
    if hasattr(frame, 'to_dicts'):
        rows = frame.to_dicts()
    else:
        rows = frame.to_dict('records')
    return [str(name) for name in frame.columns], [{str(name): value for name, value in row.items()} for row in rows]


def _table(data):
    """The names of the columns, and the rows as dicts."""
    if hasattr(data, 'columns') and (hasattr(data, 'to_dict') or hasattr(data, 'to_dicts')):
        return _from_frame(data)
    if isinstance(data, dict):
        return _from_mapping(data)
    if hasattr(data, 'to_dict') and hasattr(data, 'index'):
        return _from_mapping(data.to_dict())
    if hasattr(data, 'tolist'):
        return _from_sequence(data.tolist())
    if hasattr(data, '__iter__') and not isinstance(data, (str, bytes)):
        return _from_sequence(list(data))
    raise TypeError(
        f'expected a list of dicts, a dict of columns, a list of pairs or a DataFrame, not {type(data).__name__}'
    )


def _matrix(data):
    """The cells of a list of rows, or of a DataFrame with numbers only, as records."""
    if hasattr(data, 'iloc') and all(kind.kind in 'iuf' for kind in data.dtypes):
        names = [str(name) for name in data.columns]
        return [
            {'x': name, 'y': str(label), 'color': value}
            for label, row in zip(data.index, data.values.tolist())
            for name, value in zip(names, row)
        ]
    rows = data.tolist() if hasattr(data, 'tolist') else data
    if not isinstance(rows, list) or not rows or not all(isinstance(row, (list, tuple)) for row in rows):
        return data
    return [{'x': x, 'y': y, 'color': value} for y, row in enumerate(rows) for x, value in enumerate(row)]


def _near(name, names):
    from difflib import get_close_matches

    lower = {other.lower(): other for other in names}
    found = get_close_matches(str(name).lower(), lower, 1)
    return lower[found[0]] if found else None


def _check(name, names):
    if name is None or name in names:
        return name
    near = _near(name, names)
    shown = ', '.join(repr(other) for other in names[:_MAX_NAMES]) or 'none'
    raise ValueError(
        f'there is no column {name!r}.{f" Did you mean {near!r}?" if near else ""} The columns are {shown}'
    )


def _check_size(rows):
    if rows > MAX_ROWS:
        raise ValueError(f'the data has {rows:,} rows, and at most {MAX_ROWS:,} are drawn. Sample or aggregate it')


def _type(rows, name):
    """The type of a column in Vega-Lite, from its values."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return 'quantitative'
    if values and all(isinstance(value, str) and _is_date(value) for value in values):
        return 'temporal'
    return 'nominal'


def _is_date(text):
    digits = text[:4].isdigit() and text[4:5] == '-' and text[5:7].isdigit() and len(text) >= 7
    return digits and (len(text) == 7 or (text[7] == '-' and text[8:10].isdigit()))


def channel(rows, name, kind=None, **more):
    # In field names, Vega-Lite gives these characters a meaning.
    field = name.replace('\\', '\\\\').replace('.', '\\.').replace('[', '\\[').replace(']', '\\]')
    title = None if name in _UNNAMED else name
    channel = {'field': field, 'type': kind or _type(rows, name), 'title': title, **more}
    if channel['type'] == 'nominal':
        channel.setdefault('sort', None)
    return channel


def _fold(rows, x, names):
    """The columns as series: a row for each value."""
    return [{x: row.get(x), 'series': name, 'value': row.get(name)} for row in rows for name in names]


def _bins(rows, x, color, bins):
    """Counts the values of a column in intervals of equal width, at round numbers."""
    from math import ceil, floor, log10

    values = [row[x] for row in rows if isinstance(row.get(x), (int, float))]
    if not values:
        raise ValueError(f'the column {x!r} has no numbers')
    low, high = min(values), max(values)
    step = (high - low) / max(1, bins) or 1
    unit = 10 ** floor(log10(step))
    step = unit * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * unit >= step * 0.999)
    first = floor(low / step)
    last = max(first + 1, ceil(high / step))
    counts = {}
    for row in rows:
        value = row.get(x)
        if isinstance(value, (int, float)):
            key = (min(floor(value / step), last - 1), row.get(color) if color else None)
            counts[key] = counts.get(key, 0) + 1
    groups = list(dict.fromkeys(group for _, group in counts))
    return [
        {
            x: round(index * step, 10),
            _END: round((index + 1) * step, 10),
            _COUNT: counts.get((index, group), 0),
            **({color: group} if color else {}),
        }
        for group in groups
        for index in range(first, last)
    ]


def _columns(kind, names, rows, x, y):
    """The columns for x and y, by default the first that fit."""
    _check(x, names)
    for name in y if isinstance(y, list) else [y]:
        _check(name, names)
    if x is None:
        x = next((name for name in names if name != y), None)
    if y is None and kind != 'histogram':
        others = [name for name in names if name != x]
        y = next((name for name in others if _type(rows, name) == 'quantitative'), others[0] if others else None)
        if y is None:
            raise ValueError(f'the data has no second column for y. The columns are {", ".join(map(repr, names))}')
    return x, y


def _create(kind, data, x, y, color, title, width, height, stacked, bins):
    if data is None and x is not None and not isinstance(x, str):
        data, x = (x, None) if y is None else ({'x': x, 'y': y}, 'x')
        y = None if x is None else 'y'
    elif x is not None and not isinstance(x, str):
        # As in matplotlib: the values of x, then those of y.
        data, x, y = {'x': data, 'y': x}, 'x', 'y'
    if data is None:
        raise TypeError('data is missing')
    if y is not None and not isinstance(y, str):
        y = [str(name) for name in y]
    if kind != 'histogram' and not isinstance(data, dict) and hasattr(data, '__len__'):
        _check_size(len(data))
    names, rows = _table(_matrix(data) if kind == 'heatmap' and x is None and color is None else data)
    if not rows:
        raise ValueError('the data has no rows')
    rows = [{name: json_value(value) for name, value in row.items()} for row in rows]
    if kind == 'histogram' and x is None and names == ['x', 'y'] and _is_sequence(data):
        x = 'y'
    x, y = _columns(kind, names, rows, x, y)
    if color is None and 'color' in names and names[:2] == ['x', 'y']:
        color = 'color'
    _check(color, names)
    is_folded = isinstance(y, list)
    if is_folded:
        rows, y, color = _fold(rows, x, y), 'value', 'series'
    if kind == 'histogram':
        rows = _bins(rows, x, color, bins)
    _check_size(len(rows))
    used = {x, y, color, _END, _COUNT}
    spec = {
        '$schema': SCHEMA,
        'data': {'values': [{name: row[name] for name in row if name in used} for row in rows]},
        'width': width,
        'height': height,
        **_BUILDERS[kind](rows, x, y, color, stacked, width),
    }
    if is_folded:
        for name in ('y', 'color'):
            spec['encoding'][name]['title'] = None
    if title is not None:
        spec['title'] = str(title)
    return Chart(kind, spec)


def _with_color(encoding, rows, color):
    if color is not None:
        encoding['color'] = channel(rows, color)
    return encoding


def _position(rows, name):
    """A position on an axis that need not contain zero. Integers from 1900 to 2100 are formatted as years."""
    if _type(rows, name) != 'quantitative':
        return channel(rows, name)
    values = [row[name] for row in rows if row.get(name) is not None]
    is_year = all(isinstance(value, int) and 1900 <= value <= 2100 for value in values)
    return channel(rows, name, scale={'zero': False}, **({'axis': {'format': 'd'}} if is_year else {}))


def _x_position(rows, name):
    """A position on the horizontal axis. Labels are centered below their ticks, also at the ends."""
    channel = _position(rows, name)
    if channel['type'] != 'nominal':
        channel['axis'] = {'labelFlush': False, **channel.get('axis', {}), **_day_axis(rows, name)}
    return channel


def _day_axis(rows, name):
    """Labels for dates of up to two weeks, which Vega otherwise labels with weekdays, months and years in turn."""
    values = [row[name] for row in rows if row.get(name) is not None]
    if not all(isinstance(value, str) and len(value) == 10 for value in values):
        return {}
    try:
        days = (date.fromisoformat(max(values)) - date.fromisoformat(min(values))).days
    except ValueError:
        return {}
    return {'format': '%b %d', 'tickCount': {'interval': 'day', 'step': 1 if days <= 7 else 2}} if days <= 14 else {}


def _label_axis(rows, name, width):
    """An axis whose labels are horizontal if all of them have room."""
    labels = {str(row.get(name)) for row in rows}
    has_room = isinstance(width, (int, float)) and max(map(len, labels)) * _CHARACTER <= width / len(labels)
    return {'axis': {'labelAngle': 0 if has_room else -40}}


def _line(rows, x, y, color, stacked, width):
    encoding = {'x': _x_position(rows, x), 'y': _position(rows, y)}
    mark = {'type': 'line', 'point': len(rows) <= 40}
    return {'mark': mark, 'encoding': _with_color(encoding, rows, color)}


def _bar(rows, x, y, color, stacked, width):
    horizontal = _type(rows, x) == 'quantitative' and _type(rows, y) == 'nominal'
    label, value = (y, x) if horizontal else (x, y)
    axis = {} if horizontal else _label_axis(rows, label, width)
    labels = channel(rows, label, 'nominal', **axis)
    values = channel(rows, value, 'quantitative')
    encoding = {'x': values, 'y': labels} if horizontal else {'x': labels, 'y': values}
    if color is not None and not stacked:
        encoding['yOffset' if horizontal else 'xOffset'] = channel(rows, color, 'nominal')
    return {'mark': 'bar', 'encoding': _with_color(encoding, rows, color)}


def _scatter(rows, x, y, color, stacked, width):
    encoding = {'x': _x_position(rows, x), 'y': _position(rows, y)}
    return {'mark': {'type': 'point', 'filled': True}, 'encoding': _with_color(encoding, rows, color)}


def _histogram(rows, x, y, color, stacked, width):
    encoding = {
        'x': {**channel(rows, x, 'quantitative'), 'bin': 'binned', 'axis': {'labelFlush': False}},
        'x2': {'field': _END},
        'y': {**channel(rows, _COUNT, 'quantitative'), 'title': 'count'},
    }
    return {'mark': 'bar', 'encoding': _with_color(encoding, rows, color)}


def _pie(rows, x, y, color, stacked, width):
    encoding = {'theta': channel(rows, y, 'quantitative', stack=True), 'color': channel(rows, x, 'nominal')}
    return {'mark': {'type': 'arc', 'stroke': 'white'}, 'encoding': encoding}


def _heatmap(rows, x, y, color, stacked, width):
    if color is None:
        raise ValueError('a heat map needs color, the column with its values')
    kinds = [name for name in (x, y) if _type(rows, name) == 'quantitative']
    encoding = {
        name: channel(rows, column, 'ordinal' if column in kinds else 'nominal', sort=None)
        for name, column in (('x', x), ('y', y))
    }
    encoding['x'].update(_label_axis(rows, x, width))
    encoding['color'] = channel(rows, color, 'quantitative')
    return {'mark': 'rect', 'encoding': encoding}


_BUILDERS = {
    'line': _line,
    'bar': _bar,
    'scatter': _scatter,
    'histogram': _histogram,
    'pie': _pie,
    'heatmap': _heatmap,
}


def create(kind, data=None, x=None, y=None, color=None, title=None, *, width=None, height=None, stacked=True, bins=20):
    square = kind == 'pie'
    width = (360 if square else 560) if width is None else width
    height = (360 if square else 320) if height is None else height
    try:
        return _create(kind, data, x, y, color, title, width, height, stacked, bins)
    except (TypeError, ValueError) as error:
        raise type(error)(f'chart.{kind}: {error}') from None
