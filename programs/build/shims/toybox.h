/* What toybox expects of the system and Emscripten's libc does not declare. Extended attributes do not exist here. */
#include <errno.h>
#include <sys/types.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <spawn.h>
#include "process.h"
long syscall(long, ...);
#define NO_ATTRIBUTES(name, ...) static inline ssize_t name(__VA_ARGS__) { errno = ENOTSUP; return -1; }
NO_ATTRIBUTES(xattr_get, const char *path, const char *name, void *value, size_t size)
NO_ATTRIBUTES(xattr_lget, const char *path, const char *name, void *value, size_t size)
NO_ATTRIBUTES(xattr_fget, int fd, const char *name, void *value, size_t size)
NO_ATTRIBUTES(xattr_list, const char *path, char *list, size_t size)
NO_ATTRIBUTES(xattr_llist, const char *path, char *list, size_t size)
NO_ATTRIBUTES(xattr_flist, int fd, char *list, size_t size)
NO_ATTRIBUTES(xattr_set, const char *path, const char *name, const void *value, size_t size, int flags)
NO_ATTRIBUTES(xattr_lset, const char *path, const char *name, const void *value, size_t size, int flags)
NO_ATTRIBUTES(xattr_fset, int fd, const char *name, const void *value, size_t size, int flags)
