"""Replaces the connections of urllib3 through JavaScript, which guests cannot call. Connections use sockets, which fail."""


def inject_into_urllib3():
    """Called when urllib3 is imported."""
