"""Pipes and processes of the event loop, `asyncio._sandbox_pipes`. Loaded with the first of them."""

import os
import subprocess

from . import base_subprocess, transports

CHUNK_BYTES = 65_536


class _Pipe(transports.BaseTransport):
    def __init__(self, loop, pipe, protocol, waiter, extra):
        super().__init__(extra)
        self._extra['pipe'] = pipe
        self._loop = loop
        self._pipe = pipe
        self._fd = pipe.fileno()
        self._protocol = protocol
        self._is_closing = False
        loop.call_soon(protocol.connection_made, self)
        self._open()
        if waiter is not None:
            loop.call_soon(_finish, waiter)

    def _open(self):
        pass

    def set_protocol(self, protocol):
        self._protocol = protocol

    def get_protocol(self):
        return self._protocol

    def is_closing(self):
        return self._is_closing

    def close(self):
        self._close(None)

    def _close(self, error):
        if self._is_closing:
            return
        self._is_closing = True
        self._loop.call_soon(_disconnect, self._protocol, self._pipe, error)


class ReadPipe(_Pipe, transports.ReadTransport):
    """A pipe, or standard input, that the selector of the loop reads."""

    def _open(self):
        self._loop.call_soon(self.resume_reading)

    def read(self):
        try:
            data = os.read(self._fd, CHUNK_BYTES)
        except OSError as error:
            return self._close(error)
        if data:
            return self._protocol.data_received(data)
        self.pause_reading()
        self._loop.call_soon(self._protocol.eof_received)
        self._close(None)

    def is_reading(self):
        return self._fd in self._loop._selector.pipes

    def pause_reading(self):
        self._loop._selector.pipes.pop(self._fd, None)

    def resume_reading(self):
        if not self._is_closing:
            self._loop._selector.pipes[self._fd] = self

    def _close(self, error):
        if not self._is_closing:
            self.pause_reading()
        super()._close(error)


class WritePipe(_Pipe, transports.WriteTransport):
    """A pipe to which data is written at once: it has room for 16 MiB, and its reader runs only while this process waits."""

    def write(self, data):
        if self._is_closing or not data:
            return
        rest = memoryview(data).cast('B')
        try:
            while rest:
                rest = rest[os.write(self._pipe.fileno(), rest) :]
        except OSError as error:
            self._close(error)

    def get_write_buffer_size(self):
        return 0

    def get_write_buffer_limits(self):
        return 0, 0

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def can_write_eof(self):
        return True

    def write_eof(self):
        self._close(None)

    def abort(self):
        self._close(None)


class Process(base_subprocess.BaseSubprocessTransport):
    """A process that runs while the loop has nothing else to do."""

    # It reached a time limit. For the program, it runs until it is killed.
    is_overdue = False

    def _start(self, args, shell, stdin, stdout, stderr, bufsize, **options):
        self._proc = subprocess.Popen(
            args, shell=shell, stdin=stdin, stdout=stdout, stderr=stderr, universal_newlines=False, bufsize=bufsize, **options
        )

    def run(self, seconds):
        """Runs the process, for a limited time unless `seconds` is None. Returns whether it has ended."""
        if self.is_overdue:
            self._proc.kill()
            seconds = None
        try:
            code = self._proc.wait(seconds)
        except subprocess.TimeoutExpired:
            self.is_overdue = True
            return False
        self._loop.call_soon(self._process_exited, code)
        return True

    def _process_exited(self, returncode):
        super()._process_exited(returncode)
        if (stdin := self.get_pipe_transport(0)) is not None:
            stdin.close()


def _finish(waiter):
    if not waiter.done():
        waiter.set_result(None)


def _disconnect(protocol, pipe, error):
    try:
        protocol.connection_lost(error)
    finally:
        pipe.close()
