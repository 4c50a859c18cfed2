"""One prompt: the messages of the agent, and what it cost."""
import os

import anyio
from claude_agent_sdk import (AssistantMessage, ClaudeAgentOptions, ResultMessage, SystemMessage, TextBlock, ThinkingBlock, ToolResultBlock,
                              ToolUseBlock, UserMessage, query)


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:query.yaml", system_prompt="You are a helpful assistant.",
                                 allowed_tools=["Read"], max_turns=5)
    async for message in query(prompt="Which version is it?", options=options):
        if isinstance(message, SystemMessage) and message.subtype == "init":
            print("tools", message.data["tools"][:2], message.data["permissionMode"])
        elif isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print("text", block.text)
                elif isinstance(block, ThinkingBlock):
                    print("thinking", block.thinking)
                elif isinstance(block, ToolUseBlock):
                    print("tool", block.name, block.input)
        elif isinstance(message, UserMessage):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    print("result", block.content.split()[-1], block.is_error)
        elif isinstance(message, ResultMessage):
            print(message.subtype, message.num_turns, message.result, message.usage["input_tokens"], message.total_cost_usd)


anyio.run(main)
