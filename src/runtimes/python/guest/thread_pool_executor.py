"""An executor without threads. This file replaces `concurrent.futures.thread`.

`submit` runs the function immediately and returns a finished future.
"""

from concurrent.futures import _base

__all__ = ('BrokenThreadPool', 'ThreadPoolExecutor')


class BrokenThreadPool(_base.BrokenExecutor):
    """Raised by `submit` if the initializer of the executor has failed."""


class ThreadPoolExecutor(_base.Executor):
    BROKEN = BrokenThreadPool

    def __init__(self, max_workers=None, thread_name_prefix='', initializer=None, initargs=(), **ctxkwargs):
        if max_workers is None:
            max_workers = 1
        if max_workers <= 0:
            raise ValueError('max_workers must be greater than 0')
        if initializer is not None and not callable(initializer):
            raise TypeError('initializer must be a callable')
        self._max_workers = max_workers
        self._thread_name_prefix = thread_name_prefix
        self._initializer = initializer
        self._initargs = initargs
        self._broken = False
        self._shutdown = False

    def submit(self, fn, /, *args, **kwargs):
        if self._broken:
            raise self.BROKEN('A thread initializer failed, the thread pool is not usable anymore')
        if self._shutdown:
            raise RuntimeError('cannot schedule new futures after shutdown')
        future = _base.Future()
        if self._initializer is not None:
            initializer, self._initializer = self._initializer, None
            try:
                initializer(*self._initargs)
            except Exception:
                self._broken = True
                future.set_exception(self.BROKEN('A thread initializer failed, the thread pool is not usable anymore'))
                return future
        future.set_running_or_notify_cancel()
        try:
            result = fn(*args, **kwargs)
        except (Exception, SystemExit) as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._shutdown = True
