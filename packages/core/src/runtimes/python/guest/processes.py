"""Processes: the functions of `os` and `_posixsubprocess` over the system calls of the host, and the command `python3` in a child."""

import builtins
import errno
import os
import sys
import _sandbox_local_time as local_time
from fcntl import F_GETFD, F_SETFD, FD_CLOEXEC, fcntl, ioctl
from json import JSONDecoder, JSONEncoder

__builtins__ = dict(vars(builtins))

# The ioctl request, with the number of PROCESS_IOCTL in syscalls/abi.ts.
CALL = 0x4C570041
# Python copies shorter buffers, and the host would not see the original.
BUFFER_BYTES = 1100
# No process has this number.
NO_PROCESS = 2**30
MAX_INT = 2**31 - 1
EXECUTABLE = '/usr/bin/python3'

encode = JSONEncoder(separators=(',', ':')).encode
send_signal = os.kill
make_pipe = os.pipe
spawn_open, spawn_close, spawn_dup2 = range(3)


def call(operation, **fields):
    """Makes a system call. Returns its result and the number that it stores."""
    data = encode({'kind': operation, **fields}).encode()
    buffer = bytearray(max(len(data) + 4, BUFFER_BYTES))
    buffer[:4] = len(data).to_bytes(4, 'little')
    buffer[4 : 4 + len(data)] = data
    result = ioctl(0, CALL, buffer, True)
    return result, int.from_bytes(buffer[:4], 'little')


def text_of(value):
    text = os.fsencode(value).decode('utf-8', 'surrogateescape')
    if '\0' in text:
        raise ValueError('embedded null byte')
    return text


def texts_of(values):
    return [text_of(value) for value in values]


def environment(env):
    """The environment as NAME=value."""
    if env is None:
        env = os.environb
    return [f'{text_of(key)}={text_of(value)}' for key, value in env.items()]


def start(paths, argv, env, fds, inherits_all=False, cwd=None):
    """Starts the first program that exists. `fds` are pairs of a descriptor of the child and one of this process."""
    if not argv:
        raise ValueError('argv must not be empty')
    failure = None
    fields = {'argv': argv, 'env': env, 'fds': fds, 'all': inherits_all, 'cwd': None if cwd is None else text_of(cwd)}
    for path in paths:
        try:
            return call('spawn', path=text_of(path), **fields)[0]
        except (FileNotFoundError, NotADirectoryError) as error:
            failure = failure or error
        except PermissionError as error:
            failure = error
    raise failure


# ---- _posixsubprocess ----


def fork_exec(args, executables, close_fds, fds_to_keep, cwd, env, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite,
              errpipe_read, errpipe_write, restore_signals, call_setsid, process_group, gid, extra_groups, uid, umask,
              preexec_fn):  # fmt: skip
    """Starts a process as subprocess.Popen asks for it. As there, a failure is reported through a pipe."""
    if preexec_fn is not None:
        raise RuntimeError('preexec_fn is not supported: a process starts in a new interpreter, without the functions of this one')
    check_kept(fds_to_keep)
    try:
        if any(value not in (None, 0, -1) for value in (gid, uid)) or extra_groups:
            raise PermissionError(errno.EPERM, '')
        if cwd is not None:
            check_directory(cwd)
    except OSError as error:
        is_directory = not isinstance(error, PermissionError) or cwd is not None
        os.write(errpipe_write, b'OSError:%x:noexec%s' % (error.errno, b':chdir' if is_directory else b''))
        return NO_PROCESS
    kept = [] if not close_fds else [(fd, fd) for fd in fds_to_keep if fd != errpipe_write and is_open(fd)]
    standard = enumerate((p2cread, c2pwrite, errwrite))
    fds = kept + [(fd, fd if own == -1 else own) for fd, own in standard if own != -1 or (close_fds and is_open(fd))]
    before = os.umask(umask) if umask >= 0 else None
    try:
        names = environment(None) if env is None else texts_of(env)
        return start(executables, texts_of(args), names, fds, not close_fds, cwd)
    except OSError as error:
        os.write(errpipe_write, b'OSError:%x:' % error.errno)
        return NO_PROCESS
    finally:
        if before is not None:
            os.umask(before)


def check_kept(fds):
    """Like the original, accepts only sorted descriptors."""
    last = -1
    for fd in fds:
        if not isinstance(fd, int) or fd <= last or fd > MAX_INT:
            raise ValueError('bad value(s) in fds_to_keep')
        last = fd


def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def check_directory(path):
    if not os.path.isdir(path):
        os.stat(path)
        raise NotADirectoryError(errno.ENOTDIR, '')


def wait(self, timeout):
    """Popen._wait with a timeout. The original sleeps in short steps, in which no process can run."""
    import subprocess

    if self.returncode is None:
        try:
            pid, status = wait_for(self.pid, 0, max(0, timeout))
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid != self.pid:
            raise subprocess.TimeoutExpired(self.args, timeout)
        self._handle_exitstatus(status)
    return self.returncode


def drain(stream, chunks):
    """Reads what a process wrote before it was ended by a timeout."""
    if stream and not stream.closed and chunks is not None:
        while chunk := os.read(stream.fileno(), 65_536):
            chunks.append(chunk)


# ---- os ----


def set_inheritable(fd, inheritable, /):
    """Set the inheritable flag of the specified file descriptor."""
    flags = fcntl(fd, F_GETFD) & ~FD_CLOEXEC
    fcntl(fd, F_SETFD, flags if inheritable else flags | FD_CLOEXEC)


def pipe():
    """Create a pipe."""
    ends = make_pipe()
    for fd in ends:
        set_inheritable(fd, False)
    return ends


def wait_for(pid, options=0, timeout=None):
    milliseconds = None if timeout is None else timeout * 1000
    found, status = call('wait', pid=pid, no_hang=bool(options & 1), timeout_ms=milliseconds)
    return (found, status) if found > 0 else (0, 0)


def waitpid(pid, options, /):
    """Wait for completion of a given child process."""
    if pid < -1 or pid == 0:
        pid = -1
    return wait_for(pid, options)


def kill(pid, signal, /):
    """Kill a process with a signal."""
    if pid == os.getpid() and not is_child:
        return send_signal(pid, signal)
    from signal import SIG_DFL, getsignal

    if pid == os.getpid() and signal > 0 and getsignal(signal) is not SIG_DFL and signal not in (9, 19):
        from signal import raise_signal

        return raise_signal(signal)
    call('kill', pid=pid, signal=int(signal))


def posix_spawn(path, argv, env, /, *, file_actions=(), setpgroup=None, resetids=False, setsid=False, setsigmask=(),
                setsigdef=(), scheduler=None):  # fmt: skip
    """Execute the program specified by path in a new process."""
    return spawn_with_actions([path], argv, env, file_actions)


def posix_spawnp(path, argv, env, /, **options):
    """Execute the program specified by path in a new process."""
    name = os.fspath(path)
    paths = [name] if os.path.dirname(name) else [os.path.join(folder, name) for folder in os.get_exec_path()]
    return spawn_with_actions(paths, argv, env, options.get('file_actions') or ())


def spawn_with_actions(paths, argv, env, actions):
    fds = []
    opened = []
    try:
        for kind, *details in actions or ():
            if kind == spawn_open:
                fd, path, flags, mode = details
                opened.append(os.open(path, flags, mode))
                fds.append((fd, opened[-1]))
            elif kind == spawn_close:
                fds.append((details[0], -1))
            else:
                fds.append((details[1], details[0]))
        return start(paths, texts_of(argv), environment(env), fds, True)
    finally:
        for fd in opened:
            os.close(fd)


def execv(path, argv, /):
    """Execute an executable path with arguments, replacing current process."""
    execve(path, argv, None)


def execve(path, argv, env):
    """Execute an executable path with arguments, replacing current process."""
    if not argv:
        raise ValueError('execve() arg 2 must not be empty')
    try:
        call('exec', path=text_of(path), argv=texts_of(argv), env=environment(env))
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None


def spawn(mode, file, args, env, func):
    """The common part of os.spawnv and its variants."""
    run = posix_spawnp if func in (os.execvp, os.execvpe) else posix_spawn
    try:
        pid = run(file, args, os.environ if env is None else env)
    except OSError:
        return NO_PROCESS if mode == os.P_NOWAIT else 127
    return pid if mode == os.P_NOWAIT else os.waitstatus_to_exitcode(waitpid(pid, 0)[1])


def system(command):
    """Execute the command in a subshell."""
    flush()
    try:
        pid = posix_spawn('/bin/sh', ['sh', '-c', command], os.environ)
    except OSError:
        return 127 << 8
    return waitpid(pid, 0)[1]


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


is_child = False
# The versions of the packages that other processes can have, by name.
other_packages = {}
OWN_FUNCTIONS = (waitpid, kill, pipe, set_inheritable, posix_spawn, posix_spawnp, execv, execve, system)


def install():
    """Replaces the functions of the interpreter, which has no processes of its own."""
    for function in OWN_FUNCTIONS:
        function.__module__ = 'posix'
        setattr(os, function.__name__, function)
    os.wait = lambda: waitpid(-1, 0)
    os.geteuid, os.getegid, os.getgroups = os.getuid, os.getgid, lambda: [os.getgid()]
    os._spawnvef = spawn
    os.POSIX_SPAWN_OPEN, os.POSIX_SPAWN_CLOSE, os.POSIX_SPAWN_DUP2 = spawn_open, spawn_close, spawn_dup2
    module = type(sys)('_posixsubprocess')
    module.fork_exec = fork_exec
    sys.modules['_posixsubprocess'] = module
    sys.executable = sys._base_executable = EXECUTABLE


def install_wait():
    """Replaces the part of Popen that would sleep until a process ends."""
    import subprocess

    original = subprocess.Popen._wait
    check = subprocess.Popen._check_timeout

    def _wait(self, timeout):
        return original(self, None) if timeout is None else wait(self, timeout)

    def _check_timeout(self, endtime, orig_timeout, stdout_seq, stderr_seq, skip_check_and_raise=False):
        if endtime is not None and (skip_check_and_raise or self._remaining_time(endtime) < 0):
            drain(self.stdout, stdout_seq)
            drain(self.stderr, stderr_seq)
        return check(self, endtime, orig_timeout, stdout_seq, stderr_seq, skip_check_and_raise)

    subprocess.Popen._wait = _wait
    subprocess.Popen._check_timeout = _check_timeout


# ---- the command python3 ----

FLAGS_WITH_VALUE = 'WX'
VERSION = 'Python ' + sys.version.split()[0]
USAGE = 'usage: python3 [option] ... [-c cmd | -m mod | file | -] [arg] ...'


def main():
    """Runs a command line: `sys.argv[1]` has it as JSON."""
    global is_child
    is_child = True
    request = JSONDecoder().decode(sys.argv[1])
    other_packages.update(name.split('==') for name in request.get('others', ()))
    os.environ.clear()
    for entry in request['env']:
        key, _, value = entry.partition('=')
        if key:
            os.environ[key] = value
    local_time.follow(os.environ)
    pid = request['pid']
    os.getpid = lambda: pid
    name, *words = request['argv'] or ['python3']
    failure = None
    try:
        run_named(os.path.basename(name), words)
    except SystemExit:
        raise
    except BaseException as error:
        failure = error
    if failure is None:
        return
    if isinstance(failure, ImportError):
        from _sandbox_pip import find_missing_module

        find_missing_module(failure)
    tb = failure.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == __file__:
        tb = tb.tb_next
    failure.__traceback__ = tb
    sys.excepthook(type(failure), failure, tb)
    sys.exit(130 if isinstance(failure, KeyboardInterrupt) else 1)


def run_command(words):
    while words and len(words[0]) > 1 and words[0].startswith('-'):
        word = words.pop(0)
        if word in ('--version', '--help'):
            sys.exit(print(VERSION if word == '--version' else USAGE))
        if word.startswith('--'):
            continue
        for at, flag in enumerate(word[1:], 2):
            if flag in 'cm':
                if not words and at == len(word):
                    print(f'Argument expected for the -{flag} option\n{USAGE}', file=sys.stderr)
                    sys.exit(2)
                value = word[at:] or words.pop(0)
                return run_text(value, '-c', words) if flag == 'c' else run_module(value, words)
            if flag in 'Vh':
                sys.exit(print(VERSION if flag == 'V' else USAGE))
            if flag in FLAGS_WITH_VALUE:
                value = word[at:] or (words.pop(0) if words else '')
                if flag == 'W':
                    warn(value)
                break
    if not words or words[0] == '-':
        return run_text(sys.stdin.read(), words[0] if words else '', words[1:], '<stdin>')
    run_file(words[0], words[1:])


def warn(option):
    import warnings

    sys.warnoptions.append(option)
    warnings._processoptions([option])


def run_text(source, name, words, file='<string>'):
    import linecache

    sys.argv[:] = [name, *words]
    sys.path[0] = ''
    lines = source.splitlines(True)
    linecache.cache[file] = len(source), None, lines, file
    del sys.modules['__main__'].__dict__['__file__']
    execute(compile(source, file, 'exec', dont_inherit=True))


def run_module(name, words):
    import runpy

    if name == 'pip':
        return run_pip(words)
    sys.argv[:] = ['-m', *words]
    sys.path[0] = os.getcwd()
    runpy._run_module_as_main(name)


def run_file(path, words):
    sys.argv[:] = [path, *words]
    if os.path.isdir(path):
        import runpy

        sys.path[0] = path
        return runpy._run_module_as_main('__main__', alter_argv=False)
    full = os.path.join(os.getcwd(), path)
    try:
        with open(path, 'rb') as file:
            source = file.read()
    except OSError as error:
        print(f"python3: can't open file {full!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
        sys.exit(2)
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    sys.modules['__main__'].__dict__['__file__'] = full
    execute(compile(source, full, 'exec', dont_inherit=True))


def execute(code):
    exec(code, sys.modules['__main__'].__dict__)


def run_named(name, words):
    if name == 'uv':
        if words[:1] != ['pip']:
            print('ERROR: the sandbox has only the command "uv pip" of uv', file=sys.stderr)
            sys.exit(2)
        run_pip(words[1:])
    elif name.startswith('pip'):
        run_pip(words)
    else:
        run_command(words)


def run_pip(words):
    """The parts of pip that need no network."""
    import _sandbox_pip as pip

    command, *rest = words or ['help']
    if command == 'install':
        sys.exit(pip.install(rest, sys.stdout, sys.stderr))
    if command == 'freeze':
        return print(*(f'{name}=={version}' for name, version in sorted(pip.installed().items())), sep='\n')
    if command == 'list':
        rows = [('Package', 'Version'), ('-' * 25, '-' * 12), *sorted(pip.installed().items())]
        return print(*(f'{name:25} {version}' for name, version in rows), sep='\n')
    if command in ('--version', '-V'):
        return print(f'pip {pip.__version__} ({VERSION})')
    print(f'ERROR: the sandbox has only "pip install", "pip list" and "pip freeze", not "pip {command}"', file=sys.stderr)
    sys.exit(1)
