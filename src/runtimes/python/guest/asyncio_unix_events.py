"""The event loop of a guest that has no sockets: it stands in the place of asyncio's module for Unix.

asyncio imports its loop from `asyncio.unix_events`; this file is laid there. The loop never waits for a descriptor, so
waiting is sleeping, and nothing from outside can wake it, so it needs no pipe to itself.
"""

import time

from . import base_events, events

__all__ = ('SelectorEventLoop', 'EventLoop')


class _Clockwork:
    """What the base loop asks of a selector: let time pass until something is due."""

    def select(self, timeout):
        if timeout is None:
            raise RuntimeError('the event loop would wait for ever: nothing is scheduled that could wake it')
        if timeout > 0:
            time.sleep(timeout)
        return []

    def close(self):
        pass


class SandboxEventLoop(base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = _Clockwork()

    def close(self):
        super().close()
        self._selector.close()

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError('signals do not reach the sandbox')


SelectorEventLoop = SandboxEventLoop
EventLoop = SandboxEventLoop


class _DefaultEventLoopPolicy(events._BaseDefaultEventLoopPolicy):
    _loop_factory = SandboxEventLoop
