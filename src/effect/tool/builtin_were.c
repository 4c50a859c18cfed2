/* builtin_were.c - built-in tools as earlier sets had them: the machines of runs that were begun with these are made of these texts.
 *
 * Read by registry.c. Constant; a text here never changes. */
#include "effect/tool/schema_text.h"
#include "effect/tool/tool.h"

const builtin_was builtins_were[] = {
    { "glob", 1,
      OBJECT("\"pattern\"",
        TEXT("pattern", SOME, "* ? [a-z] {a,b} and **; without a slash it fits names at any depth") ","
        TEXT("path", SOME, "the folder to look in; the workspace") ","
        TEXT("sort", ",\"enum\":[\"newest\",\"name\"]", "newest")),
      "Find files by a pattern of their path, such as **/*.c: at most 1000, the newest first. What lies in .git is left out." },
    { "grep", 1,
      OBJECT("\"pattern\"",
        TEXT("pattern", SOME, "a regular expression (extended, with \\\\d \\\\w \\\\s \\\\b), for one line") ","
        TEXT("path", SOME, "the file, or the folder, to look in; the workspace") ","
        TEXT("glob", SOME, "only files that this pattern fits, such as *.c") ","
        TEXT("output_mode", ",\"enum\":[\"content\",\"files\",\"count\"]", "lines, files that have one, or how many each has; content") ","
        FLAG("ignore_case", "upper and lower case are the same") ","
        FLAG("fixed", "the pattern is plain text") ","
        NUMBER("context", 0, 20, "lines to show before and after") ","
        NUMBER("before", 0, 20, "lines to show before") ","
        NUMBER("after", 0, 20, "lines to show after") ","
        NUMBER("max_matches", 1, 2000, "lines, or files, at most; 250")),
      "Find lines of files by a regular expression. What lies in .git, and files that are no text, are left out." },
    { "todo", 1,
      OBJECT("\"todos\"",
        "\"todos\":{\"type\":\"array\",\"maxItems\":100,\"description\":\"all of the list, in order\",\"items\":" OBJECT("\"content\",\"status\"",
            TEXT("content", ",\"minLength\":1,\"maxLength\":1000", "what is to be done") ","
            TEXT("status", ",\"enum\":[\"pending\",\"in_progress\",\"completed\"]", "")) "}"),
      "Keep a list of what is to be done, for work of several steps. One is in_progress at a time; say completed as soon as it is." },
    { "grep", 2,
      OBJECT("\"pattern\"",
        TEXT("pattern", SOME, "a regular expression (extended, with \\\\d \\\\w \\\\s \\\\b), for one line") ","
        TEXT("path", SOME, "the file, or the folder, to look in; the workspace") ","
        TEXT("glob", SOME, "only files that this pattern fits, such as *.c") ","
        TEXT("output_mode", ",\"enum\":[\"content\",\"files\",\"count\"]", "lines, files that have one, or how many each has; content") ","
        FLAG("ignore_case", "upper and lower case are the same") ","
        FLAG("fixed", "the pattern is plain text") ","
        TEXT("type", SOME, "only files of a kind, such as c, py or js") ","
        FLAG("line_numbers", "false: without them") ","
        NUMBER("context", 0, 20, "lines to show before and after") ","
        NUMBER("before", 0, 20, "lines to show before") ","
        NUMBER("after", 0, 20, "lines to show after") ","
        NUMBER("max_matches", 1, 2000, "lines, or files, at most; 250") ","
        NUMBER("offset", 0, 1000000, "how many of the first to skip") ","
        FLAG("no_ignore", "also files that .gitignore leaves out")),
      "Find lines of files by a regular expression. What lies in .git, what git ignores, and files that are no text, are left out." },
    { "bash", 3,
      OBJECT("\"command\"",
        TEXT("command", SOME, "run by bash, in the workspace") ","
        NUMBER("timeout_ms", 1, 600000, "how long it may take; 120000") ","
        TEXT("description", "", "what it does, in a few words")),
      "Run a command in the workspace; stdout and stderr come back together. Nothing can be typed into it, each call is a new shell, and "
      "what it leaves running is ended with it. Outside the workspace it may only read, as a rule. For files use the tools for files." },
};
const size_t builtins_were_count = sizeof builtins_were / sizeof *builtins_were;
