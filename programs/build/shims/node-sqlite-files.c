/*
 * The file system of SQLite in JavaScript guests, over the system calls of the kernel. A guest is one process with one
 * thread, so locks between the connections of a guest are a list in its memory. There is no shared memory and no mmap.
 */
#include "node-sqlite.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KERNEL(name) __attribute__((import_module("env"), import_name(#name))) name
#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

typedef struct { void *start; size_t length; } Span;

int KERNEL(__syscall_openat)(int folder, const char *path, int flags, const int *mode);
int KERNEL(__syscall_faccessat)(int folder, const char *path, int mode, int flags);
int KERNEL(__syscall_unlinkat)(int folder, const char *path, int flags);
int KERNEL(__syscall_fstat64)(int fd, struct stat *status);
int KERNEL(__syscall_ftruncate64)(int fd, int64_t size);
int KERNEL(__syscall_getcwd)(char *path, size_t size);
int KERNEL(__syscall_readlinkat)(int folder, const char *path, char *target, size_t size);
int KERNEL(__syscall_poll)(void *descriptors, int count, int milliseconds);
int kernel_pread(int fd, const Span *to, int count, int64_t offset, size_t *done) WASI(fd_pread);
int kernel_pwrite(int fd, const Span *from, int count, int64_t offset, size_t *done) WASI(fd_pwrite);
int kernel_close(int fd) WASI(fd_close);
int kernel_clock(int clock, int64_t precision, int64_t *nanoseconds) WASI(clock_time_get);
int kernel_random(void *bytes, size_t length) WASI(random_get);

enum { MAX_PATH = 4096, MAX_LINKS = 40, NS_PER_MS = 1000000 };
/* Milliseconds from the start of the Julian calendar to 1970. */
static const sqlite3_int64 UNIX_EPOCH = 24405875 * (sqlite3_int64)8640000;

typedef struct File {
  sqlite3_file base;
  int fd;
  int lock;
  /* Only databases are locked. */
  int is_database;
  struct File *next;
} File;

static File *files;

static int file_close(sqlite3_file *base)
{
  File *file = (File *)base;
  for (File **at = &files; *at; at = &(*at)->next) {
    if (*at != file) continue;
    *at = file->next;
    break;
  }
  kernel_close(file->fd);
  return SQLITE_OK;
}

/* Reads or writes everything, unless the kernel stops before. WASI numbers errors in a way of its own. */
static int transfer(int fd, Span span, int64_t offset, int is_write, size_t *total)
{
  *total = 0;
  while (span.length > 0) {
    size_t done = 0;
    int error = is_write ? kernel_pwrite(fd, &span, 1, offset, &done) : kernel_pread(fd, &span, 1, offset, &done);
    if (error) return error;
    if (done == 0) break;
    span.start = (char *)span.start + done;
    span.length -= done;
    offset += done;
    *total += done;
  }
  return 0;
}

static int file_read(sqlite3_file *base, void *bytes, int length, sqlite3_int64 offset)
{
  size_t done;
  if (transfer(((File *)base)->fd, (Span){bytes, length}, offset, 0, &done)) return SQLITE_IOERR_READ;
  if (done == length) return SQLITE_OK;
  memset((char *)bytes + done, 0, length - done);
  return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int length, sqlite3_int64 offset)
{
  size_t done;
  int error = transfer(((File *)base)->fd, (Span){(void *)bytes, length}, offset, 1, &done);
  /* The errors of a full volume in WASI. */
  if (error == EDQUOT || error == ENOSPC || error == EFBIG || (!error && done < length)) return SQLITE_FULL;
  return error ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size)
{
  return __syscall_ftruncate64(((File *)base)->fd, size) < 0 ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *base, int flags) { return SQLITE_OK; }

static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
  struct stat status;
  if (__syscall_fstat64(((File *)base)->fd, &status) < 0) return SQLITE_IOERR_FSTAT;
  *size = status.st_size;
  return SQLITE_OK;
}

/* Whether two files are the same one, under whatever names. Numbers of files change between the calls of a session. */
static int is_same(const File *one, const File *other)
{
  struct stat first, second;
  return __syscall_fstat64(one->fd, &first) >= 0 && __syscall_fstat64(other->fd, &second) >= 0 &&
    first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* The strongest lock of another connection on the same file. */
static int lock_of_others(const File *file)
{
  int strongest = SQLITE_LOCK_NONE;
  for (const File *other = files; other; other = other->next)
    if (other != file && other->lock > strongest && is_same(other, file))
      strongest = other->lock;
  return strongest;
}

static int file_lock(sqlite3_file *base, int lock)
{
  File *file = (File *)base;
  int others;
  if (file->lock >= lock || !file->is_database) return SQLITE_OK;
  others = lock_of_others(file);
  if (lock == SQLITE_LOCK_SHARED && others >= SQLITE_LOCK_PENDING) return SQLITE_BUSY;
  if (lock >= SQLITE_LOCK_RESERVED && others >= SQLITE_LOCK_RESERVED) return SQLITE_BUSY;
  if (lock == SQLITE_LOCK_EXCLUSIVE && others >= SQLITE_LOCK_SHARED) {
    /* No further readers begin. */
    file->lock = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  file->lock = lock;
  return SQLITE_OK;
}

static int file_unlock(sqlite3_file *base, int lock)
{
  File *file = (File *)base;
  if (file->lock > lock) file->lock = lock;
  return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *base, int *reserved)
{
  File *file = (File *)base;
  *reserved = file->lock >= SQLITE_LOCK_RESERVED || (file->is_database && lock_of_others(file) >= SQLITE_LOCK_RESERVED);
  return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument) { return SQLITE_NOTFOUND; }
static int file_sector_size(sqlite3_file *base) { return 4096; }
static int file_characteristics(sqlite3_file *base) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

static const sqlite3_io_methods METHODS = {
  1, file_close, file_read, file_write, file_truncate, file_sync, file_size, file_lock, file_unlock,
  file_is_reserved, file_control, file_sector_size, file_characteristics,
};

static int fs_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *out_flags)
{
  File *file = (File *)base;
  static const int mode = 0644;
  int access = flags & SQLITE_OPEN_READWRITE ? O_RDWR : O_RDONLY, fd;
  memset(file, 0, sizeof(*file));
  /* Temporary data stays in memory. */
  if (!path) return SQLITE_CANTOPEN;
  fd = __syscall_openat(AT_FDCWD, path, access | (flags & SQLITE_OPEN_CREATE ? O_CREAT : 0) |
    (flags & SQLITE_OPEN_EXCLUSIVE ? O_EXCL : 0) | O_CLOEXEC | O_NOFOLLOW, &mode);
  if (fd < 0 && fd != -EISDIR && access == O_RDWR && !(flags & SQLITE_OPEN_EXCLUSIVE)) {
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
    fd = __syscall_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, &mode);
  }
  if (fd < 0) return SQLITE_CANTOPEN;
  file->fd = fd;
  file->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  file->next = files;
  files = file;
  file->base.pMethods = &METHODS;
  if (out_flags) *out_flags = flags;
  return SQLITE_OK;
}

static int fs_delete(sqlite3_vfs *vfs, const char *path, int sync)
{
  int result = __syscall_unlinkat(AT_FDCWD, path, 0);
  return result == -ENOENT ? SQLITE_IOERR_DELETE_NOENT : result < 0 ? SQLITE_IOERR_DELETE : SQLITE_OK;
}

static int fs_access(sqlite3_vfs *vfs, const char *path, int flags, int *answer)
{
  int mode = flags == SQLITE_ACCESS_READWRITE ? R_OK | W_OK : F_OK;
  *answer = __syscall_faccessat(AT_FDCWD, path, mode, 0) >= 0;
  return SQLITE_OK;
}

/* Sets "rest" to a path and what follows it, which may be a part of "rest". */
static int set_rest(char *rest, const char *path, const char *following)
{
  size_t length = strlen(path), after = strlen(following) + 1;
  if (length + 1 + after > MAX_PATH) return 0;
  memmove(rest + length + 1, following, after);
  memcpy(rest, path, length);
  rest[length] = '/';
  return 1;
}

/* The absolute path of a file without symbolic links, so that the journal of a database has one name. */
static int fs_full_path(sqlite3_vfs *vfs, const char *path, int size, char *out)
{
  char full[MAX_PATH], rest[MAX_PATH], target[MAX_PATH];
  size_t length = 0;
  int links = 0;
  target[0] = 0;
  if (*path != '/' && __syscall_getcwd(target, sizeof(target)) < 0) return SQLITE_CANTOPEN;
  if (!set_rest(rest, target, path)) return SQLITE_CANTOPEN;
  for (const char *at = rest + strspn(rest, "/"); *at; at += strspn(at, "/")) {
    const char *part = at;
    size_t count = strcspn(at, "/"), folder = length;
    int found;
    at += count;
    if (count == 1 && part[0] == '.') continue;
    if (count == 2 && part[0] == '.' && part[1] == '.') {
      while (length > 0 && full[--length] != '/') {}
      continue;
    }
    if (length + count + 2 > MAX_PATH) return SQLITE_CANTOPEN;
    full[length++] = '/';
    memcpy(full + length, part, count);
    length += count;
    full[length] = 0;
    found = __syscall_readlinkat(AT_FDCWD, full, target, sizeof(target) - 1);
    if (found < 0) continue;
    target[found] = 0;
    if (++links > MAX_LINKS || !set_rest(rest, target, at)) return SQLITE_CANTOPEN;
    length = *target == '/' ? 0 : folder;
    at = rest;
  }
  if (length + 1 > size) return SQLITE_CANTOPEN;
  memcpy(out, full, length);
  out[length] = 0;
  return SQLITE_OK;
}

static int fs_random(sqlite3_vfs *vfs, int length, char *out)
{
  return kernel_random(out, length) ? 0 : length;
}

static int fs_sleep(sqlite3_vfs *vfs, int microseconds)
{
  __syscall_poll(0, 0, (microseconds + 999) / 1000);
  return microseconds;
}

static int fs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds)
{
  int64_t now = 0;
  kernel_clock(0, 1, &now);
  *milliseconds = UNIX_EPOCH + now / NS_PER_MS;
  return SQLITE_OK;
}

static int fs_time(sqlite3_vfs *vfs, double *days)
{
  sqlite3_int64 milliseconds;
  fs_time_ms(vfs, &milliseconds);
  *days = milliseconds / 86400000.0;
  return SQLITE_OK;
}

static int fs_last_error(sqlite3_vfs *vfs, int size, char *out) { return 0; }

static sqlite3_vfs file_system = {
  2, sizeof(File), MAX_PATH, 0, "sandbox", 0, fs_open, fs_delete, fs_access, fs_full_path, 0, 0, 0, 0,
  fs_random, fs_sleep, fs_time, fs_last_error, fs_time_ms,
};

int sqlite3_os_init(void) { return sqlite3_vfs_register(&file_system, 1); }
int sqlite3_os_end(void) { return SQLITE_OK; }

/* The calendar of UTC, the time zone of the sandbox. Years begin in March, so that a leap day is the last day. */
struct tm *sandbox_localtime_r(const time_t *time, struct tm *parts)
{
  int64_t days = *time / 86400, seconds = *time % 86400, era, day, year, month;
  if (seconds < 0) {
    seconds += 86400;
    days--;
  }
  days += 719468;
  era = (days >= 0 ? days : days - 146096) / 146097;
  day = days - era * 146097;
  year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  day -= 365 * year + year / 4 - year / 100;
  month = (5 * day + 2) / 153;
  *parts = (struct tm){
    .tm_sec = seconds % 60, .tm_min = seconds / 60 % 60, .tm_hour = seconds / 3600,
    .tm_mday = day - (153 * month + 2) / 5 + 1, .tm_mon = month < 10 ? month + 2 : month - 10,
    .tm_year = year + era * 400 + (month >= 10) - 1900,
  };
  return parts;
}
