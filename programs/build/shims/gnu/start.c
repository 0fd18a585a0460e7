/* The entry of a program whose main may have no arguments. error() and getopt() print the name it was started with. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((weak)) int __main_argc_argv(int argc, char **argv);
__attribute__((weak)) int __main_void(void);
extern char *__progname, *__progname_full;
void __funcs_on_exit(void);
void __stdio_exit(void);

_Noreturn void exit(int code)
{
  __funcs_on_exit();
  __stdio_exit();
  _Exit(code);
}

/* Emscripten asks JavaScript for the name. */
void _emscripten_get_progname(char *buffer, int size)
{
  if (size > 0) *buffer = 0;
}

__attribute__((export_name("run"))) int sandbox_run(int argc, char **argv)
{
  if (argc > 0) {
    char *slash = strrchr(argv[0], '/');
    __progname_full = argv[0];
    __progname = slash ? slash + 1 : argv[0];
  }
  exit(__main_argc_argv ? __main_argc_argv(argc, argv) : __main_void());
}
