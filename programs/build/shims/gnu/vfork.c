/*
 * fork for code whose child only changes descriptors, folder and signals, and then calls exec or _exit: what vfork allows. The
 * "child" runs in the parent; exec starts the program, everything is restored, and the call returns a second time in the parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process.h"

#define KERNEL(name) __attribute__((import_module("env"), import_name(#name)))
int __sb_spawn(const char *path, char *const argv[], char *const envp[], const char *cwd,
               const struct sandbox_descriptor *descriptors, int count, int timeout_ms) KERNEL(__sb_spawn);
int __sb_exec(const char *path, char *const argv[], char *const envp[]) KERNEL(__sb_exec);
int __sb_wait(int pid, int *status, int options) KERNEL(__sb_wait);
_Noreturn void proc_exit(int) __attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit")));
extern struct sigaction __sig_actions[_NSIG];

enum { DESCRIPTORS = 32, SAVED = 100, ENDED = 16, FIRST_PID = 1000000 };

jmp_buf sandbox_vfork_buffer;
int sandbox_vfork_result;
static int active, saved[DESCRIPTORS], flags[DESCRIPTORS], folder;
static struct sigaction actions[_NSIG];
static sigset_t mask;
/* Children that ended before exec: their statuses, and which of them have not been waited for. */
static int ended[ENDED], made, waiting;

void sandbox_vfork_begin(void)
{
  for (int fd = 0; fd < DESCRIPTORS; fd++) {
    flags[fd] = fcntl(fd, F_GETFD);
    saved[fd] = flags[fd] < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SAVED);
  }
  folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  memcpy(actions, __sig_actions, sizeof actions);
  sigprocmask(SIG_SETMASK, NULL, &mask);
  active = 1;
}

static _Noreturn void end(int pid)
{
  active = 0;
  for (int fd = 0; fd < DESCRIPTORS; fd++)
    if (saved[fd] < 0) close(fd);
    else {
      dup3(saved[fd], fd, flags[fd] & FD_CLOEXEC ? O_CLOEXEC : 0);
      close(saved[fd]);
    }
  if (folder >= 0) {
    fchdir(folder);
    close(folder);
  }
  memcpy(__sig_actions, actions, sizeof actions);
  sigprocmask(SIG_SETMASK, &mask, NULL);
  sandbox_vfork_result = pid;
  longjmp(sandbox_vfork_buffer, 1);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
  int result = active ? __sb_spawn(path, argv, envp, NULL, NULL, 0, 0) : __sb_exec(path, argv, envp);
  if (result >= 0 && active) end(result);
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

_Noreturn void _Exit(int code)
{
  if (active) {
    int at = made++ % ENDED;
    ended[at] = (code & 255) << 8;
    waiting |= 1 << at;
    end(FIRST_PID + at);
  }
  proc_exit(code);
}

_Noreturn void _exit(int code) { _Exit(code); }

pid_t waitpid(pid_t pid, int *status, int options)
{
  for (int at = 0; at < ENDED; at++)
    if (waiting >> at & 1 && (pid == -1 || pid == FIRST_PID + at)) {
      waiting &= ~(1 << at);
      if (status) *status = ended[at];
      return FIRST_PID + at;
    }
  int result;
  while ((result = __sb_wait(pid, status, options)) == -EINPROGRESS)
    if (sandbox_wait()) {
      errno = EINTR;
      return -1;
    }
  if (result >= 0) return result;
  errno = -result;
  return -1;
}
