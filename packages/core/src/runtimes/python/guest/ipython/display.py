"""Objects of IPython.display that show data in a given form."""

from _sandbox_display import display as _display

__all__ = [
    'display', 'clear_output', 'Code', 'DisplayObject', 'HTML', 'Image', 'JSON', 'Latex', 'Markdown', 'Math', 'Pretty', 'SVG',
    'TextDisplayObject',
]  # fmt: skip

display = _display


def clear_output(wait=False):
    """Displayed results cannot be removed."""


class DisplayObject:
    """Data of one MIME type, given directly or read from a file."""

    _mime = 'text/plain'
    _read_mode = 'r'

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if url is not None or (isinstance(data, str) and data.startswith(('http://', 'https://'))):
            raise ValueError('URLs are not loaded: pass data or a file name')
        if data is None and filename is None:
            raise ValueError('pass data or filename')
        self.filename = None if filename is None else str(filename)
        self.metadata = metadata or {}
        if data is None:
            with open(self.filename, self._read_mode) as file:
                data = file.read()
        self.data = data

    def _data(self):
        return self.data

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: self._data(), 'text/plain': repr(self)}

    def __repr__(self):
        return f'<IPython.core.display.{type(self).__name__} object>'


class TextDisplayObject(DisplayObject):
    """Text of one MIME type."""


class HTML(TextDisplayObject):
    _mime = 'text/html'


class Markdown(TextDisplayObject):
    _mime = 'text/markdown'


class Latex(TextDisplayObject):
    _mime = 'text/latex'


class Math(TextDisplayObject):
    _mime = 'text/latex'

    def _data(self):
        return '$\\displaystyle %s$' % self.data.strip('$')


class SVG(TextDisplayObject):
    _mime = 'image/svg+xml'


class Pretty(TextDisplayObject):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {'text/plain': self.data}


class Code(TextDisplayObject):
    _mime = 'text/markdown'

    def __init__(self, data=None, url=None, filename=None, language=None):
        super().__init__(data, url, filename)
        self.language = language or ''

    def _data(self):
        return f'```{self.language}\n{self.data}\n```'


class JSON(DisplayObject):
    _mime = 'application/json'

    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root='root', **options):
        super().__init__(data, url, filename, metadata)

    def _data(self):
        if isinstance(self.data, str):
            import json

            return json.loads(self.data)
        return self.data


class Image(DisplayObject):
    """A PNG, JPEG, GIF or WebP image, from bytes or from a file. The format is recognised by its content."""

    _read_mode = 'rb'

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, **options):
        # As in IPython, a string is the name of a file.
        if isinstance(data, str) and not data.startswith(('http://', 'https://')):
            filename, data = data, None
        elif hasattr(data, '__fspath__'):
            filename, data = str(data), None
        super().__init__(data, url, filename)
        self.width = width
        self.height = height

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = bytes(self.data)
        if data.lstrip()[:4] in (b'<svg', b'<?xm'):
            return {'image/svg+xml': data.decode(), 'text/plain': repr(self)}
        return {'image/png': data, 'text/plain': repr(self)}
