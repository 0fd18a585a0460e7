/* The entry of a program: the kernel calls run(argc, argv), which ends the process. */
#include <stdlib.h>
#include <unistd.h>

int __main_argc_argv(int argc, char **argv);
void __funcs_on_exit(void);
void __stdio_exit(void);

_Noreturn void exit(int code)
{
  __funcs_on_exit();
  __stdio_exit();
  _Exit(code);
}

__attribute__((export_name("run"))) int sandbox_run(int argc, char **argv)
{
  exit(__main_argc_argv(argc, argv));
}
