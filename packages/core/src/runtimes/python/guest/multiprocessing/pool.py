"""Pools of threads, over the executor of `concurrent.futures`. This file replaces `multiprocessing.pool`; see context.py."""

import os
import queue
import threading
from concurrent.futures import CancelledError, thread, wait

import _sandbox_threads as threads

from . import TimeoutError, context

__all__ = ['Pool', 'ThreadPool']


def _error_of(future):
    return CancelledError() if future.cancelled() else future.exception()


class AsyncResult:
    """The result of a call, or the list of the results of several."""

    def __init__(self, futures, is_list, callback, error_callback):
        self._futures = futures
        self._is_list = is_list
        self._callbacks = callback, error_callback
        self._left = len(futures) or 1
        self._done = threading.Event()
        for one in futures:
            one.add_done_callback(self._end)
        if not futures:
            self._end(None)

    def _end(self, _):
        self._left -= 1
        if self._left > 0:
            return
        self._error = next(filter(None, map(_error_of, self._futures)), None)
        callback, error_callback = self._callbacks
        try:
            if self._error is not None and error_callback is not None:
                error_callback(self._error)
            elif self._error is None and callback is not None:
                callback(self._value())
        finally:
            self._done.set()

    def _value(self):
        values = [one.result() for one in self._futures]
        return values if self._is_list else values[0]

    def ready(self):
        return self._done.is_set()

    def successful(self):
        if not self.ready():
            raise ValueError(f'{self!r} not ready')
        return self._error is None

    def wait(self, timeout=None):
        self._done.wait(timeout)

    def get(self, timeout=None):
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._value()


class IMapIterator:
    def __init__(self, futures, is_ordered):
        self._left = len(futures)
        self._next = None
        self._queue = queue.SimpleQueue()
        for one in futures:
            if is_ordered:
                self._queue.put(one)
            else:
                one.add_done_callback(self._queue.put)

    def __iter__(self):
        return self

    def next(self, timeout=None):
        if self._next is None:
            if self._left == 0:
                raise StopIteration
            try:
                self._next = self._queue.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError from None
        if not wait([self._next], timeout).done:
            raise TimeoutError
        one, self._next = self._next, None
        self._left -= 1
        return one.result()

    __next__ = next


class Pool:
    def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
        self._processes = (os.cpu_count() or 1) if processes is None else processes
        if self._processes < 1:
            raise ValueError('Number of processes must be at least 1')
        if initializer is not None and not callable(initializer):
            raise TypeError('initializer must be a callable')
        self._is_running = True
        # The threads that call functions of the program.
        self._busy = set()
        self._executor = thread.ThreadPoolExecutor(
            self._processes, initializer=self._begin, initargs=(initializer, initargs)
        )

    def _begin(self, initializer, initargs):
        """Makes a thread of the executor a worker that does not keep the program from ending."""
        me = threading.current_thread()
        if not isinstance(self, ThreadPool):
            me._process = context.Process(daemon=True)
            me._process.name = me._process.name.replace('Process', 'PoolWorker')
        thread._threads_queues.pop(me, None)
        threads.become_daemon()
        if initializer is not None:
            initializer(*initargs)

    def _call(self, function, args, kwds):
        me = threading.get_ident()
        self._busy.add(me)
        try:
            return threads.call(function, args, kwds)
        finally:
            self._busy.discard(me)

    def _submit(self, func, calls, kwds={}):
        if not self._is_running:
            raise ValueError('Pool not running')
        return [self._executor.submit(self._call, func, args, kwds) for args in calls]

    def apply(self, func, args=(), kwds={}):
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func, args=(), kwds={}, callback=None, error_callback=None):
        return AsyncResult(self._submit(func, [args], kwds), False, callback, error_callback)

    def map(self, func, iterable, chunksize=None):
        return self.map_async(func, iterable).get()

    def map_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return self.starmap_async(func, zip(iterable), chunksize, callback, error_callback)

    def starmap(self, func, iterable, chunksize=None):
        return self.starmap_async(func, iterable).get()

    def starmap_async(self, func, iterable, chunksize=None, callback=None, error_callback=None):
        return AsyncResult(self._submit(func, map(tuple, iterable)), True, callback, error_callback)

    def imap(self, func, iterable, chunksize=1):
        return IMapIterator(self._submit(func, zip(iterable)), True)

    def imap_unordered(self, func, iterable, chunksize=1):
        return IMapIterator(self._submit(func, zip(iterable)), False)

    def close(self):
        self._is_running = False
        self._executor.shutdown(False)

    def terminate(self):
        self._is_running = False
        self._executor.shutdown(False, cancel_futures=True)
        for ident in list(self._busy):
            threads.interrupt(ident, SystemExit())

    def join(self):
        if self._is_running:
            raise ValueError('Pool is still running')
        self._executor.shutdown()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.terminate()


class ThreadPool(Pool):
    def __init__(self, processes=None, initializer=None, initargs=()):
        super().__init__(processes, initializer, initargs)
