"""A conversation goes on in another process, and in a fork that leaves it as it is."""
import os
from dataclasses import replace

import anyio
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


async def ask(prompt: str, options: ClaudeAgentOptions) -> str:
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            session = message.session_id
            print(message.result)
    return session


async def main() -> None:
    base = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:resume.yaml", system_prompt="You have a good memory.", tools=["Read"])
    first = await ask("Remember the number 42.", base)
    again = await ask("Which number was it?", replace(base, resume=first))
    forked = await ask("Other question.", replace(base, resume=first, fork_session=True))
    latest = await ask("Which number was it?", replace(base, continue_conversation=True))
    print("same", again == first, "fork", forked != first, "latest", latest in (first, forked))


anyio.run(main)
