"""Hooks that change what the agent gets and does: context to the prompt, another path, and context to a result."""
import os

import anyio
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage, query


async def context(input_data, tool_use_id, context):
    print("hook", input_data["hook_event_name"], input_data["prompt"])
    return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "Speak briefly."}}


async def redirect(input_data, tool_use_id, context):
    print("hook", input_data["hook_event_name"], os.path.basename(input_data["tool_input"]["file_path"]))
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
                                   "updatedInput": {**input_data["tool_input"], "file_path": "safe.txt"}}}


async def after(input_data, tool_use_id, context):
    print("hook", input_data["hook_event_name"], input_data["tool_name"])
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "this file is a sandbox"}}


async def main() -> None:
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:hook_modify.yaml", hooks={
        "UserPromptSubmit": [HookMatcher(hooks=[context])],
        "PreToolUse": [HookMatcher(matcher="Write|Edit", hooks=[redirect], timeout=20)],
        "PostToolUse": [HookMatcher(matcher="Read", hooks=[after])]})
    async for message in query(prompt="Write it.", options=options):
        if isinstance(message, ResultMessage):
            print(message.subtype, message.result, open("safe.txt").read())


anyio.run(main)
