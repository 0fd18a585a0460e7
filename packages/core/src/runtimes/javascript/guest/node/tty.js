/** The module `tty`. No descriptor of the sandbox is a terminal. */
export default { isatty: () => false };
