/* Reads a file with a time zone for musl's tzset, which releases it with munmap. Emscripten maps files in another way. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest zone of the time zone database takes less than 4 KiB. */
#define MAX_ZONE_BYTES 65536

const unsigned char *__map_file(const char *path, size_t *size)
{
  struct stat status;
  void *map = MAP_FAILED;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return 0;
  if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= MAX_ZONE_BYTES) {
    map = mmap(0, status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map != MAP_FAILED && read(fd, map, status.st_size) != status.st_size) {
      munmap(map, status.st_size);
      map = MAP_FAILED;
    }
    *size = status.st_size;
  }
  close(fd);
  return map == MAP_FAILED ? 0 : map;
}
