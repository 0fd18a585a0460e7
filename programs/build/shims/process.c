/*
 * fork, exec, wait, kill and signals over the calls of the sandbox's kernel. A process has one thread; signals come from
 * the process itself (raise, kill of its own pid, a broken pipe), so handlers run at once.
 */
#define _GNU_SOURCE
#include "process.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define KERNEL(name) __attribute__((import_module("env"), import_name(#name)))
int __sb_spawn(const char *path, char *const argv[], char *const envp[], const char *cwd,
               const struct sandbox_descriptor *descriptors, int count, int timeout_ms) KERNEL(__sb_spawn);
int __sb_exec(const char *path, char *const argv[], char *const envp[]) KERNEL(__sb_exec);
int __sb_wait(int pid, int *status, int options) KERNEL(__sb_wait);
int __sb_kill(int pid, int signal) KERNEL(__sb_kill);
_Noreturn void __sb_die(int signal) KERNEL(__sb_die);
int __sb_getpid(void) KERNEL(__sb_getpid);
int __sb_getppid(void) KERNEL(__sb_getppid);

extern char **environ;

static int result(int value)
{
  if (value >= 0) return value;
  errno = -value;
  return -1;
}

/* Starting programs. */

static int is_program(const char *path)
{
  struct stat status;
  return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

/* The path of a command: as given if it has a slash, else the first match in PATH. */
static const char *find_program(const char *name, char *buffer, size_t size)
{
  const char *path = getenv("PATH");
  if (strchr(name, '/')) return name;
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  while (*path) {
    size_t length = strcspn(path, ":");
    if (snprintf(buffer, size, "%.*s/%s", (int)length, path, name) < (int)size && is_program(buffer)) return buffer;
    path += length + (path[length] == ':');
  }
  return NULL;
}

pid_t sandbox_spawn(char *const argv[], const struct sandbox_descriptor *descriptors, int count, int timeout_ms)
{
  char buffer[PATH_MAX];
  const char *path = find_program(argv[0], buffer, sizeof(buffer));
  if (!path) return result(-ENOENT);
  fflush(NULL);
  return result(__sb_spawn(path, argv, environ, NULL, descriptors, count, timeout_ms));
}

int sandbox_filter(char *const argv[], int input, int output)
{
  struct sandbox_descriptor descriptors[] = {{0, input}, {1, output}};
  int status;
  pid_t pid = sandbox_spawn(argv, descriptors, 2, 0);
  if (pid < 0 || waitpid(pid, &status, 0) < 0) return -1;
  return status;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
  return result(__sb_exec(path, argv, envp));
}

/* Waiting. */

pid_t waitpid(pid_t pid, int *status, int options)
{
  int ended;
  while ((ended = __sb_wait(pid, status, options)) == -EINPROGRESS)
    if (sandbox_wait()) return result(-EINTR);
  return result(ended);
}

pid_t wait(int *status) { return waitpid(-1, status, 0); }

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
  if (usage) memset(usage, 0, sizeof(*usage));
  return waitpid(pid, status, options);
}

pid_t wait3(int *status, int options, struct rusage *usage) { return wait4(-1, status, options, usage); }

/* system and popen: a shell is started for the command. */

static pid_t spawn_shell(const char *command, const struct sandbox_descriptor *descriptors, int count)
{
  char *argv[] = {"sh", "-c", (char *)command, NULL};
  return sandbox_spawn(argv, descriptors, count, 0);
}

int system(const char *command)
{
  char buffer[PATH_MAX];
  int status;
  pid_t pid;
  if (!command) return find_program("sh", buffer, sizeof(buffer)) != NULL;
  if ((pid = spawn_shell(command, NULL, 0)) < 0 || waitpid(pid, &status, 0) < 0) return -1;
  return status;
}

static struct pipe_stream { struct pipe_stream *next; FILE *file; pid_t pid; } *pipe_streams;

FILE *popen(const char *command, const char *mode)
{
  int ends[2], reading = *mode == 'r', own, saved;
  struct pipe_stream *stream = malloc(sizeof(*stream));
  if (!stream || pipe2(ends, O_CLOEXEC)) goto failed;
  own = ends[!reading];
  struct sandbox_descriptor descriptor = {reading, ends[reading]};
  stream->pid = spawn_shell(command, &descriptor, 1);
  saved = errno;
  close(ends[reading]);
  if (stream->pid < 0 || !(stream->file = fdopen(own, mode))) {
    close(own);
    errno = saved;
    goto failed;
  }
  stream->next = pipe_streams;
  pipe_streams = stream;
  return stream->file;
failed:
  free(stream);
  return NULL;
}

int pclose(FILE *file)
{
  struct pipe_stream **at = &pipe_streams, *stream;
  int status;
  while (*at && (*at)->file != file) at = &(*at)->next;
  if (!(stream = *at)) return result(-ECHILD);
  *at = stream->next;
  fclose(file);
  pid_t pid = waitpid(stream->pid, &status, 0);
  free(stream);
  return pid < 0 ? -1 : status;
}

/* Signals. The arrays and the mask belong to Emscripten's libc. */

extern struct sigaction __sig_actions[_NSIG];
extern sigset_t __sig_pending;
_Bool __sig_is_blocked(int signal);

static int is_ignored_by_default(int signal)
{
  return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT || signal == SIGSTOP ||
         signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

int raise(int signal)
{
  if (signal < 0 || signal >= _NSIG) return result(-EINVAL);
  if (signal == 0) return 0;
  if (__sig_is_blocked(signal)) return sigaddset(&__sig_pending, signal);
  void (*handler)(int) = __sig_actions[signal].sa_handler;
  if (handler == SIG_IGN) return 0;
  if (handler != SIG_DFL) {
    handler(signal);
    return 0;
  }
  if (is_ignored_by_default(signal)) return 0;
  __sb_die(signal);
}

int kill(pid_t pid, int signal)
{
  if (pid == getpid() || pid == 0 || pid == -1) return raise(signal);
  return result(__sb_kill(pid < 0 ? -pid : pid, signal));
}

int killpg(pid_t group, int signal) { return kill(-group, signal); }

_Noreturn void abort(void)
{
  raise(SIGABRT);
  __sb_die(SIGABRT);
}

/* Who and where. Each process is a group of its own. */

pid_t __syscall_getpid(void) { return __sb_getpid(); }
pid_t __syscall_getppid(void) { return __sb_getppid(); }
pid_t __syscall_getpgid(pid_t pid) { return pid ? pid : __sb_getpid(); }
pid_t __syscall_getsid(pid_t pid) { return 1; }
pid_t __syscall_setsid(void) { return __sb_getpid(); }
int __syscall_setpgid(pid_t pid, pid_t group) { return 0; }

int __syscall_uname(struct utsname *name)
{
  *name = (struct utsname){"Linux", "sandbox", "6.0.0", "#1", "wasm32"};
  return 0;
}
