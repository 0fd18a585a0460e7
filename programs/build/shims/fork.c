/*
 * fork for programs built with Asyncify: the kernel unwinds the stack into this state, copies the memory to a second
 * guest and rewinds both. The state follows Asyncify: the next free byte and the end of the buffer.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct fork_state { char *next, *end; char buffer[]; };

int __sb_fork(struct fork_state *state) __attribute__((import_module("env"), import_name("__sb_fork")));
uintptr_t emscripten_stack_get_current(void);
extern char __stack_high;

/* Asyncify saves the locals of each frame, which are fewer bytes than the frame has on the stack of C, but at least a few words. */
#define SMALLEST_BUFFER (128 * 1024)
#define BYTES_PER_STACK_BYTE 4

pid_t fork(void)
{
  size_t size = SMALLEST_BUFFER + BYTES_PER_STACK_BYTE * ((uintptr_t)&__stack_high - emscripten_stack_get_current());
  struct fork_state *state = malloc(sizeof(*state) + size);
  if (!state) {
    errno = ENOMEM;
    return -1;
  }
  state->next = state->buffer;
  state->end = state->buffer + size;
  int pid = __sb_fork(state);
  free(state);
  if (pid >= 0) return pid;
  /* After EAGAIN, bash sleeps and tries again. It does not help: processes that can run have run. */
  errno = pid == -EAGAIN ? EDQUOT : -pid;
  return -1;
}

pid_t vfork(void) { return fork(); }
