/* sandbox.h - what a command of plan mode is run by: everything can be read, nothing written, and there is no network. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

/* Not looked for in PATH, which a project may have changed. */
static const char *const sandbox_places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap" };
/* After the program, and before the command. */
static const char *const sandbox_words[] = { "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
                                             "--unshare-all", "--die-with-parent", "--" };
enum { SANDBOX_PLACES = sizeof sandbox_places / sizeof *sandbox_places, SANDBOX_WORDS = sizeof sandbox_words / sizeof *sandbox_words };

#endif
