/* builtin.c - the tools of the library; docs/TOOLS.md is printed from this table.
 *
 * Read by registry.c. Constant. */
#include "effect/tool/schema_text.h"
#include "effect/tool/tool.h"

static const char read_schema[] = OBJECT("\"file_path\"",
    TEXT("file_path", SOME, "absolute, or from the workspace") ","
    NUMBER("offset", 1, 1000000000, "the first line to read, from 1") ","
    NUMBER("limit", 1, 100000, "how many lines; 2000"));

static const char list_schema[] = OBJECT("",
    TEXT("path", SOME, "the folder; the workspace"));

static const char edit_schema[] = OBJECT("\"file_path\",\"old_string\",\"new_string\"",
    TEXT("file_path", SOME, "absolute, or from the workspace") ","
    TEXT("old_string", SOME, "what is replaced: as it stands in the file, with enough around it to fit once") ","
    TEXT("new_string", "", "what it becomes") ","
    FLAG("replace_all", "replace it wherever it fits"));

static const char write_schema[] = OBJECT("\"file_path\",\"content\"",
    TEXT("file_path", SOME, "absolute, or from the workspace; folders that are missing are made") ","
    TEXT("content", "", "all of the file"));

static const char glob_schema[] = OBJECT("\"pattern\"",
    TEXT("pattern", SOME, "* ? [a-z] {a,b} and **; without a slash it fits names at any depth") ","
    TEXT("path", SOME, "the folder to look in; the workspace") ","
    TEXT("sort", ",\"enum\":[\"newest\",\"name\"]", "newest") ","
    FLAG("no_ignore", "also files that .gitignore leaves out"));

static const char grep_schema[] = OBJECT("\"pattern\"",
    TEXT("pattern", SOME, "a regular expression (extended, with \\\\d \\\\w \\\\s \\\\b), for one line") ","
    FLAG("multiline", "it may span lines: . fits their ends, ^ and $ each line") ","
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
    FLAG("no_ignore", "also files that .gitignore leaves out"));

static const char bash_schema[] = OBJECT("\"command\"",
    TEXT("command", SOME, "run by bash, in the workspace") ","
    NUMBER("timeout_ms", 1, 600000, "how long it may take; 120000") ","
    TEXT("description", "", "what it does, in a few words") ","
    FLAG("run_in_background", "true: it goes on while you do other things; bash_output reads what it writes, and timeout_ms limits it only if given"));

static const char bash_output_schema[] = OBJECT("\"bash_id\"",
    TEXT("bash_id", SOME, "of the shell: bash_...") ","
    TEXT("filter", SOME, "a regular expression: only lines that it fits, and the others cannot be read later"));

static const char kill_shell_schema[] = OBJECT("\"shell_id\"",
    TEXT("shell_id", SOME, "of the shell: bash_..."));

static const char fetch_schema[] = OBJECT("\"url\"",
    TEXT("url", SOME, "http or https"));

static const char todo_schema[] = OBJECT("\"todos\"",
    "\"todos\":{\"type\":\"array\",\"maxItems\":100,\"description\":\"all of the list, in order\",\"items\":" OBJECT("\"content\",\"status\"",
        TEXT("content", ",\"minLength\":1,\"maxLength\":1000", "what is to be done") ","
        TEXT("status", ",\"enum\":[\"pending\",\"in_progress\",\"completed\"]", "") ","
        TEXT("activeForm", ",\"maxLength\":1000", "the same while it is done: Running the tests")) "}");

static const char ask_schema[] = OBJECT("\"questions\"",
    "\"questions\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"items\":" OBJECT("\"question\",\"header\",\"options\"",
        TEXT("question", SOME, "") "," TEXT("header", ",\"minLength\":1,\"maxLength\":12", "a word or two, for a small label") ","
        "\"options\":{\"type\":\"array\",\"minItems\":2,\"maxItems\":4,\"items\":" OBJECT("\"label\"",
            TEXT("label", SOME, "") "," TEXT("description", "", "what it means")) "},"
        FLAG("multi_select", "several may be chosen")) "}");

static const char spawn_schema[] = OBJECT("\"prompt\"",
    TEXT("agent", SOME, "which kind of agent") ","
    TEXT("prompt", SOME, "all that it has to know: it sees nothing of this conversation") ","
    TEXT("description", "", "what it does, in a few words"));

static const char none_schema[] = OBJECT("", "");

static const char plan_schema[] = OBJECT("\"plan\"",
    TEXT("plan", SOME, "what is to be done, for a person to agree to"));

static const char search_schema[] = OBJECT("\"query\"",
    TEXT("query", SOME, "words of what is to be done, or of a tool's name") ","
    NUMBER("max_results", 1, 20, "5"));

/* In the order in which a model sees them. */
const builtin builtins[] = {
    { { .name = "read_file", .rule = "Read", .schema = read_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .output_bytes = 100000,
        .beside = true,
        .seen = true,
        .description = "Read a file of the workspace: text with the numbers of its lines, or an image (png, jpeg, gif, webp). Up to 2000 lines at a "
                       "time; go on with offset. The numbers and the tab after them are not in the file." }, tool_read, 1 },
    { { .name = "list_files", .rule = "LS", .schema = list_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .beside = true,
        .description = "List a folder of the workspace by name, at most 1000: folders end in /, links in @." }, tool_list, 1 },
    { { .name = "edit_file", .rule = "Edit", .schema = edit_schema, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true,
        .seen = true,
        .description = "Replace a piece of text in a file. old_string has to fit exactly once, or replace_all is true. Read the file first." },
        tool_edit, 1 },
    { { .name = "write_file", .rule = "Write", .schema = write_schema, .cls = PAWL_PERMISSION_EDIT, .effect = PAWL_CLASS_ONCE, .mutates = true,
        .seen = true,
        .description = "Write a whole file, new or in place of what is there. To change a part of one, use edit_file." }, tool_write, 1 },
    { { .name = "glob", .rule = "Glob", .schema = glob_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .timeout_ms = 60000, .beside = true,
        .description = "Find files by a pattern of their path, such as **/*.c: at most 1000, the newest first. What lies in .git, or "
                       "git ignores, is left out." },
        tool_glob, 1 },
    { { .name = "grep", .rule = "Grep", .schema = grep_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE, .timeout_ms = 60000, .beside = true,
        .description = "Find lines of files by a regular expression. What lies in .git, what git ignores, and files that are no text, are left out." },
        tool_grep, 1 },
    { { .name = "bash", .rule = "Bash", .schema = bash_schema, .cls = PAWL_PERMISSION_EXEC, .effect = PAWL_CLASS_ONCE, .timeout_ms = 610000, .mutates = true,
        .description = "Run a command in the workspace; stdout and stderr come back together. Nothing can be typed into it, each call is a new shell, and "
                       "what it leaves running is ended with it. Outside the workspace it may only read, as a rule. For files use the tools for files." },
                       tool_bash, 1 },
    { { .name = "bash_output", .rule = "BashOutput", .schema = bash_output_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_AT_LEAST_ONCE,
        .beside = true,
        .description = "Read what a shell in the background has written since you last read it, and whether it still runs." }, tool_bash_output, 4 },
    { { .name = "kill_shell", .rule = "KillShell", .schema = kill_shell_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_AT_LEAST_ONCE,
        .beside = true,
        .description = "End a shell in the background, and all that it has started." }, tool_kill_shell, 4 },
    { { .name = "web_fetch", .rule = "WebFetch", .schema = fetch_schema, .cls = PAWL_PERMISSION_NET, .effect = PAWL_CLASS_AT_LEAST_ONCE,
        .timeout_ms = 70000, .beside = true,
        .description = "Get a page by its address, as text. It is followed to other pages of the same host only." }, tool_fetch, 1 },
    { { .name = "todo", .rule = "Todo", .schema = todo_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE,
        .description = "Keep a list of what is to be done, for work of several steps. One is in_progress at a time; say completed as soon as it is." },
        NULL, 1 },
    { { .name = "ask_user", .rule = "AskUser", .schema = ask_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE,
        .description = "Ask the person 1 to 4 questions, each with 2 to 4 answers to choose from; another answer may come all the same." }, NULL, 1 },
    { { .name = "spawn_agent", .rule = "Agent", .schema = spawn_schema, .cls = PAWL_PERMISSION_OTHER, .effect = PAWL_CLASS_ONCE, .beside = true,
        .description = "Hand a task to an agent of its own; its last message is the result." }, NULL, 1 },
    { { .name = "plan_enter", .rule = "EnterPlan", .schema = none_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE,
        .description = "Enter plan mode, in which everything can be read and nothing changed: before work that needs a plan." }, NULL, 1 },
    { { .name = "plan_exit", .rule = "ExitPlan", .schema = plan_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE,
        .description = "Show the plan to the person, who may let you out of plan mode to carry it out." }, NULL, 1 },
    { { .name = "tool_search", .rule = "ToolSearch", .schema = search_schema, .cls = PAWL_PERMISSION_READ, .effect = PAWL_CLASS_PURE,
        .description = "Find more tools by words. What is found can be called from then on." }, NULL, 1 },
};
const size_t builtins_count = sizeof builtins / sizeof *builtins;
