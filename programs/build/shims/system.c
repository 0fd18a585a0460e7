/* What libc declares and does not have: one user and one group, where commands are, random bytes, and a clock that cannot be set. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static char *name(void) { return getuid() ? "sandbox" : "root"; }

static struct passwd *user(void)
{
  static struct passwd entry;
  char *home = getenv("HOME");
  entry = (struct passwd){name(), "x", getuid(), getgid(), "", home ? home : "/", "/bin/sh"};
  return &entry;
}

static struct group *group(void)
{
  static char *members[] = {NULL};
  static struct group entry;
  entry = (struct group){name(), "x", getgid(), members};
  return &entry;
}

struct passwd *getpwuid(uid_t uid) { return uid == getuid() ? user() : NULL; }
struct passwd *getpwnam(const char *wanted) { return strcmp(wanted, name()) ? NULL : user(); }
struct group *getgrgid(gid_t gid) { return gid == getgid() ? group() : NULL; }
struct group *getgrnam(const char *wanted) { return strcmp(wanted, name()) ? NULL : group(); }
struct passwd *getpwent(void) { return NULL; }

int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
  if ((*found = getpwuid(uid))) *found = memcpy(entry, *found, sizeof(*entry));
  return 0;
}

int getgrgid_r(gid_t gid, struct group *entry, char *buffer, size_t size, struct group **found)
{
  if ((*found = getgrgid(gid))) *found = memcpy(entry, *found, sizeof(*entry));
  return 0;
}

int getpwnam_r(const char *wanted, struct passwd *entry, char *buffer, size_t size, struct passwd **found)
{
  if ((*found = getpwnam(wanted))) *found = memcpy(entry, *found, sizeof(*entry));
  return 0;
}

int getgrnam_r(const char *wanted, struct group *entry, char *buffer, size_t size, struct group **found)
{
  if ((*found = getgrnam(wanted))) *found = memcpy(entry, *found, sizeof(*entry));
  return 0;
}

int getgrouplist(const char *wanted, gid_t gid, gid_t *list, int *count)
{
  if (*count < 1) return -1;
  list[0] = gid;
  return *count = 1;
}

size_t confstr(int key, char *buffer, size_t size)
{
  return snprintf(buffer, size, "%s", key == _CS_PATH ? "/usr/bin:/bin" : "") + 1;
}

int settimeofday(const void *time, const void *zone)
{
  errno = EPERM;
  return -1;
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags)
{
  if (count > 256) count = 256;
  return getentropy(bytes, count) ? -1 : (ssize_t)count;
}
