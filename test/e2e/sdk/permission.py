"""A callback that answers: it allows, changes, denies, and answers a question."""
import os

import anyio
from claude_agent_sdk import (ClaudeAgentOptions, ClaudeSDKClient, PermissionResultAllow, PermissionResultDeny, ResultMessage, ToolResultBlock,
                              UserMessage)


async def can_use_tool(tool_name, input_data, context):
    print("asked", tool_name, input_data.get("file_path", input_data.get("command", "")))
    if tool_name == "AskUserQuestion":
        question = input_data["questions"][0]
        return PermissionResultAllow(updated_input={**input_data, "answers": {question["question"]: question["options"][1]["label"]}})
    if tool_name == "Bash":
        return PermissionResultDeny(message="no commands, please")
    if input_data["file_path"].endswith("two.txt"):
        return PermissionResultAllow(updated_input={**input_data, "content": "changed"})
    return PermissionResultAllow()


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:permission.yaml", can_use_tool=can_use_tool)
    async with ClaudeSDKClient(options) as client:
        await client.query("Do it all.")
        async for message in client.receive_response():
            if isinstance(message, UserMessage):
                for block in message.content:
                    if isinstance(block, ToolResultBlock) and (block.is_error or "Color" in block.content):
                        print("result", block.content)
            elif isinstance(message, ResultMessage):
                print(message.subtype, message.result, [d["tool_name"] for d in message.permission_denials])
    print(open("one.txt").read(), open("two.txt").read())


anyio.run(main)
