/* See exchange.h. */
#include "git-compat-util.h"
#include "exchange.h"
#include "process.h"
#include "run-command.h"
#include "supply.h"

extern int __sb_spawn(const char *path, char *const argv[], char *const envp[], const char *cwd,
                      const struct sandbox_descriptor *descriptors, int count, int timeout_ms)
    __attribute__((import_module("env"), import_name("__sb_spawn")));

/* Processes. Descriptors that only git itself uses are closed in programs, so that its children inherit the streams alone. */

int start_process(const char **argv, char *const *env, const char *folder, int in, int out, int err)
{
  struct sandbox_descriptor streams[] = {{0, in}, {1, out}, {2, err}};
  int pid = __sb_spawn(argv[0], (char *const *)argv, env, folder, streams, 3, 0);
  if (pid >= 0) return pid;
  errno = -pid;
  return -1;
}

/* Data that is made when it is read. */

struct supply {
  struct supply *next;
  int fd;
  int (*produce)(int fd, void *data);
  void *data;
};

static struct supply *supplies;

int open_scratch(int *reader)
{
  char name[] = "/tmp/git-XXXXXX";
  int writer = mkostemp(name, O_CLOEXEC | O_APPEND);
  if (writer < 0) die_errno("cannot create a temporary file");
  *reader = xopen(name, O_RDONLY | O_CLOEXEC);
  unlink(name);
  return writer;
}

struct supply *open_supply(int (*produce)(int, void *), void *data, int *reader)
{
  struct supply *supply = xmalloc(sizeof(*supply));
  *supply = (struct supply){supplies, open_scratch(reader), produce, data};
  return supplies = supply;
}

void close_supply(struct supply *supply)
{
  struct supply **at = &supplies;
  while (*at != supply) at = &(*at)->next;
  *at = supply->next;
  close(supply->fd);
  free(supply);
}

int supply_more(int fd)
{
  struct stat asked, own;
  if (!supplies || fstat(fd, &asked)) return 0;
  for (struct supply *supply = supplies; supply; supply = supply->next)
    if (!fstat(supply->fd, &own) && own.st_ino == asked.st_ino && own.st_dev == asked.st_dev)
      return supply->produce(supply->fd, supply->data);
  return 0;
}

/* Asynchronous functions. */

struct deferred {
  struct deferred *next;
  struct async *async;
  struct supply *supply;
  int in, out, is_done, status;
};

static struct deferred *deferred_list;

static int run_deferred(int fd, void *data)
{
  struct deferred *deferred = data;
  if (deferred->is_done) return 0;
  deferred->is_done = 1;
  deferred->status = !!deferred->async->proc(deferred->in, deferred->out, deferred->async->data);
  return 1;
}

/* What was written for functions that still wait is messages of hooks, which a process that ends early passes on. */
static void run_waiting(void)
{
  fflush(NULL);
  for (struct deferred *each = deferred_list; each; each = each->next)
    if (each->in >= 0) run_deferred(-1, each);
}

int defer_async(struct async *async)
{
  static int is_registered;
  struct deferred *deferred = xcalloc(1, sizeof(*deferred));
  if (!is_registered) is_registered = !atexit(run_waiting);
  deferred->async = async;
  deferred->in = async->in ? async->in : -1;
  deferred->out = async->out ? async->out : -1;
  if (async->in < 0) async->in = open_scratch(&deferred->in);
  if (async->out < 0) {
    deferred->supply = open_supply(run_deferred, deferred, &async->out);
    deferred->out = fcntl(deferred->supply->fd, F_DUPFD_CLOEXEC, 0);
  }
  deferred->next = deferred_list;
  deferred_list = deferred;
  return 0;
}

int finish_deferred(struct async *async)
{
  struct deferred **at = &deferred_list, *deferred;
  int status;
  while (*at && (*at)->async != async) at = &(*at)->next;
  if (!(deferred = *at)) BUG("this function was not started");
  run_deferred(-1, deferred);
  *at = deferred->next;
  if (deferred->supply) close_supply(deferred->supply);
  status = deferred->status;
  free(deferred);
  return status;
}
