"""Requests of a program. The host sends them, if its rules permit, and returns the responses.

A connection of this module looks like a socket to `http.client` and to the libraries that are based on it: it collects the bytes
of one request, and returns the bytes of the response. Nothing else can be sent over it.
"""

import builtins
import io
import sys
from binascii import a2b_base64, b2a_base64
from errno import EACCES, ECONNREFUSED, ECONNRESET, EINVAL, ENETUNREACH, ENOBUFS, EPROTO

from _sandbox_tool_calls import ToolError, call_blocking, encode, perform

__builtins__ = dict(vars(builtins))

REQUEST = 'network:request'
READ = 'network:read'
CLOSE = 'network:close'

# Modules that adapt a library, by the module after which they are loaded.
ADAPTERS = {
    'socket': '_sandbox_socket',
    'http.client': '_sandbox_http_client',
    'urllib3.connection': '_sandbox_urllib3',
    'httpx': '_sandbox_httpx',
    'aiohttp': '_sandbox_aiohttp',
}

USE_INSTEAD = (
    'the sandbox has no sockets; it sends only HTTP requests. '
    'Use urllib.request, http.client, requests, urllib3, httpx or aiohttp'
)
NO_PROXIES = 'proxies are not supported: the host sends the requests'


class State:
    is_allowed = False


def begin():
    State.is_allowed = True


def end():
    State.is_allowed = False


def is_allowed():
    return State.is_allowed


# ---- errors ----


def error_of(kind, message):
    """The exception that a library would raise for a failure."""
    if kind == 'dns':
        import socket

        return socket.gaierror(socket.EAI_NONAME, message)
    if kind == 'tls':
        import ssl

        return ssl.SSLCertVerificationError(1, message)
    if kind == 'timeout':
        return TimeoutError(f'timed out: {message}')
    if kind == 'connect':
        return ConnectionRefusedError(ECONNREFUSED, message)
    if kind == 'reset':
        return ConnectionResetError(ECONNRESET, message)
    if kind in ('refused', 'denied'):
        return PermissionError(EACCES, message)
    number = {'limit': ENOBUFS, 'invalid': EINVAL, 'protocol': EPROTO, 'replay': ENETUNREACH}
    return OSError(number.get(kind, ENETUNREACH), message)


def checked(answer):
    if 'error' in answer:
        raise error_of(answer['error']['kind'], answer['error']['message'])
    return answer


def exchange(name, text):
    try:
        return checked(call_blocking(name, text))
    except ToolError as error:
        raise error_of('timeout' if error.code == 'timeout' else error.code, str(error)) from None


async def exchange_async(name, text):
    try:
        return checked(await perform(name, text))
    except ToolError as error:
        raise error_of('timeout' if error.code == 'timeout' else error.code, str(error)) from None


def request_text(method, url, headers, body, timeout):
    request = {'method': method, 'url': url, 'headers': headers}
    if body:
        request['body'] = b2a_base64(body, newline=False).decode()
    if timeout is not None:
        request['timeout_ms'] = max(1, timeout * 1000)
    return encode(request)


# ---- responses ----


class Body:
    """The body of a response. Pieces are fetched when they are needed."""

    def __init__(self, answer):
        self.take(answer)

    def take(self, answer):
        self.handle = answer.get('handle')
        self.data = a2b_base64(answer['body'])

    def next(self):
        """The next bytes; empty at the end."""
        while not self.data and self.handle is not None:
            self.take(exchange(READ, str(self.handle)))
        data, self.data = self.data, b''
        return data

    async def next_async(self):
        while not self.data and self.handle is not None:
            self.take(await exchange_async(READ, str(self.handle)))
        data, self.data = self.data, b''
        return data

    def close(self):
        handle, self.handle = self.handle, None
        self.data = b''
        if handle is not None and State.is_allowed:
            try:
                call_blocking(CLOSE, str(handle))
            except (ToolError, OSError):
                pass


def send(method, url, headers, body, timeout):
    """Sends a request and waits for the head of its response: `(answer, body)`."""
    answer = exchange(REQUEST, request_text(method, url, headers, body, timeout))
    return answer, Body(answer)


async def send_async(method, url, headers, body, timeout):
    answer = await exchange_async(REQUEST, request_text(method, url, headers, body, timeout))
    return answer, Body(answer)


# ---- connections ----


def head_of(answer):
    """The head of a response as bytes."""
    lines = [f'HTTP/1.1 {answer["status"]} {answer["reason"]}']
    lines += [f'{name}: {value}' for name, value in answer['headers']]
    # A response ends with its connection, so that no library uses a connection again.
    lines += ['Connection: close', '', '']
    return '\r\n'.join(lines).encode('latin-1', 'replace')


def unchunk(data):
    """The body of a request with the transfer encoding chunked."""
    parts = []
    at = 0
    while True:
        end = data.find(b'\r\n', at)
        if end < 0:
            break
        size = int(data[at:end].partition(b';')[0] or b'0', 16)
        if size <= 0:
            break
        parts.append(data[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return b''.join(parts)


class Connection:
    """A connection to a host, for one request."""

    def __init__(self, scheme, host, port, timeout, is_eager):
        name = f'[{host}]' if ':' in host and not host.startswith('[') else host
        default = 443 if scheme == 'https' else 80
        self.origin = f'{scheme}://{name}' if port in (None, default) else f'{scheme}://{name}:{port}'
        self.timeout = timeout
        self.sent = bytearray()
        self.is_eager = is_eager
        # The response, or the exception with which it failed.
        self.result = None

    def sendall(self, data, *_):
        self.sent += data
        if self.is_eager and self.is_complete():
            self.perform_early()

    def send(self, data, *_):
        self.sendall(data)
        return memoryview(data).nbytes

    def is_complete(self):
        """Whether the whole request was collected."""
        end = self.sent.find(b'\r\n\r\n')
        if end < 0:
            return False
        head = bytes(self.sent[: end + 2]).lower()
        if b'\r\ntransfer-encoding:' in head:
            return self.sent.endswith(b'\r\n0\r\n\r\n')
        _, found, rest = head.partition(b'\r\ncontent-length:')
        length = int(rest.partition(b'\r\n')[0]) if found else 0
        return len(self.sent) >= end + 4 + length

    def is_waiting(self):
        """Whether the program sends the body only after the host has answered that it may."""
        is_head = self.sent.find(b'\r\n\r\n') == len(self.sent) - 4
        return is_head and b'\r\nexpect: 100-continue' in self.sent.lower()

    def perform_early(self):
        """Sends the request before the response is read, where libraries expect the errors of a connection."""
        try:
            self.result = self.perform()
        except OSError as error:
            if isinstance(error, (TimeoutError, ConnectionResetError)):
                self.result = error
            else:
                raise

    def respond(self):
        result, self.result = self.result, None
        if isinstance(result, BaseException):
            raise result
        return result or self.perform()

    def makefile(self, mode='r', *_, **__):
        return io.BufferedReader(ResponseFile(self), 65536)

    def settimeout(self, timeout):
        self.timeout = timeout

    def gettimeout(self):
        return self.timeout

    def close(self):
        # Like a socket, it stays open for the files that were made from it.
        pass

    def nothing(self, *_, **__):
        return None

    shutdown = setsockopt = setblocking = detach = nothing

    def fileno(self):
        return -1

    def getpeercert(self, *_):
        return {}

    def version(self):
        return 'TLSv1.3'

    def selected_alpn_protocol(self):
        return None

    def perform(self):
        """Sends the collected request. Returns the head of the response as bytes, and the body."""
        answer, body = send(*self.collected())
        return head_of(answer), body

    def collected(self):
        """The collected request, as arguments of `send`."""
        head, _, body = bytes(self.sent).partition(b'\r\n\r\n')
        self.sent.clear()
        first, *lines = head.decode('latin-1').split('\r\n')
        method, _, rest = first.partition(' ')
        target = rest.rpartition(' ')[0]
        headers = []
        for line in lines:
            name, _, value = line.partition(':')
            headers.append([name, value.strip()])
            if name.lower() == 'transfer-encoding' and 'chunked' in value.lower():
                body = unchunk(body)
        url = target if target.startswith(('http://', 'https://')) else self.origin + target
        timeout = self.timeout if isinstance(self.timeout, (int, float)) else None
        return method, url, headers, body, timeout


class ResponseFile(io.RawIOBase):
    def __init__(self, connection):
        self.connection = connection
        self.body = None
        self.rest = b''

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.body is None:
            self.rest, self.body = self.connection.respond()
        if not self.rest:
            self.rest = self.body.next()
        size = min(len(buffer), len(self.rest))
        buffer[:size] = self.rest[:size]
        self.rest = self.rest[size:]
        return size

    def close(self):
        if not self.closed and self.body is not None:
            self.body.close()
        super().close()


def connect(scheme, host, port, timeout, is_eager=False):
    import socket

    if timeout is socket._GLOBAL_DEFAULT_TIMEOUT:
        timeout = socket.getdefaulttimeout()
    return Connection(scheme, host, port, timeout if isinstance(timeout, (int, float)) else None, is_eager)


def refuse_tunnel(connection):
    if getattr(connection, '_tunnel_host', None):
        raise OSError(EINVAL, NO_PROXIES)
