"""An event loop without sockets. This file replaces `asyncio.unix_events`, from which asyncio imports its loop.

The loop sleeps until a timer is due or another thread wakes it, so it needs no self-pipe. If nothing else is to be done, it runs
processes to their end and reads from pipes.
"""

import time
from collections import deque

import _sandbox_threads as threads

from . import base_events, events, futures, tasks

__all__ = ('SelectorEventLoop', 'EventLoop')


def _waiting_tasks():
    """Where the first tasks of the running loop wait, for the error message."""
    places = []
    for task in tasks.all_tasks():
        name = line = None
        # The innermost coroutine that is not part of asyncio.
        coroutine = task.get_coro()
        for _ in range(100):
            frame = getattr(coroutine, 'cr_frame', None)
            if frame is None:
                break
            if '/asyncio/' not in frame.f_code.co_filename:
                name, line = frame.f_code.co_name, frame.f_lineno
            coroutine = coroutine.cr_await
        if name is not None:
            places.append((line, f'{name} (line {line})'))
    places.sort()
    return ''.join(f'{", " if i else "; waiting: "}{text}' for i, (_, text) in enumerate(places[:5]))


class _SleepingSelector:
    """A selector for the base loop that sleeps until the next timer is due, or until a tool has answered."""

    # Waits for tools; see _sandbox_tools.py. Returns False if the program waits for none.
    tools = None

    def __init__(self, scheduled):
        self.waiters = deque()
        self.is_woken = False
        self.scheduled = scheduled
        # The transports of processes that have not ended, and of pipes that are read, by descriptor.
        self.children = []
        self.pipes = {}

    def select(self, timeout):
        self.is_woken = False
        if threads.has_others():
            threads.poll()
            if self.is_woken or timeout == 0:
                return []
        if timeout != 0 and (self.children or self.pipes):
            return self._run_child() if self.children else self._read_pipes(timeout)
        if self.tools is not None and type(self).tools(timeout):
            return []
        if threads.has_others():
            threads.wait(self.waiters, -1 if timeout is None else timeout)
            return []
        if timeout is None:
            raise RuntimeError(f'the event loop would wait forever: no timer or callback is scheduled{_waiting_tasks()}')
        if timeout > 0:
            time.sleep(timeout)
        return []

    def _run_child(self):
        """Runs a process until it ends or a timer is due that may be its time limit. `asyncio.sleep` limits nothing."""
        self.children.sort(key=lambda child: child.is_overdue)
        child = self.children[0]
        limits = [
            timer.when()
            for timer in self.scheduled
            if not timer.cancelled() and timer._callback is not futures._set_result_unless_cancelled
        ]
        if child.run(max(0, min(limits) - time.monotonic()) if limits else None):
            self.children.remove(child)
        return []

    def _read_pipes(self, timeout):
        from select import POLLIN, poll

        poller = poll()
        for descriptor in self.pipes:
            poller.register(descriptor, POLLIN)
        for descriptor, _ in poller.poll(None if timeout is None else timeout * 1000):
            if descriptor in self.pipes:
                self.pipes[descriptor].read()
        return []

    def close(self):
        self.children.clear()
        self.pipes.clear()


class SandboxEventLoop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _SleepingSelector(self._scheduled)

    def close(self):
        super().close()
        self._selector.close()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        # Called by other threads after they have added a callback.
        self._selector.is_woken = True
        threads.release_all(self._selector.waiters)

    def _make_read_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        from ._sandbox_pipes import ReadPipe

        return ReadPipe(self, pipe, protocol, waiter, extra)

    def _make_write_pipe_transport(self, pipe, protocol, waiter=None, extra=None):
        from ._sandbox_pipes import WritePipe

        return WritePipe(self, pipe, protocol, waiter, extra)

    async def _make_subprocess_transport(self, protocol, args, shell, stdin, stdout, stderr, bufsize, extra=None, **options):
        from ._sandbox_pipes import Process

        waiter = self.create_future()
        process = Process(
            self, protocol, args, shell, stdin, stdout, stderr, bufsize, waiter=waiter, extra=extra, **options
        )
        self._selector.children.append(process)
        try:
            await waiter
        except BaseException:
            process.close()
            await process._wait()
            raise
        return process

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError('signal handlers are not supported in the sandbox')


SelectorEventLoop = SandboxEventLoop
EventLoop = SandboxEventLoop


class _DefaultEventLoopPolicy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = SandboxEventLoop
