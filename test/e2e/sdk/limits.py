"""A turn with a limit of its requests ends with an error that names it."""
import os

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ProcessError, ResultMessage, query


async def main() -> None:
    try:
        async for message in query(prompt="loop", options=ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:limits.yaml", max_turns=3)):
            if isinstance(message, ResultMessage):
                print(message.subtype, message.is_error, message.num_turns)
    except Exception as e:
        print("raised", isinstance(e, ProcessError), "as many requests" in str(e))


anyio.run(main)
