// The program is killed while a hook waits: the same hook is asked again when the conversation is resumed. Without it the call would be denied.
import { existsSync, readFileSync } from "node:fs"
import { query } from "@anthropic-ai/claude-agent-sdk"

let victim, session
const guard = async input => {
    console.log("hook", input.tool_name, victim ? "killed" : "asked again", existsSync("a.txt"))
    if (!victim) return {}
    process.kill(victim, "SIGKILL")
    return new Promise(() => {})
}
const options = {
    pathToClaudeCodeExecutable: process.env.PAWL, model: "script:killed.yaml", permissionMode: "acceptEdits",
    hooks: { PreToolUse: [{ matcher: "Write", hooks: [guard] }] },
}
try {
    const agent = query({ prompt: "Please write.", options })
    victim = (await agent.initializationResult()).pid
    for await (const message of agent) session = message.session_id ?? session
} catch (e) {
    console.log("gone", e.constructor.name)
}
victim = undefined
for await (const message of query({ prompt: "And more?", options: { ...options, resume: session } }))
    if (message.type === "result") console.log(message.subtype, message.result, readFileSync("a.txt", "utf8"))
