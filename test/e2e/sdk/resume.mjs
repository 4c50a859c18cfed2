// A conversation goes on in another process, and in a fork that leaves it as it is.
import { query } from "@anthropic-ai/claude-agent-sdk"

const base = { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:resume.yaml", systemPrompt: "You have a good memory.", tools: ["Read"] }

async function ask(prompt, options) {
    let session
    for await (const message of query({ prompt, options: { ...base, ...options } }))
        if (message.type === "result") {
            session = message.session_id
            console.log(message.result)
        }
    return session
}

const first = await ask("Remember the number 42.", {})
const again = await ask("Which number was it?", { resume: first })
const forked = await ask("Other question.", { resume: first, forkSession: true })
const latest = await ask("Which number was it?", { continue: true })
console.log("same", again === first, "fork", forked !== first, "latest", [first, forked].includes(latest))
