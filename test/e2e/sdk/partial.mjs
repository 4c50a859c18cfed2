// The answer as it comes.
import { query } from "@anthropic-ai/claude-agent-sdk"

const texts = { text_delta: "", thinking_delta: "", input_json_delta: "" }
let kinds = [], pieces = 0
const options = { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:partial.yaml", includePartialMessages: true }
for await (const message of query({ prompt: "Go.", options })) {
    if (message.type === "stream_event") {
        kinds.push(message.event.type)
        const delta = message.event.delta
        if (message.event.type === "content_block_delta") texts[delta.type] += delta.text ?? delta.thinking ?? delta.partial_json
        if (delta?.type === "text_delta") pieces++
    }
    if (message.type === "assistant") {
        console.log("message of", message.message.content.length, "blocks, after", kinds[0], "and", kinds.at(-1))
        kinds = []
    }
}
console.log(JSON.stringify(texts), pieces > 1)
