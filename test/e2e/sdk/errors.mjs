// What is not there, and what goes wrong, is an exception with its text; nothing hangs, and nothing is left out silently.
import { query } from "@anthropic-ai/claude-agent-sdk"

async function attempt(name, words, options, prompt = "hello") {
    try {
        for await (const message of query({ prompt, options: { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:errors.yaml", ...options } }))
            void message
        console.log(name, "went through")
    } catch (e) {
        console.log(name, e.message.includes(words) ? "true" : e.message)
    }
}

await attempt("server", "calc", { mcpServers: { calc: { command: "calc" } } })
await attempt("agents", "initialize: agents", { agents: { a: { description: "d", prompt: "p" } } })
await attempt("event", "SubagentStart", { hooks: { SubagentStart: [{ hooks: [async () => ({})] }] } })
await attempt("option", "betas", { betas: ["context-1m-2025-08-07"] })
await attempt("budget", "max-budget-usd", { maxBudgetUsd: 1 })
await attempt("resume", "no store yet", { resume: "nobody" })
await attempt("tool", "Nope", { tools: ["Read", "Nope"] })
await attempt("model", "out of order", {}, "broken")
