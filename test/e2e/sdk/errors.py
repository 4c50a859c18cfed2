"""What is not there, and what goes wrong, is an exception with its text; nothing hangs, and nothing is left out silently."""
import os

import anyio
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher, create_sdk_mcp_server, query, tool


@tool("add", "Adds two numbers", {"a": float, "b": float})
async def add(args):
    return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}


async def hook(input_data, tool_use_id, context):
    return {}


async def attempt(name: str, words: str, prompt: str = "hello", **options) -> None:
    given = ClaudeAgentOptions(**{"cli_path": os.environ["PAWL"], "model": "script:errors.yaml", **options})
    try:
        async for _ in query(prompt=prompt, options=given):
            pass
        print(name, "went through")
    except Exception as e:
        print(name, words in str(e) or str(e))


async def main() -> None:
    await attempt("server", "mcp", mcp_servers={"calc": create_sdk_mcp_server("calc", tools=[add])})
    await attempt("agents", "initialize: agents", agents={"a": AgentDefinition(description="d", prompt="p")})
    await attempt("event", "SubagentStart", hooks={"SubagentStart": [HookMatcher(hooks=[hook])]})
    await attempt("option", "betas", betas=["context-1m-2025-08-07"])
    await attempt("budget", "max-budget-usd", max_budget_usd=1.0)
    await attempt("resume", "no store yet", resume="nobody")
    await attempt("tool", "Nope", tools=["Read", "Nope"])
    await attempt("model", "out of order", prompt="broken")


anyio.run(main)
