/**
 * The only user of the sandbox. The files in /etc of a shell, Python's pwd and grp, and programs/build/shims/system.c describe the
 * same user.
 */
export const USER_ENV = {
  HOME: '/app',
  USER: 'root',
  LOGNAME: 'root',
  SHELL: '/bin/bash',
  PATH: '/usr/bin:/bin',
  LANG: 'C.UTF-8',
} as const;
