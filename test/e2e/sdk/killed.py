"""The program is killed while a hook waits: the same hook is asked again when the conversation is resumed. Without it the call would be denied."""
import os
import signal
from dataclasses import replace

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, HookMatcher, ResultMessage, SystemMessage

victim = None
session = None


async def guard(input_data, tool_use_id, context):
    print("hook", input_data["tool_name"], "killed" if victim else "asked again", os.path.exists("a.txt"))
    if victim:
        os.kill(victim, signal.SIGKILL)
        await anyio.sleep(3600)
    return {}


async def main() -> None:
    global victim, session
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:killed.yaml", permission_mode="acceptEdits",
                                 hooks={"PreToolUse": [HookMatcher(matcher="Write", hooks=[guard])]})
    try:
        async with ClaudeSDKClient(options) as client:
            victim = (await client.get_server_info())["pid"]
            await client.query("Please write.")
            async for message in client.receive_response():
                if isinstance(message, SystemMessage) and message.subtype == "init":
                    session = message.data["session_id"]
    except Exception as e:
        print("gone", type(e).__name__)
    victim = None
    async with ClaudeSDKClient(replace(options, resume=session)) as client:
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                print(message.subtype, message.result, open("a.txt").read())


anyio.run(main)
