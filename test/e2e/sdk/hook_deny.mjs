// A hook before each call of Bash forbids one command, and leaves the other one to the rules.
import { query } from "@anthropic-ai/claude-agent-sdk"

const checkBash = async (input, toolUseId) => {
    console.log("hook", input.hook_event_name, input.tool_name, input.tool_input.command, toolUseId)
    if (!input.tool_input.command.includes("foo.sh")) return {}
    return {
        reason: "policy", systemMessage: "a command was blocked",
        hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "foo.sh is forbidden" },
    }
}
const options = {
    pathToClaudeCodeExecutable: process.env.PAWL, model: "script:hook_deny.yaml", allowedTools: ["Bash"],
    hooks: { PreToolUse: [{ matcher: "Bash", hooks: [checkBash] }] },
}
for await (const message of query({ prompt: "Run both commands.", options })) {
    if (message.type === "user") console.log("result", message.message.content[0].content.trim(), message.message.content[0].is_error)
    if (message.type === "result") console.log(message.subtype, message.result, JSON.stringify(message.permission_denials.map(d => d.tool_input)))
}
