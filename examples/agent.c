/* agent.c - an agent with tools on the command line: ./agent TEXT. A real model: leave out the two lines about the script. */
#include <pawl/pawl.h>
#include <stdio.h>
#include <unistd.h>

static const char script_text[] =
    "[{\"turn\":1,\"tools\":[{\"name\":\"write_file\",\"input\":{\"file_path\":\"notes.txt\",\"content\":\"Milk, bread.\\n\"}}]},"
    "{\"after_tool\":\"write_file\",\"tools\":[{\"name\":\"grep\",\"input\":{\"pattern\":\"Milk\",\"output_mode\":\"content\"}}]},"
    "{\"after_tool\":\"grep\",\"reply\":\"notes.txt has the milk.\"}]";

int main(int argc, char **argv)
{
    char cwd[4096];
    pawl_err err = {0};
    pawl_tools *tools = pawl_tools_new(NULL, &err);
    pawl_code rc = pawl_tools_add_builtin(tools, NULL, &err);
    pawl_engine *e = pawl_host_engine(&(pawl_agent){ .name = "agent", .model = "anthropic/claude-sonnet-4-5" }, tools, pawl_store_memory(&err), &err);
    pawl_step *s = pawl_engine_step(e);
    pawl_llm_script *script = pawl_llm_script_new(pawl_json(s, script_text), "script", NULL, NULL, &err);
    rc = rc == PAWL_OK ? pawl_engine_effect(e, "llm", pawl_effect_script, script, PAWL_CLASS_AT_LEAST_ONCE, &err) : rc;
    const char *here = getcwd(cwd, sizeof cwd), *text = argc > 1 ? argv[1] : "Note that I need milk and bread.";
    const char *input = pawl_text(s, pawl_pack(s, "{s:s,s:{s:s},s:s}", "@cwd", here, "@policy", "cwd", here, "input", text));     /* its workspace */
    rc = rc == PAWL_OK ? pawl_run_with(e, &(pawl_run_info){ .id = "chat-1", .mode = "acceptEdits" }, input, &err) : rc;
    puts(*err.text != '\0' ? err.text : pawl_run_get(e, "chat-1", "output"));
    pawl_engine_free(e);
    pawl_llm_script_free(script);
    pawl_tools_free(tools);
    return rc != PAWL_INTERRUPTED;          /* it waits for the next message */
}
