/*
 * A write to a pipe without readers is SIGPIPE, which ends most programs quietly. This replaces the import of the same
 * name, so it cannot include the headers that declare it.
 */
typedef unsigned long size;
int raise(int signal);
int kernel_fd_write(int fd, const void *vectors, size count, size *written)
    __attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write")));

enum { BROKEN_PIPE = 64, SIGNAL_PIPE = 13 };

int __wasi_fd_write(int fd, const void *vectors, size count, size *written)
{
  int error = kernel_fd_write(fd, vectors, count, written);
  if (error == BROKEN_PIPE) raise(SIGNAL_PIPE);
  return error;
}
