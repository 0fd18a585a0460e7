"""An event loop without sockets. This file replaces `asyncio.unix_events`, from which asyncio imports its loop.

The loop never waits for a descriptor. It sleeps until a timer is due or another thread wakes it, so it needs no self-pipe.
"""

import time
from collections import deque

import _sandbox_threads as threads

from . import base_events, events, tasks

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

    def __init__(self):
        self.waiters = deque()
        self.is_woken = False

    def select(self, timeout):
        self.is_woken = False
        if threads.has_others():
            threads.poll()
            if self.is_woken or timeout == 0:
                return []
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

    def close(self):
        pass


class SandboxEventLoop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _SleepingSelector()

    def close(self):
        super().close()
        self._selector.close()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        # Called by other threads after they have added a callback.
        self._selector.is_woken = True
        threads.release_all(self._selector.waiters)

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError('signal handlers are not supported in the sandbox')


SelectorEventLoop = SandboxEventLoop
EventLoop = SandboxEventLoop


class _DefaultEventLoopPolicy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = SandboxEventLoop
