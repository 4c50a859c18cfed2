"""The mode and the model change while the agent is connected; what cannot be had is an error."""
import os

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage


async def turn(client: ClaudeSDKClient, text: str) -> None:
    await client.query(text)
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            print(message.subtype, message.result, os.path.exists("a.txt"), len(message.permission_denials))
            if message.errors:
                print("ollama" in message.errors[0])


async def main() -> None:
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:settings.yaml", permission_mode="plan")) as client:
        await turn(client, "Please write.")
        await client.set_permission_mode("acceptEdits")
        await turn(client, "Please try again.")
        try:
            await client.set_permission_mode("bypassPermissions")
        except Exception as e:
            print("refused:", str(e)[:36])
        await client.set_model("ollama/other")
        await turn(client, "Which model is it?")


anyio.run(main)
