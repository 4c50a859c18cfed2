"""A hook before each call of Bash forbids one command, and leaves the other one to the rules."""
import os

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage, ToolResultBlock, UserMessage


async def check_bash(input_data, tool_use_id, context):
    command = input_data["tool_input"]["command"]
    print("hook", input_data["hook_event_name"], input_data["tool_name"], command, tool_use_id)
    if "foo.sh" in command:
        return {"reason": "policy", "systemMessage": "a command was blocked",
                "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "foo.sh is forbidden"}}
    return {}


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:hook_deny.yaml", allowed_tools=["Bash"],
                                 hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[check_bash])]})
    async with ClaudeSDKClient(options=options) as client:
        await client.query("Run both commands.")
        async for message in client.receive_response():
            if isinstance(message, UserMessage):
                for block in message.content:
                    if isinstance(block, ToolResultBlock):
                        print("result", block.content.strip(), block.is_error)
            elif isinstance(message, ResultMessage):
                print(message.subtype, message.result, [d["tool_input"] for d in message.permission_denials])


anyio.run(main)
