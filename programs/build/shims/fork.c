/* fork for programs built with Asyncify: the process leaves its stack, the kernel copies its memory, and both continue. */
#include "process.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int __sb_fork(struct saved_stack *stack) __attribute__((import_module("env"), import_name("__sb_fork")));

pid_t fork(void)
{
  struct saved_stack *stack = sandbox_new_stack();
  if (!stack) {
    errno = ENOMEM;
    return -1;
  }
  int pid = __sb_fork(stack);
  free(stack);
  if (pid >= 0) return pid;
  errno = -pid;
  return -1;
}

pid_t vfork(void) { return fork(); }
