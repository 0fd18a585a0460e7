"""Figures of plotly as results. Loaded when plotly creates a figure: lines, points, bars, histograms, pies, heat maps and box
plots become Vega-Lite specifications, which the host draws. For other figures, a message says what cannot be drawn.
"""

import sys

from plotly.basedatatypes import BaseFigure

from _sandbox_chart import MAX_ROWS, SCHEMA, VEGA_LITE_MIME, channel, json_value
from _sandbox_display import CHART_MIME, display

_ADVICE = (
    'Lines, points, bars, histograms, pies, heat maps and box plots can be drawn. '
    "Alternatives: chart.line and others, or fig.write_html('figure.html')."
)
_POINT_KINDS = ('scatter', 'scattergl', 'bar')


class _NotDrawable(Exception):
    pass


def _list(values):
    return [] if values is None else [json_value(value) for value in values]


def _text(part, *path):
    """A text in a nested dict, such as the title of an axis."""
    for name in path:
        part = part.get(name) if isinstance(part, dict) else None
    if isinstance(part, dict):
        part = part.get('text')
    return part if isinstance(part, str) else None


def _pairs(trace):
    xs, ys = _list(trace.get('x')), _list(trace.get('y'))
    if not ys and not xs:
        return []
    return list(zip(xs or range(len(ys)), ys or range(len(xs))))


def _mark(trace):
    if trace['type'] == 'bar':
        return 'bar'
    if trace.get('fill') not in (None, 'none'):
        return 'area'
    mode = trace.get('mode') or ('lines' if len(_list(trace.get('y'))) >= 20 else 'lines+markers')
    if 'lines' in mode:
        return 'line with points' if 'markers' in mode else 'line'
    return 'point'


def _color(trace):
    for part in ('line', 'marker'):
        color = (trace.get(part) or {}).get('color')
        if isinstance(color, str):
            return color
    return None


def _series_encoding(rows, traces, names):
    encoding = channel(rows, 'series', 'nominal', title=None)
    colors = [_color(trace) for trace in traces]
    if all(colors):
        encoding['scale'] = {'domain': names, 'range': colors}
    if len(names) == 1:
        encoding['legend'] = None
    return encoding


def _points(traces, layout):
    names = _names(traces)
    rows = [
        {'x': x, 'y': y, 'series': name, 'mark': _mark(trace)}
        for name, trace in zip(names, traces)
        for x, y in _pairs(trace)
    ]
    color = _series_encoding(rows, traces, names)
    layers = []
    for mark in dict.fromkeys(row['mark'] for row in rows):
        kind, _, points = mark.partition(' with ')
        encoding = {'x': _axis(rows, 'x', layout), 'y': _axis(rows, 'y', layout), 'color': color}
        if kind == 'bar':
            _place_bars(rows, traces, layout, encoding)
        layers.append({
            'transform': [{'filter': f'datum.mark === "{mark}"'}],
            'mark': {'type': kind, **({'point': True} if points else {}), **({'filled': True} if kind == 'point' else {})},
            'encoding': encoding,
        })  # fmt: skip
    return rows, {'layer': layers}


def _place_bars(rows, traces, layout, encoding):
    horizontal = any(trace.get('orientation') == 'h' for trace in traces)
    label, value = ('y', 'x') if horizontal else ('x', 'y')
    # Bars begin at zero.
    if encoding[value].get('scale') == {'zero': False}:
        del encoding[value]['scale']
    if encoding[label]['type'] == 'quantitative':
        encoding[label]['type'] = 'ordinal'
        encoding[label].pop('scale', None)
    if layout.get('barmode', 'group') == 'group' and len(traces) > 1:
        encoding[f'{label}Offset'] = channel(rows, 'series', 'nominal')


def _axis(rows, name, layout):
    axis = layout.get(f'{name}axis') or {}
    encoding = channel(rows, name)
    encoding['title'] = _text(axis, 'title')
    if encoding['type'] == 'quantitative':
        encoding['scale'] = {'type': 'log'} if axis.get('type') == 'log' else {'zero': False}
    return encoding


def _names(traces):
    """The names of the traces, which are unique."""
    names = []
    for number, trace in enumerate(traces):
        name = str(trace.get('name') or f'trace {number}')
        names.append(name if name not in names else f'{name} ({number})')
    return names


def _histogram(traces, layout):
    place = 'x' if any(trace.get('x') is not None for trace in traces) else 'y'
    names = _names(traces)
    rows = [{place: value, 'series': name} for name, trace in zip(names, traces) for value in _list(trace.get(place))]
    bins = next((trace[f'nbins{place}'] for trace in traces if trace.get(f'nbins{place}')), 20)
    values = channel(rows, place, title=_text(layout, f'{place}axis', 'title'))
    if values['type'] == 'quantitative':
        values['bin'] = {'maxbins': bins}
    other = 'y' if place == 'x' else 'x'
    count = {'aggregate': 'count', 'type': 'quantitative', 'title': _text(layout, f'{other}axis', 'title') or 'count'}
    encoding = {place: values, other: count, 'color': _series_encoding(rows, traces, names)}
    return rows, {'mark': 'bar', 'encoding': encoding}


def _pie(traces, layout):
    labels, values = _list(traces[0].get('labels')), _list(traces[0].get('values'))
    rows = [{'label': label, 'value': value} for label, value in zip(labels, values or [1] * len(labels))]
    encoding = {
        'theta': channel(rows, 'value', 'quantitative', stack=True),
        'color': channel(rows, 'label', 'nominal', title=None),
    }
    inner = 160 * float(traces[0].get('hole') or 0)
    return rows, {'mark': {'type': 'arc', 'stroke': 'white', 'innerRadius': inner}, 'encoding': encoding}


def _heatmap(traces, layout):
    trace = traces[0]
    table = [_list(row) for row in trace.get('z', ())]
    xs = _list(trace.get('x')) or list(range(max(map(len, table), default=0)))
    ys = _list(trace.get('y')) or list(range(len(table)))
    rows = [{'x': x, 'y': y, 'z': value} for y, row in zip(ys, table) for x, value in zip(xs, row)]
    encoding = {
        name: channel(rows, name, 'ordinal', sort=None, title=_text(layout, f'{name}axis', 'title')) for name in ('x', 'y')
    }
    # plotly counts rows from the bottom.
    encoding['y']['scale'] = {'reverse': True}
    encoding['color'] = channel(rows, 'z', 'quantitative', title=None)
    return rows, {'mark': 'rect', 'encoding': encoding}


def _box(traces, layout):
    names = _names(traces)
    rows = []
    for name, trace in zip(names, traces):
        values = _list(trace.get('y'))
        groups = _list(trace.get('x')) or [name] * len(values)
        rows.extend({'group': group, 'value': value, 'series': name} for group, value in zip(groups, values))
    encoding = {
        'x': channel(rows, 'group', 'nominal', title=_text(layout, 'xaxis', 'title')),
        'y': channel(rows, 'value', 'quantitative', title=_text(layout, 'yaxis', 'title')),
        'color': _series_encoding(rows, traces, names),
    }
    return rows, {'mark': 'boxplot', 'encoding': encoding}


def _box_elements(rows):
    """The statistics of a box plot, with the names of E2B."""
    from statistics import quantiles

    groups = {}
    for row in rows:
        if isinstance(row['value'], (int, float)):
            groups.setdefault((row['group'], row['series']), []).append(row['value'])
    elements = []
    for (group, series), values in groups.items():
        first, median, third = quantiles(values, n=4, method='inclusive') if len(values) > 1 else values * 3
        reach = 1.5 * (third - first)
        inside = [value for value in values if first - reach <= value <= third + reach]
        elements.append({
            'label': str(group if group == series else f'{group} {series}'),
            'min': min(inside),
            'first_quartile': first,
            'median': median,
            'third_quartile': third,
            'max': max(inside),
            'outliers': [value for value in values if value not in inside],
        })  # fmt: skip
    return elements


_BUILDERS = {'histogram': _histogram, 'pie': _pie, 'heatmap': _heatmap, 'box': _box}


def to_vega_lite(figure):
    """The figure as a Vega-Lite specification. Raises _NotDrawable."""
    layout = figure.layout.to_plotly_json()
    traces = [trace.to_plotly_json() for trace in figure.data if trace.visible in (None, True)]
    kinds = list(dict.fromkeys(trace.get('type', 'scatter') for trace in traces))
    if not traces:
        raise _NotDrawable('it has no traces')
    if any(trace.get('xaxis') not in (None, 'x') or trace.get('yaxis') not in (None, 'y') for trace in traces):
        raise _NotDrawable('it has subplots or a second axis')
    if all(kind in _POINT_KINDS for kind in kinds):
        rows, parts = _points(traces, layout)
    elif len(kinds) == 1 and kinds[0] in _BUILDERS and (len(traces) == 1 or kinds[0] not in ('pie', 'heatmap')):
        rows, parts = _BUILDERS[kinds[0]](traces, layout)
    else:
        unknown = [kind for kind in kinds if kind not in _POINT_KINDS and kind not in _BUILDERS]
        if unknown:
            raise _NotDrawable(f'it has traces of type {", ".join(unknown)}')
        if len(kinds) == 1:
            raise _NotDrawable(f'it has more than one trace of type {kinds[0]}')
        raise _NotDrawable(f'it combines traces of the types {", ".join(kinds)}')
    if len(rows) > MAX_ROWS:
        raise _NotDrawable(f'it has {len(rows):,} points, and at most {MAX_ROWS:,} are drawn')
    size = {'width': 360, 'height': 360} if kinds == ['pie'] else {'width': 560, 'height': 320}
    title = _text(layout, 'title')
    return {'$schema': SCHEMA, **({'title': title} if title else {}), 'data': {'values': rows}, **size, **parts}


def _repr_mimebundle_(figure, include=None, exclude=None, **options):
    forms = {'text/plain': repr(figure)}
    try:
        spec = forms[VEGA_LITE_MIME] = to_vega_lite(figure)
        if spec.get('mark') == 'boxplot':
            forms[CHART_MIME] = {
                'type': 'box_and_whisker',
                'title': spec.get('title'),
                'x_label': spec['encoding']['x']['title'],
                'y_label': spec['encoding']['y']['title'],
                'x_unit': None,
                'y_unit': None,
                'elements': _box_elements(spec['data']['values']),
            }
    except _NotDrawable as reason:
        print(f'display: the plotly figure cannot be drawn, because {reason}. {_ADVICE}', file=sys.stderr)
    return forms


def show(figure, *args, **options):
    """Displays the figure."""
    display(figure)


def _with_address(write):
    """The method, which refers to the address of the library for browsers instead of including its text, which is not here."""

    def to_html(figure, *args, **options):
        if options.get('include_plotlyjs', True) in (True, 'cdn', 'directory'):
            from plotly.io._utils import plotly_cdn_url

            options['include_plotlyjs'] = plotly_cdn_url()
        return write(figure, *args, **options)

    return to_html


for _name in ('to_html', 'write_html'):
    if hasattr(BaseFigure, _name):
        setattr(BaseFigure, _name, _with_address(getattr(BaseFigure, _name)))
BaseFigure._repr_mimebundle_ = _repr_mimebundle_
BaseFigure._repr_html_ = None
BaseFigure.show = show
del BaseFigure._ipython_display_
