/*
 * Waiting, for programs built with Asyncify. A call that has to wait returns IN_PROGRESS at once. Then the process leaves its stack,
 * so that other processes run, and repeats the call when the kernel continues it. This replaces imports of the same
 * names, so it cannot include the headers that declare them.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include "process.h"

#define IMPORT(module, name) __attribute__((import_module(module), import_name(#name)))
int kernel_suspend(struct saved_stack *stack) IMPORT("env", __sb_suspend);
int kernel_read(int fd, const void *vectors, size_t count, size_t *read) IMPORT("wasi_snapshot_preview1", fd_read);
int kernel_write(int fd, const void *vectors, size_t count, size_t *written) IMPORT("wasi_snapshot_preview1", fd_write);
int kernel_open(int folder, const char *path, int flags, void *mode) IMPORT("env", __syscall_openat);
int kernel_poll(void *entries, int count, int milliseconds) IMPORT("env", __syscall_poll);
double emscripten_get_now(void);
uintptr_t emscripten_stack_get_current(void);
extern char __stack_high;
extern struct sigaction __sig_actions[_NSIG];

/* Errors of the kernel, in its numbers. */
enum { IN_PROGRESS = 26, INTERRUPTED = 27, BROKEN_PIPE = 64 };

/* Asyncify saves the locals of each frame, which are fewer bytes than the frame has on the stack of C, but at least a few words. */
enum { SMALLEST_BUFFER = 32 * 1024, BYTES_PER_STACK_BYTE = 4 };

struct saved_stack *sandbox_new_stack(void)
{
  size_t size = SMALLEST_BUFFER + BYTES_PER_STACK_BYTE * ((uintptr_t)&__stack_high - emscripten_stack_get_current());
  struct saved_stack *stack = malloc(sizeof(*stack) + size);
  if (!stack) return NULL;
  stack->next = stack->buffer;
  stack->end = stack->buffer + size;
  return stack;
}

int sandbox_wait(void)
{
  struct saved_stack *stack = sandbox_new_stack();
  if (!stack) abort();
  int number = kernel_suspend(stack);
  free(stack);
  if (!number) return 0;
  void (*handler)(int) = __sig_actions[number].sa_handler;
  raise(number);
  return handler != SIG_IGN && handler != SIG_DFL;
}

int __wasi_fd_read(int fd, const void *vectors, size_t count, size_t *read)
{
  int error;
  while ((error = kernel_read(fd, vectors, count, read)) == IN_PROGRESS)
    if (sandbox_wait()) return INTERRUPTED;
  return error;
}

/* A write to a pipe without readers is SIGPIPE, which ends most programs quietly. */
int __wasi_fd_write(int fd, const void *vectors, size_t count, size_t *written)
{
  int error;
  while ((error = kernel_write(fd, vectors, count, written)) == IN_PROGRESS)
    if (sandbox_wait()) return INTERRUPTED;
  if (error == BROKEN_PIPE) raise(SIGPIPE);
  return error;
}

int __syscall_openat(int folder, const char *path, int flags, void *mode)
{
  int fd;
  while ((fd = kernel_open(folder, path, flags, mode)) == -IN_PROGRESS)
    if (sandbox_wait()) return -INTERRUPTED;
  return fd;
}

int __syscall_poll(void *entries, int count, int milliseconds)
{
  double end = milliseconds > 0 ? emscripten_get_now() + milliseconds : 0;
  int ready;
  while ((ready = kernel_poll(entries, count, milliseconds)) == -IN_PROGRESS) {
    if (sandbox_wait()) return -INTERRUPTED;
    if (milliseconds <= 0) continue;
    double left = end - emscripten_get_now();
    milliseconds = left > 0 ? (int)left + 1 : 0;
  }
  return ready;
}
