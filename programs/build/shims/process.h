/* Processes of the sandbox, as the kernel offers them. programs/build/README.md says what each call does. */
#ifndef SANDBOX_PROCESS_H
#define SANDBOX_PROCESS_H
#include <sys/types.h>

/* In the child, descriptor `child` becomes what `parent` is in the caller; -1 closes it. */
struct sandbox_descriptor { int child, parent; };

/* Starts a program that PATH finds. Returns its pid, or -1 with errno. timeout_ms 0: no limit of its own. */
pid_t sandbox_spawn(char *const argv[], const struct sandbox_descriptor *descriptors, int count, int timeout_ms);

/* Runs a program to its end with these standard streams. Returns its wait status, or -1 with errno. */
int sandbox_filter(char *const argv[], int input, int output);

/* Where Asyncify saves the stack: the next free byte and the end of the buffer. */
struct saved_stack { char *next, *end; char buffer[]; };

/* A buffer for the stack as it is now; NULL if there is no memory. */
struct saved_stack *sandbox_new_stack(void);

/* After a call of the kernel that is in progress: waits until it is to be repeated. Returns whether a signal handler has run instead. */
int sandbox_wait(void);

#endif
