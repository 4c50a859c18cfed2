// One prompt: the messages of the agent, and what it cost.
import { query } from "@anthropic-ai/claude-agent-sdk"

const options = {
    pathToClaudeCodeExecutable: process.env.PAWL, model: "script:query.yaml", systemPrompt: "You are a helpful assistant.", allowedTools: ["Read"], maxTurns: 5,
}
for await (const message of query({ prompt: "Which version is it?", options })) {
    if (message.type === "system" && message.subtype === "init") console.log("tools", message.tools.slice(0, 2).join(), message.permissionMode)
    if (message.type === "assistant")
        for (const block of message.message.content) {
            if (block.type === "text") console.log("text", block.text)
            if (block.type === "thinking") console.log("thinking", block.thinking)
            if (block.type === "tool_use") console.log("tool", block.name, JSON.stringify(block.input))
        }
    if (message.type === "user")
        for (const block of message.message.content)
            if (block.type === "tool_result") console.log("result", block.content.trim().split(/\s/).pop(), block.is_error)
    if (message.type === "result") console.log(message.subtype, message.num_turns, message.result, message.usage.input_tokens, message.total_cost_usd)
}
