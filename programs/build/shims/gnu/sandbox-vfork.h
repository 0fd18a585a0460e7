/* fork() for code whose child soon calls exec or _exit. See vfork.c. */
#ifndef SANDBOX_VFORK_H
#define SANDBOX_VFORK_H
#include <setjmp.h>
#include <unistd.h>

extern jmp_buf sandbox_vfork_buffer;
extern int sandbox_vfork_result;
void sandbox_vfork_begin(void);
#define fork() (sandbox_vfork_begin(), setjmp(sandbox_vfork_buffer) ? sandbox_vfork_result : 0)
#define vfork() fork()
#endif
