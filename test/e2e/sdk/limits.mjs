// A turn with a limit of its requests ends with an error that names it.
import { query } from "@anthropic-ai/claude-agent-sdk"

try {
    for await (const message of query({ prompt: "loop", options: { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:limits.yaml", maxTurns: 3 } }))
        if (message.type === "result") console.log(message.subtype, message.is_error, message.num_turns)
} catch (e) {
    console.log("raised", e instanceof Error, e.message.includes("as many requests"))
}
