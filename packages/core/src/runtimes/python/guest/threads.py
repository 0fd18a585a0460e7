"""Threads that take turns in one interpreter. The module replaces the parts of `_thread` on which `threading` is based.

A thread runs until it waits: for a lock (and so for a queue, an event, a future or the end of a thread), for time to pass, or by
asking for a state again and again. Then the first thread that can continue does so. The order depends only on the program.

To suspend a thread, its innermost function returns into the innermost function of another thread; the host exchanges the
fields of the interpreter that belong to a thread (memory/switch-threads.ts). This works between functions of one main loop of
the interpreter. A function that is called from C code, such as the key of a sort, starts another main loop: a thread that
waits there can only continue in that loop, and threads that wait in outer loops continue when the function has returned.
"""

import _contextvars
import _queue
import _signal as signal
import _thread
import builtins
import sys
import time
from collections import deque, namedtuple
from fcntl import ioctl
from functools import partial
from heapq import heapify, heappop, heappush
from types import BuiltinMethodType, MethodType

__builtins__ = dict(vars(builtins))

# The ioctl requests, with the numbers of THREAD_IOCTL in syscalls/abi.ts.
FIND = 0x4C570021
LEAVE = 0x4C570022
ENTER = 0x4C570023
SWAP = 0x4C570024
END = 0x4C570025
CONTEXT = 0x4C570026

PLACE_BYTES = 20
FIELD_BYTES = 44
# The part of the fields that is kept when a new thread uses the memory of one that has ended: its stack of frames.
STACK_START, STACK_END = 28, 40
# Questions for a state, and turns of threads that can continue, after which sleeping threads continue whose time has passed.
POLLS = 100
# Questions after which a program that asks again and again sleeps a little. The time doubles until a sleeping thread continues.
NAP_POLLS = 10_000
NAP_SECONDS = 0.001
# Failed attempts to acquire a lock, and successful ones while other threads could run, after which other threads run.
ATTEMPTS = 1000
NONE = bytes(4)
NO_THREADS = 'deadlock: the wait would never end: there are no threads that could release the lock, set the event or add an item'

# The exceptions that end a program; set by the boot script.
limit_types = ()

_monotonic = time.monotonic
_sleep = time.sleep
_interrupt_main = _thread.interrupt_main
_first = _thread._get_main_thread_ident()


class Strand:
    """A thread of the program."""

    __slots__ = (
        'place', 'fields', 'function', 'context', 'handle', 'ident', 'is_daemon', 'is_started', 'due', 'granted',
        'error', 'loop', 'task',
    )  # fmt: skip

    def __init__(self, function, handle, is_daemon):
        # The frame that continues, the first frame, the main loop that it depends on (or 0), the running main loop, and an argument.
        self.place = bytearray(PLACE_BYTES)
        self.fields = None
        self.function = function
        self.context = None
        self.handle = handle
        self.is_daemon = is_daemon
        self.is_started = False
        self.due = 0.0
        self.granted = False
        self.error = self.loop = self.task = None


_main_strand = _current = Strand(None, None, False)
_main_strand.ident = _first
_main_strand.is_started = True
# The thread that ran before the current one.
_left = None
# All threads by identifier, those that can continue, and those that continue when time has passed.
_alive = {_first: _main_strand}
_ready = deque()
# The entry of each sleeping thread in a heap that may also contain entries of threads that have continued.
_sleeping = {}
_schedule = []
_last_entry = 0
# Fields of threads that have ended.
_spare = []
_last_ident = _first
# The time that has passed by waiting. It decides on the order, so that the order does not depend on the machine.
_now = 0.0
_polls = _naps = _attempts = _turns = 0
# Whether the program has started a thread.
is_used = False


# ---- switching ----


def _next(loop):
    """The thread that continues next in this main loop; None if there is none."""
    global _turns
    if _sleeping and _ready:
        _turns += 1
        if _turns % POLLS == 0:
            _wake_overdue()
    for one in _ready:
        if not one.is_started or one.place[8:12] in (loop, NONE):
            _ready.remove(one)
            return one
    return _next_sleeper((loop, NONE)) if _sleeping else None


def _next_sleeper(loops):
    """The thread in one of the main loops that sleeps for the shortest time, when this time has passed."""
    global _now
    examined = []
    found = None
    while _schedule and found is None:
        deadline, _, one = entry = heappop(_schedule)
        if _sleeping.get(one) is entry:
            examined.append(entry)
            if one.place[8:12] in loops:
                found = one
    for entry in examined:
        heappush(_schedule, entry)
    if found is not None:
        delay = found.due - _monotonic()
        if delay > 0:
            _sleep(delay)
        _now = max(_now, deadline)
        del _sleeping[found]
    return found


def _wake_overdue():
    """Lets threads continue whose time has passed. Returns the seconds until the next one."""
    global _now, _naps
    while _schedule:
        deadline, _, one = entry = _schedule[0]
        if _sleeping.get(one) is entry:
            delay = one.due - _monotonic()
            if delay > 0:
                return delay
            _now = max(_now, deadline)
            _naps = 0
            del _sleeping[one]
            _ready.append(one)
        heappop(_schedule)
    return 0.0


def _owner(loop):
    """The thread whose function runs in this main loop."""
    for one in _alive.values():
        if one.is_started and one.place[8:12] == loop:
            return one
    return _main_strand


def _blocked(loop):
    """Ends a wait that nothing else can end, with an error in the thread that this main loop belongs to."""
    one = _owner(loop)
    if len(_alive) == 1:
        one.error = RuntimeError(NO_THREADS)
    elif _ready or _sleeping:
        one.error = RuntimeError(
            'deadlock: the wait would never end: it is inside a function that was called from C code (by sorted, map, an iterator '
            'or a destructor), and the thread that could end it cannot run before that function has returned. Wait outside of it'
        )
    else:
        names = _names(list(_alive.values()))
        one.error = RuntimeError(f'deadlock: the wait would never end: all threads wait for each other ({names})')
    return one


def _leave():
    """Returns into the function `_suspend` of the current thread, which is another one than at the call."""
    ioctl(0, LEAVE, _current.place, True)


def _suspend():
    """Runs other threads until the current one can continue."""
    global _current, _left
    me = _current
    place = me.place
    ioctl(0, FIND, place, True)
    loop = place[12:16]
    target = _next(loop)
    if target is None:
        target = _blocked(loop)
    if target is not me:
        me.loop = _asyncio._get_running_loop()
        if me.loop is not None:
            me.task = _asyncio._swap_current_task(me.loop, None)
            _asyncio._set_running_loop(None)
        target.place[12:16] = loop
        _left = me
        _current = target
        try:
            if target.is_started:
                target.place[16:20] = place[0:4]
                _leave()
            else:
                target.is_started = True
                fields = me.fields = _spare.pop() if _spare else bytearray(FIELD_BYTES)
                ioctl(0, SWAP, fields, True)
                _run()
        finally:
            if _current is not me:
                # The thread could not be left.
                _current = me
                target.is_started = target.place[4:8] != NONE
                _ready.appendleft(target)
            fields, me.fields = me.fields, None
            if fields is not None:
                # The buffer receives the fields of the thread that was left.
                if _left.function is not None or _left is _main_strand:
                    _left.fields = fields
                else:
                    _spare.append(fields)
                ioctl(0, SWAP, fields, True)
                if _left.function is None and _left is not _main_strand:
                    fields[:STACK_START] = bytes(STACK_START)
                    fields[STACK_END:] = NONE
            if me.loop is not None:
                _asyncio._set_running_loop(me.loop)
                _asyncio._swap_current_task(me.loop, me.task)
                me.loop = me.task = None
    if me.error is not None:
        error, me.error = me.error, None
        raise error


def _run():
    """Runs the current thread, which is a new one, and returns into another thread."""
    global _current, _left
    while True:
        error = None
        me = _current
        try:
            ioctl(0, ENTER, me.place, True)
            call(me.function, (), {})
        except BaseException as caught:
            error = caught
        try:
            target = _end(me, error)
        except BaseException as caught:
            target = _stop(me.place[12:16], caught)
        error = None
        _left = me
        _current = target
        if target.is_started:
            break
        target.is_started = True
        target.place[12:16] = me.place[12:16]
    me.fields = None
    target.place[12:16] = me.place[12:16]
    target.place[16:20] = NONE
    me = None
    ioctl(0, LEAVE, target.place, True)


def _end(me, error):
    """Ends a thread. Returns the thread that continues."""
    ioctl(0, FIND, me.place, True)
    ioctl(0, END, 0, True)
    del _alive[me.ident]
    if me.handle is not None:
        me.handle._set_done()
    loop = me.place[12:16]
    if isinstance(error, limit_types):
        return _stop(loop, error)
    if error is not None and not isinstance(error, SystemExit):
        # A thread of the module `threading` handles its exceptions itself.
        error.__traceback__ = _program_traceback(error)
        try:
            _report_unraisable(error, getattr(me.function, 'func', me.function))
        except limit_types:
            raise
        except BaseException:
            # The hook of the program failed, or standard error is closed.
            pass
    me.function = me.context = None
    return _next(loop) or _blocked(loop)


def _stop(loop, error):
    """Passes an exception that ends the program to the thread that this main loop belongs to."""
    one = _owner(loop)
    one.error = error
    _sleeping.pop(one, None)
    if one in _ready:
        _ready.remove(one)
    return one


# The type of the argument of `sys.unraisablehook` cannot be instantiated, and the usual hook accepts no other.
_Unraisable = namedtuple('UnraisableHookArgs', 'exc_type exc_value exc_traceback err_msg object')


def _report_unraisable(error, function):
    text = f'Exception ignored in thread started by {function!r:.200}'
    if sys.unraisablehook is not sys.__unraisablehook__:
        sys.unraisablehook(_Unraisable(type(error), error, error.__traceback__, text, None))
    else:
        import traceback

        print(f'{text}:', file=sys.stderr)
        traceback.print_exception(error)


def _program_traceback(error):
    """The traceback of an exception without the functions of this file at its start."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None and tb.tb_frame.f_code.co_filename == __file__:
        tb = tb.tb_next
    return tb


# ---- waiting ----


def wait(waiters, timeout):
    """Waits to be released by `release_all` or for a timeout in seconds (negative: none). Returns whether it was released."""
    me = _current
    me.granted = False
    waiters.append(me)
    if timeout >= 0:
        _fall_asleep(me, timeout)
    try:
        _suspend()
    finally:
        if not me.granted:
            _sleeping.pop(me, None)
            waiters.remove(me)
    return me.granted


def _fall_asleep(one, seconds):
    global _last_entry
    seconds = min(seconds, _thread.TIMEOUT_MAX)
    one.due = _monotonic() + seconds
    _last_entry += 1
    entry = _sleeping[one] = _now + seconds, _last_entry, one
    heappush(_schedule, entry)
    if len(_schedule) > 2 * len(_sleeping) + 100:
        _schedule[:] = _sleeping.values()
        heapify(_schedule)


def _grant(one):
    one.granted = True
    _sleeping.pop(one, None)
    _ready.append(one)


def release_all(waiters):
    while waiters:
        _grant(waiters.popleft())


def poll():
    """Lets other threads run while a program asks for a state again and again."""
    global _polls, _naps
    _polls += 1
    if _sleeping and _polls % POLLS == 0:
        delay = _wake_overdue()
        if delay > 0 and _polls % NAP_POLLS == 0 and not _ready:
            _sleep(min(delay, NAP_SECONDS * 2**_naps))
            _naps = min(_naps + 1, 30)
            _wake_overdue()
    if _ready:
        _give_way()


def _give_way():
    """Lets the threads run that can continue."""
    me = _current
    _ready.append(me)
    try:
        _suspend()
    finally:
        if me in _ready:
            _ready.remove(me)


def _count_attempt(give_way):
    """Lets other threads run after many attempts to acquire a lock. A single attempt is often made while another lock is held."""
    global _attempts
    _attempts += 1
    if _attempts >= ATTEMPTS:
        _attempts = 0
        give_way()


def sleep(seconds, /):
    """Waits for a number of seconds, as `time.sleep` does. Other threads run meanwhile."""
    if len(_alive) == 1 or not 0 <= seconds <= _thread.TIMEOUT_MAX:
        return _sleep(seconds)
    me = _current
    _fall_asleep(me, seconds)
    try:
        _suspend()
    finally:
        _sleeping.pop(me, None)


def has_others():
    return len(_alive) > 1


class lock:
    __slots__ = ('_held', '_waiters', '__weakref__')

    def __init__(self):
        self._held = False
        self._waiters = deque()

    def __init_subclass__(cls):
        raise TypeError("type '_thread.lock' is not an acceptable base type")

    def acquire(self, blocking=True, timeout=-1):
        if timeout != -1:
            if not blocking:
                raise ValueError("can't specify a timeout for a non-blocking call")
            if not timeout >= 0:
                raise ValueError('timeout value must be a non-negative number')
            if timeout > _thread.TIMEOUT_MAX:
                raise OverflowError('timeout value is too large')
        if _ready and blocking:
            _count_attempt(_give_way)
        if self._held:
            if not blocking or timeout == 0:
                if len(_alive) > 1:
                    _count_attempt(poll)
                if self._held:
                    return False
            else:
                try:
                    return wait(self._waiters, timeout)
                except BaseException:
                    if _current.granted:
                        self.release()
                    raise
        self._held = True
        return True

    def release(self):
        if not self._held:
            raise RuntimeError('release unlocked lock')
        if self._waiters:
            _grant(self._waiters.popleft())
        else:
            self._held = False

    def locked(self):
        return self._held

    # `Condition` would try to acquire the lock.
    _is_owned = locked

    def __enter__(self):
        if self._held or _ready:
            return self.acquire()
        self._held = True
        return True

    def __exit__(self, *_):
        self.release()

    def _at_fork_reinit(self):
        self.__init__()

    def __repr__(self):
        state = 'locked' if self._held else 'unlocked'
        return f'<{state} _thread.lock object at {id(self):#x}>'

    acquire_lock, release_lock, locked_lock = acquire, release, locked


# ---- threads ----


class _ThreadHandle:
    def __init__(self, ident=None):
        self.ident = ident
        self._is_done = False
        self._waiters = deque()

    def is_done(self):
        if not self._is_done and len(_alive) > 1:
            poll()
        return self._is_done

    def _set_done(self):
        self._is_done = True
        release_all(self._waiters)

    def join(self, timeout=None):
        if self.ident is None:
            raise RuntimeError('thread not started')
        if not self._is_done:
            if self.ident == _current.ident:
                raise RuntimeError('Cannot join current thread')
            wait(self._waiters, -1 if timeout is None else max(0, timeout))


def start_joinable_thread(function, *, handle=None, daemon=True):
    global _last_ident, is_used
    is_used = True
    strand = Strand(function, handle, daemon)
    if type(function) is MethodType:
        strand.context = getattr(function.__self__, '_context', None)
    if strand.context is not None:
        strand.place[16:20] = id(strand.context).to_bytes(4, 'little')
    _last_ident += 1
    strand.ident = _last_ident
    if handle is None:
        handle = strand.handle = _ThreadHandle()
    handle.ident = strand.ident
    _alive[strand.ident] = strand
    _ready.append(strand)
    return handle


def start_new_thread(function, args, kwargs={}, /):
    if not callable(function):
        raise TypeError('first arg must be callable')
    if type(args) is not tuple:
        raise TypeError('2nd arg must be a tuple')
    return start_joinable_thread(partial(function, *args, **kwargs)).ident


def get_ident():
    return _current.ident


def interrupt(ident, error):
    """Raises an exception in a thread that waits."""
    one = _alive.get(ident)
    if one is _current:
        raise error
    if one is not None and one.is_started:
        one.error = error
        _sleeping.pop(one, None)
        if one not in _ready:
            _ready.append(one)


def interrupt_main(signum=signal.SIGINT, /):
    """Raises KeyboardInterrupt in the main thread, if it waits and handles the signal in the usual way."""
    if _current is not _main_strand and signal.getsignal(signum) is signal.default_int_handler:
        interrupt(_first, KeyboardInterrupt())
    else:
        _interrupt_main(signum)


def call(function, args, kwargs):
    """Calls a function. C code is not involved, if possible, so that a thread can wait in the function."""
    while True:
        kind = type(function)
        if kind is MethodType:
            args = (function.__self__, *args)
            function = function.__func__
        elif kind is partial:
            args = (*function.args, *args)
            kwargs = {**function.keywords, **kwargs}
            function = function.func
        elif kind is BuiltinMethodType and args and type(function.__self__) is _contextvars.Context and function.__name__ == 'run':
            return _call_in_context(function.__self__, args[0], args[1:], kwargs)
        else:
            return function(*args, **kwargs)


def _call_in_context(context, function, args, kwargs):
    address = bytearray(id(context).to_bytes(4, 'little'))
    ioctl(0, CONTEXT, address, True)
    try:
        return call(function, args, kwargs)
    finally:
        ioctl(0, CONTEXT, address, True)


def _bootstrap_inner(self):
    threading = sys.modules['threading']
    try:
        self._set_ident()
        self._started.set()
        with threading._active_limbo_lock:
            threading._active[self._ident] = self
            del threading._limbo[self]
        try:
            self.run()
        except limit_types:
            raise
        except BaseException as error:
            error.__traceback__ = _program_traceback(error)
            self._invoke_excepthook(self)
    finally:
        self._delete()


def _run_target(self):
    try:
        if self._target is not None:
            call(self._target, self._args, self._kwargs)
    finally:
        del self._target, self._args, self._kwargs


def _is_set(self):
    if not self._flag and len(_alive) > 1:
        poll()
    return self._flag


def _is_done(self):
    if len(_alive) > 1 and self._state in ('PENDING', 'RUNNING'):
        poll()
    return self._state not in ('PENDING', 'RUNNING')


def _get(self, block=True, timeout=None):
    try:
        return _queue_get(self, block, timeout)
    except _queue.Empty:
        if not block and len(_alive) > 1:
            poll()
        raise


def _is_empty(self):
    if not self._qsize() and len(_alive) > 1:
        poll()
    return not self._qsize()


def finish(is_kept, has_failed):
    """Runs the threads that are not daemons to their end, as the interpreter does when a program ends.

    Threads that wait for something that nothing can do anymore are an error, unless the program has failed. In a session, they are
    kept instead: a later program can wake them.
    """
    if len(_alive) == 1:
        return
    if not is_kept:
        threading = sys.modules['threading']
        for exit_function in reversed(threading._threading_atexits):
            exit_function()
        threading._threading_atexits.clear()
    while True:
        waiting = [one for one in _alive.values() if not one.is_daemon and one is not _main_strand]
        if not waiting:
            return
        if is_kept and not _ready and not any(one in _sleeping for one in waiting):
            return
        if _ready:
            poll()
        elif _sleeping:
            waiting[0].handle.join(0.05 if is_kept else None)
        elif has_failed:
            return
        else:
            raise RuntimeError(f'deadlock: the program has ended, but threads wait for each other ({_names(waiting)})')


def become_daemon():
    """The end of the program does not wait for the current thread."""
    _current.is_daemon = True


def abandon():
    """After a call that a limit has stopped: later calls do not wait for the end of the threads that are left."""
    for one in _alive.values():
        one.is_daemon = True


def _names(strands):
    active = sys.modules['threading']._active
    threads = [active.get(one.ident) for one in strands[:6]]
    return ', '.join(thread.name[:50] for thread in threads if thread is not None)


def install():
    """Replaces the functions of `_thread` and of the modules that are based on it, which must not be loaded before."""
    for replaced in (lock, _ThreadHandle, start_joinable_thread, start_new_thread, get_ident, interrupt_main):
        replaced.__module__ = '_thread'
        setattr(_thread, replaced.__name__, replaced)
    for name, value in {
        'allocate_lock': lock, 'allocate': lock, 'LockType': lock, '_make_thread_handle': _ThreadHandle,
        'start_new': start_new_thread, '_count': lambda: len(_alive) - 1,
    }.items():  # fmt: skip
        setattr(_thread, name, value)
    time.sleep = sleep
    sleep.__module__ = 'time'
    # `queue` has a version in Python.
    del _queue.SimpleQueue
    global _asyncio, _queue_get
    import queue
    import threading

    import _asyncio

    # `threading` has a version in Python.
    threading._CRLock = None
    threading.Thread._bootstrap_inner = _bootstrap_inner
    threading.Thread.run = _run_target
    threading.Event.is_set = _is_set
    _queue_get = queue.Queue.get
    queue.Queue.get, queue.Queue.empty = _get, _is_empty
    from concurrent.futures import _base, thread

    thread.WorkerContext.run = lambda self, task: call(*task)
    _base.Future.done = _is_done
