"""Connections of aiohttp that use the network of the host: transports of asyncio for one request each."""

import asyncio

import _sandbox_network as network
import aiohttp

_create_connection = aiohttp.TCPConnector._create_connection


class Transport(asyncio.Transport):
    """Collects the bytes of a request, sends it through the host, and passes the bytes of the response to the protocol."""

    def __init__(self, request, protocol):
        super().__init__()
        url = request.url
        self.key = request.connection_key
        self.connection = network.Connection(url.scheme, url.raw_host, url.port, None, False)
        self.protocol = protocol
        self.loop = asyncio.get_running_loop()
        self.task = None
        self.body = None
        self.is_closed = False
        self.may_read = asyncio.Event()
        self.may_read.set()

    def write(self, data):
        if self.task is None and not self.is_closed:
            self.connection.sendall(data)
            if self.connection.is_complete():
                self.task = self.loop.create_task(self.run())
            elif self.connection.is_waiting():
                self.protocol.data_received(b'HTTP/1.1 100 Continue\r\n\r\n')

    async def run(self):
        failure = None
        try:
            answer, self.body = await network.send_async(*self.connection.collected())
            data = network.head_of(answer)
            while data and not self.is_closed:
                self.protocol.data_received(data)
                await self.may_read.wait()
                data = await self.body.next_async()
        except OSError as error:
            failure = error
            if self.body is None:
                self.protocol.set_exception(failure_of(error, self.key))
        self.finish(failure)

    def finish(self, failure):
        if not self.is_closed:
            self.is_closed = True
            self.protocol.connection_lost(failure)

    def close(self):
        if self.is_closed:
            return
        if self.task is not None:
            self.task.cancel()
        if self.body is not None:
            self.body.close()
        self.loop.call_soon(self.protocol.connection_lost, None)
        self.is_closed = True

    abort = close

    def is_closing(self):
        return self.is_closed

    def pause_reading(self):
        self.may_read.clear()

    def resume_reading(self):
        self.may_read.set()


def failure_of(error, key):
    """What aiohttp raises if there is no response."""
    import socket
    import ssl

    if isinstance(error, TimeoutError):
        return aiohttp.ServerTimeoutError(str(error))
    if isinstance(error, ConnectionResetError):
        return aiohttp.ClientOSError(*error.args)
    if isinstance(error, ssl.SSLCertVerificationError):
        return aiohttp.ClientConnectorCertificateError(key, error)
    if isinstance(error, socket.gaierror):
        return getattr(aiohttp, 'ClientConnectorDNSError', aiohttp.ClientConnectorError)(key, error)
    return aiohttp.ClientConnectorError(key, error)


async def create_connection(self, request, traces, timeout):
    if not network.is_allowed():
        return await _create_connection(self, request, traces, timeout)
    if request.proxy:
        error = OSError(network.EINVAL, network.NO_PROXIES)
        raise aiohttp.ClientProxyConnectionError(request.connection_key, error)
    protocol = self._factory()
    protocol.connection_made(Transport(request, protocol))
    return protocol


aiohttp.TCPConnector._create_connection = create_connection
