"""Describes a figure of matplotlib as data, with the names of E2B: type, title, labels, scales and elements. The values are read
from the artists of the axes; long series are cut.
"""

from datetime import date
from weakref import WeakKeyDictionary

from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.lines import Line2D
from matplotlib.patches import Wedge
from matplotlib.text import Annotation, Text

_MAX_POINTS = 2000
_MAX_CHARTS = 20
_MAX_TICKS = 100

# The statistics of box plots by axes, with an artist that tells whether they are still drawn.
_boxes = WeakKeyDictionary()


def record_boxes(axes, stats, artists, options):
    vertical = options.get('orientation', 'vertical') == 'vertical' and options.get('vert') is not False
    drawn = artists['medians'] or artists['boxes'] or artists['whiskers']
    if drawn:
        _boxes.setdefault(axes, []).append((drawn[0], stats, vertical))


def _number(value):
    value = float(value)
    if value - value != 0.0:
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _value(value):
    """A coordinate as JSON data: a number, or the text of a date or category."""
    if isinstance(value, str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if getattr(getattr(value, 'dtype', None), 'kind', '') == 'M':
        return str(value.astype('datetime64[s]'))
    try:
        return _number(value)
    except (TypeError, ValueError):
        return str(value)


def _unit(label):
    """The unit in a label: `Length (cm)` or `Length [cm]`."""
    for opening, closing in (' (', ')'), ('[', ']'):
        start = label.find(opening)
        end = label.find(closing, start)
        if 0 <= start < end:
            return label[start + len(opening) : end] or None
    return None


def _converter(axis):
    get = getattr(axis, 'get_converter', None)
    return type(get() if get is not None else axis.converter).__name__


def _scale(axis):
    name = _converter(axis)
    if 'Date' in name or 'Period' in name or 'Time' in name:
        return 'datetime'
    return 'categorical' if 'Category' in name else axis.get_scale()


def _ticks(axis, scale):
    positions = axis.get_ticklocs()[:_MAX_TICKS]
    labels = [label.get_text() for label in axis.get_ticklabels()[:_MAX_TICKS]]
    if scale != 'datetime':
        return [_value(position) for position in positions], labels
    from matplotlib.dates import num2date

    try:
        return [num2date(position).isoformat() for position in positions], labels
    except (ValueError, OverflowError):
        # Axes of pandas count periods.
        return [_value(position) for position in positions], labels


def _labels(axes):
    x_label, y_label = axes.get_xlabel(), axes.get_ylabel()
    return {
        'title': axes.get_title() or axes.get_title('left') or axes.get_title('right') or None,
        'x_label': x_label or None,
        'y_label': y_label or None,
        'x_unit': _unit(x_label),
        'y_unit': _unit(y_label),
    }


def _swapped(labels):
    return {
        **labels,
        'x_label': labels['y_label'],
        'y_label': labels['x_label'],
        'x_unit': labels['y_unit'],
        'y_unit': labels['x_unit'],
    }


def _series_label(label, number):
    """The label of a series. matplotlib gives those without one a name that begins with an underscore."""
    return str(label) if label and not str(label).startswith('_') else f'Line {number}'


def _point_chart(kind, axes, series):
    chart = {'type': kind, **_labels(axes)}
    for name, axis in (('x', axes.xaxis), ('y', axes.yaxis)):
        chart[f'{name}_scale'] = _scale(axis)
        chart[f'{name}_ticks'], chart[f'{name}_tick_labels'] = _ticks(axis, chart[f'{name}_scale'])
    room = _MAX_POINTS
    chart['elements'] = []
    for label, xs, ys in series:
        points = [[_value(x), _value(y)] for x, y in zip(xs[:room], ys[:room])]
        room -= len(points)
        chart['elements'].append({'label': label, 'points': points})
        if room <= 0:
            break
    return chart


def _line_chart(axes, lines):
    return _point_chart(
        'line',
        axes,
        (
            (_series_label(line.get_label(), number), line.get_xdata(), line.get_ydata())
            for number, line in enumerate(lines)
        ),
    )


def _scatter_chart(axes, collections):
    from matplotlib.dates import num2date

    def offsets(collection, index, axis):
        values = collection.get_offsets()[:_MAX_POINTS, index]
        if _scale(axis) == 'datetime':
            return [num2date(value).replace(tzinfo=None) for value in values]
        if _scale(axis) == 'categorical':
            names = {place: name for name, place in axis.units._mapping.items()}
            return [names.get(value, value) for value in values]
        return values

    return _point_chart(
        'scatter',
        axes,
        (
            (
                _series_label(collection.get_label(), number),
                offsets(collection, 0, axes.xaxis),
                offsets(collection, 1, axes.yaxis),
            )
            for number, collection in enumerate(collections)
        ),
    )


def _bar_chart(axes, containers):
    labels = _labels(axes)
    elements = []
    for number, container in enumerate(containers):
        vertical = container.orientation != 'horizontal'
        axis = axes.xaxis if vertical else axes.yaxis
        group = str(container.get_label())
        group = f'Group {number}' if group.startswith('_') else group
        bars = container.patches[: _MAX_POINTS - len(elements)]
        if vertical:
            spans = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in bars]
        else:
            spans = [(bar.get_y(), bar.get_height(), bar.get_width()) for bar in bars]
        for name, (_, _, value) in zip(_bar_names(axis, spans), spans):
            elements.append({'label': name, 'group': group, 'value': _number(value)})
    vertical = containers[0].orientation != 'horizontal'
    return {'type': 'bar', **(labels if vertical else _swapped(labels)), 'elements': elements}


def _bar_names(axis, spans):
    """The labels of bars: those of the ticks if they are names, intervals for adjacent bars, otherwise numbers."""
    ticks = [(float(place), label.get_text()) for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels())]
    if _scale(axis) == 'categorical' or any(name and not _is_number(name) for _, name in ticks):
        return [min(ticks, key=lambda tick: abs(tick[0] - start - width / 2))[1] for start, width, _ in spans]
    ends = zip(spans, spans[1:])
    if len(spans) > 1 and all(abs(start + width - other) < 1e-6 * width for (start, width, _), (other, _, _) in ends):
        return [f'{_rounded(start)} – {_rounded(start + width)}' for start, width, _ in spans]
    return [str(_rounded(start + width / 2)) for start, width, _ in spans]


def _rounded(value):
    return _number(round(float(value), 10))


def _is_number(text):
    try:
        float(text.replace('\N{MINUS SIGN}', '-'))
    except ValueError:
        return False
    return True


def _pie_chart(axes, wedges):
    elements = [
        {
            'label': str(wedge.get_label()),
            'angle': _number(round(abs(float(wedge.theta2) - float(wedge.theta1)), 4)),
            'radius': _number(wedge.r),
        }
        for wedge in wedges[:_MAX_POINTS]
    ]
    if all(element['label'].startswith('_') for element in elements):
        for element in elements:
            element['label'] = ''
    return {'type': 'pie', 'title': _labels(axes)['title'], 'elements': elements}


def _box_chart(axes, drawn):
    labels = _labels(axes)
    elements = []
    for stats, vertical in drawn:
        axis = axes.xaxis if vertical else axes.yaxis
        ticks = [label.get_text() for label in axis.get_ticklabels()]
        for index, one in enumerate(stats[: _MAX_POINTS - len(elements)]):
            label = one.get('label')
            if label is None or label == '':
                label = ticks[len(elements)] if len(elements) < len(ticks) else index + 1
            elements.append({
                'label': str(label),
                'min': _number(one['whislo']),
                'first_quartile': _number(one['q1']),
                'median': _number(one['med']),
                'third_quartile': _number(one['q3']),
                'max': _number(one['whishi']),
                'outliers': [_number(value) for value in list(one.get('fliers', ()))[:_MAX_POINTS]],
            })  # fmt: skip
    return {'type': 'box_and_whisker', **(labels if drawn[0][1] else _swapped(labels)), 'elements': elements}


def _is_reference(artist, axes):
    """Whether an artist shows no data: a line across the axes, as of axhline, or an empty one, as for legends."""
    if isinstance(artist, Line2D):
        return artist.get_transform() != axes.transData or len(artist.get_xdata(orig=False)) == 0
    return isinstance(artist, PathCollection) and len(artist.get_offsets()) == 0


def _describe_axes(axes):
    boxes = [(stats, vertical) for artist, stats, vertical in _boxes.get(axes, ()) if artist.axes is axes]
    if boxes:
        return _box_chart(axes, boxes)
    bars = [one for one in axes.containers if isinstance(one, BarContainer) and one.patches]
    in_bars = {id(patch) for container in bars for patch in container.patches}
    in_bars |= {id(part) for container in axes.containers for part in container.get_children()}
    drawn = [one for one in axes._children if not isinstance(one, (Text, Annotation)) and one.get_visible()]
    data = [one for one in drawn if not _is_reference(one, axes)] or drawn
    if data and all(isinstance(one, Line2D) for one in data):
        return _line_chart(axes, data)
    if data and all(isinstance(one, PathCollection) for one in data):
        return _scatter_chart(axes, data)
    if data and all(isinstance(one, Wedge) for one in data):
        return _pie_chart(axes, data)
    if bars and all(id(one) in in_bars for one in data):
        return _bar_chart(axes, bars)
    return {'type': 'unknown', **_labels(axes), 'elements': []}


def describe_figure(figure):
    """The chart of a figure; several axes are a superchart. None if the figure has no axes or is of an unusual kind."""
    try:
        axes = [one for one in figure.axes if one.get_label() != '<colorbar>' and one.get_visible()][:_MAX_CHARTS]
        if len(axes) == 1:
            chart = _describe_axes(axes[0])
            chart['title'] = chart['title'] or figure.get_suptitle() or None
            return chart
        if axes:
            return {
                'type': 'superchart',
                'title': figure.get_suptitle() or None,
                'elements': [_describe_axes(one) for one in axes],
            }
    except Exception:
        # Artists can have any attributes and data. The image shows the figure.
        pass
    return None
