/* posix_spawn over the kernel's call: the file actions become pairs of descriptors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "process.h"

enum { MAX_ACTIONS = 64 };
enum kind { CLOSE, DUPLICATE, OPEN, FOLDER };
struct action { struct action *next; enum kind kind; int fd, from, flags; mode_t mode; char path[]; };

int __sb_spawn(const char *path, char *const argv[], char *const envp[], const char *cwd,
               const struct sandbox_descriptor *descriptors, int count, int timeout_ms)
    __attribute__((import_module("env"), import_name("__sb_spawn")));
extern char **environ;

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
  actions->__actions = NULL;
  return 0;
}

int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
{
  struct action *action = actions->__actions, *next;
  for (; action; action = next) {
    next = action->next;
    free(action);
  }
  return 0;
}

static int add(posix_spawn_file_actions_t *actions, struct action given, const char *path)
{
  struct action *action = malloc(sizeof given + (path ? strlen(path) + 1 : 0)), **end = (struct action **)&actions->__actions;
  if (!action) return ENOMEM;
  *action = given;
  if (path) strcpy(action->path, path);
  while (*end) end = &(*end)->next;
  *end = action;
  return 0;
}

int posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *actions, int fd)
{
  return add(actions, (struct action){.kind = CLOSE, .fd = fd, .from = -1}, NULL);
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int fd)
{
  return add(actions, (struct action){.kind = DUPLICATE, .fd = fd, .from = from}, NULL);
}

int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict actions, int fd, const char *restrict path,
                                     int flags, mode_t mode)
{
  return add(actions, (struct action){.kind = OPEN, .fd = fd, .flags = flags, .mode = mode}, path);
}

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *restrict actions, const char *restrict path)
{
  return add(actions, (struct action){.kind = FOLDER}, path);
}

int posix_spawnattr_init(posix_spawnattr_t *attributes)
{
  memset(attributes, 0, sizeof *attributes);
  return 0;
}

/* A child has no process group or signal mask of its own. */
int posix_spawnattr_destroy(posix_spawnattr_t *attributes) { return 0; }
int posix_spawnattr_setflags(posix_spawnattr_t *attributes, short flags) { return 0; }
int posix_spawnattr_setsigmask(posix_spawnattr_t *restrict attributes, const sigset_t *restrict mask) { return 0; }
int posix_spawnattr_setsigdefault(posix_spawnattr_t *restrict attributes, const sigset_t *restrict mask) { return 0; }
int posix_spawnattr_setpgroup(posix_spawnattr_t *attributes, pid_t group) { return 0; }

static int place(struct sandbox_descriptor *pairs, int fd, int *count)
{
  int at = 0;
  while (at < *count && pairs[at].child != fd) at++;
  if (at == *count) ++*count;
  return at;
}

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
  struct sandbox_descriptor pairs[MAX_ACTIONS];
  int count = 0, opened[MAX_ACTIONS], open_count = 0, result = 0;
  const char *cwd = NULL;
  for (struct action *action = actions ? actions->__actions : NULL; action && !result; action = action->next) {
    int from = action->from;
    if (action->kind == FOLDER) {
      cwd = action->path;
      continue;
    }
    if (count == MAX_ACTIONS || open_count == MAX_ACTIONS) result = E2BIG;
    else if (action->kind == OPEN) {
      from = open(action->path, action->flags | O_CLOEXEC, action->mode);
      if (from < 0) result = errno;
      else opened[open_count++] = from;
    } else if (action->kind == DUPLICATE)
      for (int i = 0; i < count; i++)
        if (pairs[i].child == action->from) from = pairs[i].parent;
    if (!result) pairs[place(pairs, action->fd, &count)] = (struct sandbox_descriptor){action->fd, from};
  }
  if (!result) {
    fflush(NULL);
    result = __sb_spawn(path, argv, envp ? envp : environ, cwd, pairs, count, 0);
    if (result >= 0 && pid) *pid = result;
    result = result < 0 ? -result : 0;
  }
  while (open_count) close(opened[--open_count]);
  return result;
}

static int is_program(const char *path)
{
  struct stat status;
  return !stat(path, &status) && S_ISREG(status.st_mode) && !access(path, X_OK);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict name, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict], char *const envp[restrict])
{
  char buffer[PATH_MAX];
  const char *path = getenv("PATH");
  if (strchr(name, '/')) return posix_spawn(pid, name, actions, attributes, argv, envp);
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  for (size_t length; *path; path += length + (path[length] == ':')) {
    length = strcspn(path, ":");
    if (snprintf(buffer, sizeof buffer, "%.*s/%s", (int)length, path, name) < (int)sizeof buffer && is_program(buffer))
      return posix_spawn(pid, buffer, actions, attributes, argv, envp);
  }
  return ENOENT;
}
