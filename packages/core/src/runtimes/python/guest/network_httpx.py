"""Transports of httpx that use the network of the host."""

import _sandbox_network as network
import httpx

_handle_request = httpx.HTTPTransport.handle_request
_handle_async_request = httpx.AsyncHTTPTransport.handle_async_request


class Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, request, body):
        self.request = request
        self.body = body

    def __iter__(self):
        while True:
            try:
                data = self.body.next()
            except OSError as error:
                raise failure(error, self.request, httpx.ReadError) from error
            if not data:
                return
            yield data

    async def __aiter__(self):
        while True:
            try:
                data = await self.body.next_async()
            except OSError as error:
                raise failure(error, self.request, httpx.ReadError) from error
            if not data:
                return
            yield data

    def close(self):
        self.body.close()

    async def aclose(self):
        self.body.close()


def failure(error, request, kind):
    if isinstance(error, TimeoutError):
        kind = httpx.ReadTimeout
    return kind(error.strerror or str(error), request=request)


def parts(request, content):
    if request.url.scheme not in ('http', 'https') or not request.url.host:
        raise httpx.UnsupportedProtocol('The URL of a request begins with http:// or https:// and has a host.', request=request)
    timeouts = request.extensions.get('timeout') or {}
    timeout = timeouts.get('read')
    headers = [[name.decode('latin-1'), value.decode('latin-1')] for name, value in request.headers.raw]
    return request.method, str(request.url), headers, content, timeout


def response(request, answer, body):
    headers = [(name.encode('latin-1'), value.encode('latin-1')) for name, value in answer['headers']]
    extensions = {'http_version': b'HTTP/1.1', 'reason_phrase': answer['reason'].encode('latin-1', 'replace')}
    return httpx.Response(answer['status'], headers=headers, stream=Stream(request, body), extensions=extensions)


def handle_request(self, request):
    if not network.is_allowed():
        return _handle_request(self, request)
    content = b''.join(request.stream)
    try:
        return response(request, *network.send(*parts(request, content)))
    except OSError as error:
        raise failure(error, request, httpx.ConnectError) from error


async def handle_async_request(self, request):
    if not network.is_allowed():
        return await _handle_async_request(self, request)
    content = b''.join([part async for part in request.stream])
    try:
        return response(request, *await network.send_async(*parts(request, content)))
    except OSError as error:
        raise failure(error, request, httpx.ConnectError) from error


httpx.HTTPTransport.handle_request = handle_request
httpx.AsyncHTTPTransport.handle_async_request = handle_async_request
