/* What musl's tzset needs. */
#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest zone of the time zone database takes less than 4 KiB. */
#define MAX_ZONE_BYTES 65536

/* When daylight saving time begins and ends if a rule does not say it, as in glibc. musl would never end it. */
#define DEFAULT_DATES ",M3.2.0,M11.1.0"
#define MAX_RULE_BYTES 80

/* The end of the name of a zone; 0 if there is none. */
static const char *after_name(const char *text)
{
  const char *end = text;
  if (*text == '<') {
    end = strchr(text, '>');
    return end ? end + 1 : 0;
  }
  while (isalpha((unsigned char)*end)) end++;
  return end - text < 3 ? 0 : end;
}

/* musl reads the variable TZ with this function. */
char *zone_variable(const char *variable)
{
  static char rule[MAX_RULE_BYTES];
  char *value = getenv(variable);
  const char *end = value ? after_name(value) : 0;
  size_t offset = end ? strspn(end, "+-:0123456789") : 0;
  if (offset == 0 || !(end = after_name(end + offset))) return value;
  end += strspn(end, "+-:0123456789");
  if (*end || end - value + sizeof DEFAULT_DATES > sizeof rule) return value;
  return strcat(strcpy(rule, value), DEFAULT_DATES);
}

/* Reads a file with a time zone, which musl releases with munmap. Emscripten maps files in another way. */
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
