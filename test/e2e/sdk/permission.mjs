// A callback that answers: it allows, changes, denies, and answers a question.
import { readFileSync } from "node:fs"
import { query } from "@anthropic-ai/claude-agent-sdk"

const canUseTool = async (name, input) => {
    console.log("asked", name, input.file_path ?? input.command ?? "")
    if (name === "AskUserQuestion") {
        const question = input.questions[0]
        return { behavior: "allow", updatedInput: { ...input, answers: { [question.question]: question.options[1].label } } }
    }
    if (name === "Bash") return { behavior: "deny", message: "no commands, please" }
    return { behavior: "allow", updatedInput: input.file_path.endsWith("two.txt") ? { ...input, content: "changed" } : input }
}
const options = { pathToClaudeCodeExecutable: process.env.PAWL, model: "script:permission.yaml", canUseTool }
for await (const message of query({ prompt: "Do it all.", options })) {
    if (message.type === "user")
        for (const block of message.message.content) if (block.is_error || block.content.includes("Color")) console.log("result", block.content)
    if (message.type === "result") console.log(message.subtype, message.result, message.permission_denials.map(d => d.tool_name).join())
}
console.log(readFileSync("one.txt", "utf8"), readFileSync("two.txt", "utf8"))
