// A turn that takes too long is interrupted, and the conversation goes on.
import { query } from "@anthropic-ai/claude-agent-sdk"

let next, interrupted = false
async function* prompts() {
    for (const content of ["Please count.", "hello"]) {
        const answered = new Promise(resolve => { next = resolve })
        yield { type: "user", session_id: "", message: { role: "user", content }, parent_tool_use_id: null }
        await answered
    }
}
const options = { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:interrupt.yaml", includePartialMessages: true }
const agent = query({ prompt: prompts(), options })
for await (const message of agent) {
    if (message.type === "stream_event" && message.event.type === "message_start" && !interrupted) { interrupted = true; await agent.interrupt() }
    if (message.type !== "result") continue
    console.log(message.subtype, message.is_error, message.terminal_reason, message.is_error ? "" : message.result)
    next()
}
