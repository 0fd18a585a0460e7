/*
 * bash as a process and as a session that stays alive between programs.
 *
 * This file is part of the program bash.wasm and is under the GNU General Public License, version 3 or later.
 */
#include "config.h"
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bashtypes.h"
#include "shell.h"
#include "execute_cmd.h"
#include "flags.h"
#include "parser.h"
#include "subst.h"
#include "trap.h"
#include "builtins/common.h"
#include "unwind_prot.h"

extern char **environ;
extern time_t shell_start_time;
extern struct timeval shellstart;
extern int startup_state, loop_level, continuing, breaking, executing_list, comsub_ignore_return, return_catch_flag,
    wait_intr_flag, parse_and_execute_level, line_number, running_trap, indirection_level;
int shell_main(int argc, char **argv, char **envp) __asm__("main");
void __stdio_exit(void);
void __funcs_on_exit(void);

#define KERNEL(name) __attribute__((import_module("env"), import_name(#name)))
int kernel_spawn(const char *path, char *const argv[], char *const envp[], const char *cwd, const void *descriptors,
                 int count, int timeout_ms) KERNEL(__sb_spawn);
int kernel_exec(const char *path, char *const argv[], char *const envp[]) KERNEL(__sb_exec);
_Noreturn void kernel_die(int signal) KERNEL(__sb_die);

/* Bits of what bash_eval returns: the program called exit, and exec with a program. */
enum { EXITED = 0x100, REPLACED = 0x200 };
/* Flags of bash_setup. */
enum { FIRST = 1, KEPT = 2, IS_FILE = 4 };
/* Deeper recursion of functions fails before the stack of C is full. */
enum { MAX_FUNCTION_DEPTH = 1000 };

/* The process in which exit() returns to the host, and where. A child of fork has another pid and ends. */
static pid_t session;
static jmp_buf session_start;
static int replaced;
/* The program is a file, not the text of `bash -c`; it has called exit or failed with `set -e`. */
static int is_file, has_exited;
/* The text of the file whose commands are being read. */
static char *reading;

static int in_session(void) { return session && session == getpid(); }

void exit(int code)
{
  if (in_session()) {
    session = 0;
    last_command_exit_value = code & 0xff;
    fflush(NULL);
    longjmp(session_start, 1);
  }
  __funcs_on_exit();
  __stdio_exit();
  _Exit(code);
}

/* A signal ends the program of a session, not the session. */
_Noreturn void __sb_die(int signal)
{
  if (in_session()) exit(128 + signal);
  kernel_die(signal);
}

/* Starts a program, or a shell for a script that does not name its interpreter. */
static int spawn(const char *path, char *const argv[], char *const envp[])
{
  int count = 0, pid = kernel_spawn(path, argv, envp, NULL, NULL, 0, 0);
  if (pid != -ENOEXEC) return pid;
  while (argv[count]) count++;
  char **script = xmalloc((count + 2) * sizeof(*script));
  script[0] = "/bin/bash";
  script[1] = (char *)path;
  memcpy(script + 2, argv + 1, count * sizeof(*script));
  pid = kernel_spawn(script[0], script, envp, NULL, NULL, 0, 0);
  free(script);
  return pid;
}

/* The program that a session is replaced by runs as a child; then the session goes on. */
int __sb_exec(const char *path, char *const argv[], char *const envp[])
{
  int status, pid;
  if (!in_session()) return kernel_exec(path, argv, envp);
  if ((pid = spawn(path, argv, envp)) < 0) return pid;
  adjust_shell_level(1);
  replaced = REPLACED;
  if (waitpid(pid, &status, 0) < 0) exit(EXECUTION_FAILURE);
  exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* In a session, exit and a failure with `set -e` leave functions and redirections like any other jump: the shell goes on. */
void jump_to_top_level(int value)
{
  if (value != DISCARD) has_exited = EXITED;
  sh_longjmp(top_level, in_session() && (value == ERREXIT || value == EXITBLTIN) ? EXITPROG : value);
}

__attribute__((export_name("run"))) int run(int argc, char **argv)
{
  exit(shell_main(argc, argv, environ));
}

/* Initialises the shell by an empty program. The state that only concerns `bash -c` is taken back. */
int bash_start(void)
{
  static char *start[] = {"bash", "-c", ":", "bash", NULL};
  session = getpid();
  if (!setjmp(session_start)) shell_main(4, start, environ);
  startup_state = 0;
  funcnest_max = MAX_FUNCTION_DEPTH;
  return 0;
}

/* What a shell determines when it starts, which is not the time when its image was built. */
static void begin(unsigned seed)
{
  dollar_dollar_pid = getpid();
  set_ppid();
  sbrand(seed);
  gettimeofday(&shellstart, NULL);
  shell_start_time = shellstart.tv_sec;
}

static void export_variable(char *text)
{
  char *end = strchr(text, '=');
  SHELL_VAR *variable;
  if (!end) return;
  *end = 0;
  if (!legal_identifier(text) || (variable = find_variable(text)) && readonly_p(variable)) return;
  if (variable = bind_variable(text, end + 1, 0)) VSETATTR(variable, att_exported);
  array_needs_making = 1;
}

/* Sets the stack of callers to that of a shell that reads `file`, or no file. */
static void begin_callers(char *file)
{
  struct { char *variable, *value; } parts[] = {{"FUNCNAME", "main"}, {"BASH_SOURCE", file}, {"BASH_LINENO", "0"}};
  for (int i = 0; i < 3; i++) {
    SHELL_VAR *variable = find_variable(parts[i].variable);
    if (!variable || !array_p(variable)) continue;
    array_flush(array_cell(variable));
    if (file) array_push(array_cell(variable), parts[i].value);
  }
}

/* Prepares the next program: its name and arguments, and variables that it exports. Frees both lists. */
void bash_setup(char **argv, char **env, int flags, unsigned seed)
{
  int i;
  if (flags & FIRST) begin(seed);
  if (flags & KEPT) expand_aliases = 1;
  interrupt_state = read_but_dont_execute = 0;
  for (i = 0; env[i]; i++) export_variable(env[i]);
  FREE(dollar_vars[0]);
  dollar_vars[0] = savestring(argv[0]);
  is_file = flags & IS_FILE;
  begin_callers(is_file ? argv[0] : NULL);
  remember_args(strvec_to_word_list(argv + 1, 1, 0), 1);
  free(argv);
  free(env);
}

/* Leaves the functions, loops and variables that were active, as throw_to_top_level does. */
static void leave_all(void)
{
  while (parse_and_execute_level) parse_and_execute_cleanup(-1);
  if (running_trap > 0) run_trap_cleanup(running_trap - 1);
  running_trap = 0;
  reset_parser();
  unlink_fifo_list();
  run_unwind_protects();
  loop_level = continuing = breaking = funcnest = 0;
  executing_list = comsub_ignore_return = return_catch_flag = wait_intr_flag = 0;
  parse_and_execute_level = variable_context = 0;
}

static int after_exit_trap(void)
{
  if (signal_is_trapped(EXIT_TRAP)) {
    last_command_exit_value = run_exit_trap();
    restore_default_signal(EXIT_TRAP);
  }
  return last_command_exit_value & 0xff;
}

/* Reads and runs commands as for a script: after an error that discards a command, the next line runs. */
static int run_file(char *text)
{
  has_exited = 0;
  reading = text;
  push_stream(1);
  /* The last program has left the parser at the end of its file, where a first word is an argument. */
  reset_parser();
  with_input_from_string(text, dollar_vars[0]);
  reader_loop();
  if (!has_exited) return last_command_exit_value & 0xff;
  leave_all();
  return EXITED | after_exit_trap();
}

static int evaluate(char *text)
{
  if (is_file) return run_file(text);
  switch (setjmp_nosigs(top_level)) {
  case NOT_JUMPED:
    return parse_and_execute(text, dollar_vars[0], SEVAL_NOHIST | SEVAL_RESETLINE) & 0xff;
  case FORCE_EOF:
    last_command_exit_value = 127;
    /* fall through */
  case EXITPROG:
    leave_all();
    return EXITED | after_exit_trap();
  default:
    leave_all();
    return last_command_exit_value = 1;
  }
}

static int finish(int status)
{
  session = 0;
  fflush(NULL);
  if (reading) pop_stream();
  free(reading);
  reading = NULL;
  indirection_level = 0;
  if (!(status & EXITED)) return status;
  /* Else the first command that fails would end the next program too. */
  change_flag('e', FLAG_OFF);
  set_shellopts();
  return status;
}

/* Runs a program in the live shell and frees its text. Returns its status with the bits above. */
int bash_eval(char *text)
{
  session = getpid();
  replaced = 0;
  if (!setjmp(session_start)) return finish(evaluate(text));
  leave_all();
  return finish(EXITED | replaced | (last_command_exit_value & 0xff));
}

/* Ends the shell: a trap for EXIT runs. Returns the status. */
int bash_end(int status)
{
  session = getpid();
  last_command_exit_value = status;
  if (!setjmp(session_start)) after_exit_trap();
  return finish(last_command_exit_value & 0xff);
}

/* What a program prints, in a copy of the shell. */
char *bash_output(char *text)
{
  WORD_DESC *output = NULL;
  session = getpid();
  if (!setjmp(session_start) && setjmp_nosigs(top_level) == NOT_JUMPED) output = command_substitute(text, 0, 0);
  session = 0;
  return output && output->word ? output->word : "";
}

/* Ends the program that is running, as an interrupt from a terminal does. */
void bash_interrupt(void) { interrupt_state = 1; }

/* Where the host reads what the shell is executing: the number of the line, the function and the variables. */
const void *bash_state(void)
{
  static const void *const state[] = {&line_number, &this_shell_function, &shell_variables};
  return state;
}
