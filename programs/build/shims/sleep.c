/* Sleeping waits in the kernel, where it costs no fuel. Emscripten's own version is a loop that asks for the time. */
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stddef.h>

void emscripten_thread_sleep(double milliseconds)
{
  for (; milliseconds > INT_MAX; milliseconds -= INT_MAX) poll(NULL, 0, INT_MAX);
  if (milliseconds > 0) poll(NULL, 0, (int)ceil(milliseconds));
}
