"""Processes as threads. This file replaces `multiprocessing.context`, on which the functions of `multiprocessing` are based.

A process is a thread of the same interpreter (_sandbox_threads.py): it shares all objects with the program, and arguments and
results are passed without pickling.
"""

import itertools
import os
import queue
import sys
import threading
import traceback

import _sandbox_threads as threads

from . import process, reduction

__all__ = ()


class ProcessError(Exception):
    pass


class BufferTooShort(ProcessError):
    pass


class TimeoutError(ProcessError):
    pass


class AuthenticationError(ProcessError):
    pass


def current_process():
    return getattr(threading.current_thread(), '_process', process._current_process)


process.current_process = current_process
_pids = itertools.count(os.getpid() + 1)


class _Popen:
    """The thread of a process, with the methods that `BaseProcess` calls."""

    method = 'fork'

    def __init__(self, started):
        self.returncode = None
        self.pid = self.sentinel = next(_pids)
        self._thread = threading.Thread(target=self._run, args=(started,), name=started.name, daemon=started.daemon)
        self._thread._process = started
        # The process refers to its thread before it runs.
        started._popen = self
        self._thread.start()

    def _run(self, started):
        code = 1
        try:
            started.run()
            code = 0
        except SystemExit as error:
            if error.code is None:
                code = 0
            elif isinstance(error.code, int):
                code = error.code
            else:
                print(error.code, file=sys.stderr)
        except Exception:
            print(f'Process {started.name}:', file=sys.stderr)
            traceback.print_exc()
        finally:
            if self.returncode is None:
                self.returncode = code

    def poll(self, flag=None):
        return None if self._thread.is_alive() else self.returncode

    def wait(self, timeout=None):
        self._thread.join(timeout)
        return self.poll()

    def terminate(self, code=-15):
        if self.poll() is None:
            self.returncode = code
            threads.interrupt(self._thread.ident, SystemExit())

    def kill(self):
        self.terminate(-9)

    def close(self):
        pass


class Process(process.BaseProcess):
    _start_method = None

    @staticmethod
    def _Popen(started):
        return _Popen(started)

    def run(self):
        if self._target is not None:
            threads.call(self._target, self._args, self._kwargs)


class _QueueMethods:
    """The methods that queues of `multiprocessing` have in addition."""

    _is_closed = False

    def put(self, *args, **kwargs):
        if self._is_closed:
            raise ValueError(f'Queue {self!r} is closed')
        return super().put(*args, **kwargs)

    def close(self):
        self._is_closed = True

    def join_thread(self):
        pass

    cancel_join_thread = join_thread


class Queue(_QueueMethods, queue.Queue):
    pass


class SimpleQueue(_QueueMethods, queue.SimpleQueue):
    pass


class Connection:
    """An end of a pipe. Objects are passed without pickling."""

    def __init__(self, inbox, outbox):
        self._inbox = inbox
        self._outbox = outbox
        self._closed_by = set()
        self.peer = None

    @property
    def closed(self):
        return current_process() in self._closed_by

    def _check(self, box, direction):
        if self.closed:
            raise OSError('handle is closed')
        if box is None:
            raise OSError(f'connection is {direction}-only')

    def send(self, item):
        self._check(self._outbox, 'read')
        self._outbox.put(item)

    def recv(self):
        self._check(self._inbox, 'write')
        if self._inbox.empty() and self.peer._closed_by and not threads.has_others():
            raise EOFError
        try:
            return self._inbox.get()
        except RuntimeError:
            # Nothing can send an item anymore.
            if self.peer._closed_by:
                raise EOFError from None
            raise

    def poll(self, timeout=0.0):
        self._check(self._inbox, 'write')
        inbox = self._inbox
        if timeout != 0 and inbox.empty():
            with inbox.not_empty:
                inbox.not_empty.wait_for(inbox._qsize, timeout)
        else:
            threads.poll()
        return not inbox.empty()

    def send_bytes(self, buffer, offset=0, size=None):
        data = bytes(memoryview(buffer).cast('B')[offset:])
        self.send(data if size is None else data[:size])

    def recv_bytes(self, maxlength=None):
        data = self.recv()
        if maxlength is not None and len(data) > maxlength:
            raise OSError('message is too long')
        return data

    def close(self):
        self._closed_by.add(current_process())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _pipe(duplex):
    there, back = queue.Queue(), queue.Queue() if duplex else None
    one, other = Connection(back, there), Connection(there, back)
    one.peer, other.peer = other, one
    return (one, other) if duplex else (other, one)


class Namespace:
    def __init__(self, /, **values):
        self.__dict__.update(values)

    def __repr__(self):
        shown = ', '.join(f'{name}={value!r}' for name, value in sorted(self.__dict__.items()) if not name.startswith('_'))
        return f'{type(self).__name__}({shown})'


class Manager:
    """Creates the objects that a manager shares. All threads share them anyway."""

    dict, list, Namespace = dict, list, Namespace

    def __getattr__(self, name):
        return getattr(_default_context, name)

    def start(self, *_):
        pass

    shutdown = join = start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def _shared_types():
    """The module `sharedctypes`, with ordinary memory."""
    from . import sharedctypes

    def raw_value(kind, *args):
        return sharedctypes.typecode_to_type.get(kind, kind)(*args)

    def raw_array(kind, values):
        kind = sharedctypes.typecode_to_type.get(kind, kind)
        return (kind * values)() if isinstance(values, int) else (kind * len(values))(*values)

    sharedctypes._new_value = lambda kind: kind()
    sharedctypes.RawValue, sharedctypes.RawArray = raw_value, raw_array
    return sharedctypes


class BaseContext:
    ProcessError = ProcessError
    BufferTooShort = BufferTooShort
    TimeoutError = TimeoutError
    AuthenticationError = AuthenticationError
    Process = Process
    current_process = staticmethod(current_process)
    parent_process = staticmethod(process.parent_process)
    active_children = staticmethod(process.active_children)
    Lock = staticmethod(threading.Lock)
    RLock = staticmethod(threading.RLock)
    Condition = staticmethod(threading.Condition)
    Semaphore = staticmethod(threading.Semaphore)
    BoundedSemaphore = staticmethod(threading.BoundedSemaphore)
    Event = staticmethod(threading.Event)
    Barrier = staticmethod(threading.Barrier)
    Queue = JoinableQueue = Queue
    SimpleQueue = SimpleQueue
    Manager = Manager

    def __init__(self, name='fork'):
        self._name = name

    def cpu_count(self):
        return os.cpu_count() or 1

    def Pipe(self, duplex=True):
        return _pipe(duplex)

    def Pool(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None):
        from .pool import Pool

        return Pool(processes, initializer, initargs, maxtasksperchild, self)

    def RawValue(self, kind, *args):
        return _shared_types().RawValue(kind, *args)

    def RawArray(self, kind, values):
        return _shared_types().RawArray(kind, values)

    def Value(self, kind, *args, lock=True):
        return _shared_types().Value(kind, *args, lock=lock, ctx=self)

    def Array(self, kind, values, *, lock=True):
        return _shared_types().Array(kind, values, lock=lock, ctx=self)

    def freeze_support(self):
        pass

    def get_logger(self):
        from .util import get_logger

        return get_logger()

    def log_to_stderr(self, level=None):
        from .util import log_to_stderr

        return log_to_stderr(level)

    def set_executable(self, executable):
        pass

    def set_forkserver_preload(self, module_names):
        pass

    def allow_connection_pickling(self):
        pass

    def get_context(self, method=None):
        if method is None:
            return self
        if method not in _METHODS:
            raise ValueError(f'cannot find context for {method!r}')
        return BaseContext(method)

    def get_start_method(self, allow_none=False):
        return self._name

    def set_start_method(self, method, force=False):
        if method is not None:
            self._name = self.get_context(method)._name

    def get_all_start_methods(self):
        return list(_METHODS)

    @property
    def reducer(self):
        return reduction

    def _check_available(self):
        pass


class DefaultContext(BaseContext):
    pass


ForkContext = SpawnContext = ForkServerContext = BaseContext
ForkProcess = SpawnProcess = ForkServerProcess = Process
_METHODS = ('fork', 'spawn', 'forkserver')
_default_context = DefaultContext()


def get_spawning_popen():
    return None


def set_spawning_popen(popen):
    pass


def assert_spawning(obj):
    raise RuntimeError(f'{type(obj).__name__} objects should only be shared between processes through inheritance')
