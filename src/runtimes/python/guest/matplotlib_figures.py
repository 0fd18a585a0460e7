"""Figures of matplotlib as results. Loaded when pyplot is imported: `plt.show()` displays the open figures and closes them, as
in a notebook, and the runtime calls `show_open` at the end of a program. A figure is displayed twice only if it changed.
"""

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


def show(*args, **options):
    """Displays the open figures and closes them."""
    try:
        for manager in Gcf.get_all_fig_managers():
            figure = manager.canvas.figure
            record = _records.get(figure)
            if not _is_empty(figure) and (record is None or not record.shown):
                _display(figure)
    finally:
        Gcf.destroy_all()


def _show_manager(manager):
    """`figure.show()`: displays the figure, which stays open."""
    _display(manager.canvas.figure)


def show_open():
    if Gcf.figs:
        show()


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
Figure._repr_mimebundle_ = _repr_mimebundle_
FigureManagerBase.show = _show_manager
