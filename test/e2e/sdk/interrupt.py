"""A turn that takes too long is interrupted, and the conversation goes on."""
import os

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, StreamEvent


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:interrupt.yaml", include_partial_messages=True)
    async with ClaudeSDKClient(options=options) as client:
        await client.query("Please count.")
        async for message in client.receive_response():
            if isinstance(message, StreamEvent) and message.event["type"] == "message_start":
                await client.interrupt()
            elif isinstance(message, ResultMessage):
                print(message.subtype, message.is_error, message.terminal_reason)
        await client.query("hello")
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                print(message.subtype, message.result)


anyio.run(main)
