// Hooks that change what the agent gets and does: context to the prompt, another path, and context to a result.
import { basename } from "node:path"
import { readFileSync } from "node:fs"
import { query } from "@anthropic-ai/claude-agent-sdk"

const context = async input => {
    console.log("hook", input.hook_event_name, input.prompt)
    return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext: "Speak briefly." } }
}
const redirect = async input => {
    console.log("hook", input.hook_event_name, basename(input.tool_input.file_path))
    return {
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: { ...input.tool_input, file_path: "safe.txt" } },
    }
}
const after = async input => {
    console.log("hook", input.hook_event_name, input.tool_name)
    return { hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "this file is a sandbox" } }
}
const options = {
    pathToClaudeCodeExecutable: process.env.PAWL, model: "script:hook_modify.yaml",
    hooks: {
        UserPromptSubmit: [{ hooks: [context] }], PreToolUse: [{ matcher: "Write|Edit", hooks: [redirect], timeout: 20 }],
        PostToolUse: [{ matcher: "Read", hooks: [after] }],
    },
}
for await (const message of query({ prompt: "Write it.", options }))
    if (message.type === "result") console.log(message.subtype, message.result, readFileSync("safe.txt", "utf8"))
