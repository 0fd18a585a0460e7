"""Charts of altair as results. Loaded when altair is imported: its own renderers need a browser and a network."""

from altair.vegalite.v6.api import TopLevelMixin

from _sandbox_chart import VEGA_LITE_MIME
from _sandbox_display import display


def _repr_mimebundle_(chart, include=None, exclude=None):
    return {VEGA_LITE_MIME: chart.to_dict(), 'text/plain': repr(chart)}


def show(chart, *args, **options):
    """Displays the chart."""
    display(chart)


TopLevelMixin._repr_mimebundle_ = _repr_mimebundle_
TopLevelMixin.show = show
