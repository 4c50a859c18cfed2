// The mode and the model change while the agent is connected; what cannot be had is an error.
import { existsSync } from "node:fs"
import { query } from "@anthropic-ai/claude-agent-sdk"

let next
async function* prompts() {
    for (const content of ["Please write.", "Please try again.", "Which model is it?"]) {
        const answered = new Promise(resolve => { next = resolve })
        yield { type: "user", session_id: "", message: { role: "user", content }, parent_tool_use_id: null }
        await answered
    }
}
const agent = query({ prompt: prompts(), options: { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:settings.yaml", permissionMode: "plan" } })
let turns = 0
try {
    for await (const message of agent) {
        if (message.type !== "result") continue
        console.log(message.subtype, message.result ?? "", existsSync("a.txt"), message.permission_denials.length)
        turns++
        if (turns === 1) await agent.setPermissionMode("acceptEdits")
        if (turns === 2) await agent.setPermissionMode("bypassPermissions").catch(e => console.log("refused:", e.message.slice(0, 36)))
        if (turns === 2) await agent.setModel("ollama/other")
        if (turns === 3) console.log(message.errors[0].includes("ollama"))
        next()
    }
} catch (e) {
    if (turns < 3) throw e      // a last turn that failed is an exit of 1, and the SDK raises it
}
