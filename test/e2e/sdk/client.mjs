// A conversation of two turns over one connection: the prompts come from a generator.
import { query } from "@anthropic-ai/claude-agent-sdk"

let next
const done = () => new Promise(resolve => { next = resolve })

async function* prompts() {
    for (const text of ["What is the capital of France?", "What is the population of that city?"]) {
        const answered = done()
        yield { type: "user", session_id: "", message: { role: "user", content: text }, parent_tool_use_id: null }
        await answered
    }
}

const conversation = query({ prompt: prompts(), options: { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:client.yaml" } })
for await (const message of conversation) {
    if (message.type === "assistant") console.log("text", message.message.content[0].text)
    if (message.type === "result") {
        console.log("result", message.subtype)
        if (message.result === "Two million.") console.log("servers", (await conversation.mcpServerStatus()).length, "models", (await conversation.supportedModels()).length)
        next()
    }
}
