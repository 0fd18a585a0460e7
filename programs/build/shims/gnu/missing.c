/* What the GNU tools call and libc lacks, and texts of libc that differ from those of Linux. */
#define _GNU_SOURCE
#include <errno.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

static int refuse(int code)
{
  errno = code;
  return -1;
}

ssize_t splice(int from, off_t *from_at, int to, off_t *to_at, size_t count, unsigned flags) { return refuse(EINVAL); }
int sigsuspend(const sigset_t *mask) { return refuse(EINTR); }
int getgroups(int size, gid_t *list)
{
  if (size > 0) *list = getgid();
  return 1;
}

/* There is one file system. */
FILE *setmntent(const char *file, const char *mode) { return fopen("/dev/null", "r"); }
int endmntent(FILE *file) { return fclose(file), 1; }

struct mntent *getmntent(FILE *file)
{
  static struct mntent entry = {"sandbox", "/", "sandbox", "rw", 0, 0};
  if (feof(file)) return NULL;
  fgetc(file);
  return &entry;
}

int getpriority(int which, id_t who) { return 0; }
int setpriority(int which, id_t who, int value) { return 0; }
int nice(int change) { return 0; }
int sethostname(const char *name, size_t size) { return refuse(EPERM); }

/* musl's getopt tells what is wrong in its own words. */
void __getopt_msg(const char *program, const char *problem, const char *option, size_t length)
{
  int is_long = length > 1, needs = strstr(problem, "requires") != NULL;
  if (strstr(problem, "unrecognized") && !is_long)
    fprintf(stderr, "%s: invalid option -- '%.*s'\n", program, (int)length, option);
  else if (strstr(problem, "unrecognized"))
    fprintf(stderr, "%s: unrecognized option '--%.*s'\n", program, (int)length, option);
  else if (needs && is_long)
    fprintf(stderr, "%s: option '--%.*s' requires an argument\n", program, (int)length, option);
  else if (needs)
    fprintf(stderr, "%s: option requires an argument -- '%.*s'\n", program, (int)length, option);
  else if (strstr(problem, "ambiguous"))
    fprintf(stderr, "%s: option '--%.*s' is ambiguous\n", program, (int)length, option);
  else
    fprintf(stderr, "%s: option '--%.*s' doesn't allow an argument\n", program, (int)length, option);
}

/* Errors whose text is not that of musl. */
static const struct { int code; const char *text; } TEXTS[] = {
  {0, "Success"}, {ECHILD, "No child processes"}, {ENOTTY, "Inappropriate ioctl for device"},
  {EAGAIN, "Resource temporarily unavailable"}, {ENOMEM, "Cannot allocate memory"}, {EBUSY, "Device or resource busy"},
  {EXDEV, "Invalid cross-device link"}, {ENFILE, "Too many open files in system"}, {EMFILE, "Too many open files"},
  {EDOM, "Numerical argument out of domain"}, {ERANGE, "Numerical result out of range"},
  {EDEADLK, "Resource deadlock avoided"}, {ENOSYS, "Function not implemented"}, {ELOOP, "Too many levels of symbolic links"},
  {EILSEQ, "Invalid or incomplete multibyte or wide character"}, {EOVERFLOW, "Value too large for defined data type"},
  {ENOTSUP, "Operation not supported"}, {EDQUOT, "Disk quota exceeded"}, {ESTALE, "Stale file handle"},
  {EIO, "Input/output error"}, {ENOTEMPTY, "Directory not empty"}, {ENAMETOOLONG, "File name too long"},
  {ENOTDIR, "Not a directory"}, {EISDIR, "Is a directory"}, {ESRCH, "No such process"}, {ENXIO, "No such device or address"},
  {ENOLCK, "No locks available"}, {EPROTO, "Protocol error"}, {EFBIG, "File too large"}, {EROFS, "Read-only file system"},
  {EADDRINUSE, "Address already in use"}, {ECONNREFUSED, "Connection refused"}, {ETIMEDOUT, "Connection timed out"},
  {ECANCELED, "Operation canceled"}, {EMLINK, "Too many links"}, {ESPIPE, "Illegal seek"}, {ENOEXEC, "Exec format error"},
  {E2BIG, "Argument list too long"}, {ENOTBLK, "Block device required"}, {ETXTBSY, "Text file busy"},
};
char *__strerror_l(int code, void *locale);

char *strerror(int code)
{
  static char unknown[40];
  for (unsigned i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
    if (TEXTS[i].code == code) return (char *)TEXTS[i].text;
  char *text = __strerror_l(code, NULL);
  if (strncmp(text, "No error", 8)) return text;
  snprintf(unknown, sizeof unknown, "Unknown error %d", code);
  return unknown;
}
