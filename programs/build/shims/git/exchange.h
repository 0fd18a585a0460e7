/*
 * Connections and child processes of git for a kernel without fork, in which a process can wait for another only until that ends:
 * what comes from a connection is made when it is read.
 */
#ifndef SANDBOX_EXCHANGE_H
#define SANDBOX_EXCHANGE_H

struct async;
struct child_process;

/* Makes more data for a descriptor whose end was reached. Returns 0 if there is no more. */
int supply_more(int fd);

/* start_async and finish_async: the function runs when its output is read, or when it has to be finished. */
int defer_async(struct async *async);
int finish_deferred(struct async *async);

/* Starts a program with these standard streams. Returns its pid, or -1 with errno. */
int start_process(const char **argv, char *const *env, const char *folder, int in, int out, int err);

/*
 * A connection with a repository, in turns: each time that the answer is read, everything that was written since the last time is
 * one request of git's stateless protocol. `target`: a path, for which `program` runs, or an HTTP URL, for which curl runs.
 */
struct child_process *exchange_start(int fd[2], const char *program, const char *target, int version);
int is_http_url(const char *url);

/* Whether the process stands for such a connection. If so, ends it and sets the status of its last turn. */
int exchange_finish(struct child_process *process, int *status);

#endif
