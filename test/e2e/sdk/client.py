"""A conversation of two turns over one connection."""
import os

import anyio
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, TextBlock


async def show(client: ClaudeSDKClient) -> None:
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            for block in message.content:
                if isinstance(block, TextBlock):
                    print("text", block.text)
        elif isinstance(message, ResultMessage):
            print("result", message.subtype)


async def main() -> None:
    async with ClaudeSDKClient(options=ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:client.yaml")) as client:
        await client.query("What is the capital of France?")
        await show(client)
        await client.query("What is the population of that city?")
        await show(client)
        print("servers", (await client.get_mcp_status())["mcpServers"], "style", (await client.get_server_info())["output_style"])


anyio.run(main)
