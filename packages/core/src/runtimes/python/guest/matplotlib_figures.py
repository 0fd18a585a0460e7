"""Figures of matplotlib as results. Loaded when pyplot is imported: `plt.show()` displays the open figures, and the runtime calls
`show_open` at the end of a program. A figure is displayed twice only if it changed. Figures that were shown stay open for `savefig`,
`gcf` and `gca` until the program draws the next one: a plot function starts a new figure after `show`, as in a notebook.
"""

import sys
from weakref import WeakKeyDictionary

from matplotlib import pyplot
from matplotlib._pylab_helpers import Gcf
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.figure import Figure

from _sandbox_display import CHART_MIME, display
from _sandbox_figure_chart import describe_figure, record_boxes

_PNG = b'\x89PNG\r\n\x1a\n'
# A larger file is not read again, because the host would store a copy of it.
_MAX_FILE_BYTES = 1_000_000


class _Record:
    """What happened to a figure since its last change."""

    __slots__ = ('file', 'shown')

    def __init__(self):
        # The PNG file in which the figure was saved.
        self.file = None
        self.shown = False


_records = WeakKeyDictionary()
_savefig = Figure.savefig
_gca = pyplot.gca
_gcf = pyplot.gcf
_set_manager = Gcf._set_new_active_manager
# Functions of pyplot that do not draw in the current figure.
_READERS = frozenset(('cla', 'clf', 'delaxes', 'draw', 'gci', 'savefig', 'subplots_adjust', 'tight_layout'))
_bxp = Axes.bxp


def _record(figure):
    """The record of a figure, which exists until something in the figure changes."""
    record = _records.get(figure)
    if record is not None:
        return record
    previous = figure.stale_callback

    def on_change(artist, stale):
        canvas = figure.canvas
        # Saving and drawing report changes as well.
        if stale and not canvas._is_saving and not canvas._is_idle_drawing:
            _records.pop(figure, None)
            figure.stale_callback = previous
        if previous is not None:
            previous(artist, stale)

    figure.stale_callback = on_change
    record = _records[figure] = _Record()
    return record


def _saved_image(figure):
    record = _records.get(figure)
    if record is None or record.file is None:
        return None
    try:
        with open(record.file, 'rb') as source:
            data = source.read(_MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return data if data.startswith(_PNG) and len(data) <= _MAX_FILE_BYTES else None


def _draw(figure):
    from io import BytesIO

    target = BytesIO()
    _savefig(figure, target, format='png')
    return target.getvalue()


def _repr_mimebundle_(figure, include=None, exclude=None):
    forms = {'image/png': _saved_image(figure) or _draw(figure), 'text/plain': repr(figure)}
    chart = describe_figure(figure)
    if chart is not None:
        forms[CHART_MIME] = chart
    _record(figure).shown = True
    return forms


def savefig(self, fname, *args, **options):
    _savefig(self, fname, *args, **options)
    record = _record(self)
    record.file = str(fname) if str(fname).lower().endswith('.png') else None


def _is_empty(figure):
    return not (figure.axes or figure.texts or figure.images or figure.lines or figure.patches or figure.subfigs)


def _display(figure):
    # Not `display(figure)`, which would only report a figure that cannot be drawn.
    display(_repr_mimebundle_(figure), raw=True)


def _is_shown(figure):
    record = _records.get(figure)
    return record is not None and record.shown


def show(*args, **options):
    """Displays the open figures."""
    for manager in Gcf.get_all_fig_managers():
        figure = manager.canvas.figure
        if not (_is_empty(figure) or _is_shown(figure)):
            _display(figure)


def _show_manager(manager):
    """`figure.show()`: displays the figure, even if it was shown before."""
    _display(manager.canvas.figure)


def show_open():
    try:
        show()
    finally:
        Gcf.destroy_all()


def _starts_figure():
    """Whether a plot function of a library asks for the current figure after it was shown."""
    manager = Gcf.get_active()
    if manager is None or not _is_shown(manager.canvas.figure):
        return False
    frame = sys._getframe(2)
    if frame.f_code is _gca.__code__:
        frame = frame.f_back
    is_library = frame.f_code.co_filename.startswith(('/lib/', '/data/'))
    return is_library and frame.f_code.co_name not in _READERS


def gcf():
    return pyplot.figure() if _starts_figure() else _gcf()


def _set_new_active_manager(manager):
    """Closes the figures that were shown when a new one is created."""
    for other in Gcf.get_all_fig_managers():
        if _is_shown(other.canvas.figure):
            Gcf.destroy(other)
    _set_manager(manager)


def bxp(self, bxpstats, *args, **options):
    artists = _bxp(self, bxpstats, *args, **options)
    record_boxes(self, bxpstats, artists, options)
    return artists


def _replace(owner, function):
    original = getattr(owner, function.__name__)
    function.__doc__ = original.__doc__
    setattr(owner, function.__name__, function)


_replace(Figure, savefig)
_replace(Axes, bxp)
_replace(pyplot, show)
_replace(pyplot, gcf)
Gcf._set_new_active_manager = _set_new_active_manager
Figure._repr_mimebundle_ = _repr_mimebundle_
FigureManagerBase.show = _show_manager
