"""The answer as it comes."""
import os

import anyio
from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, StreamEvent, query


async def main() -> None:
    texts = {"text_delta": "", "thinking_delta": "", "input_json_delta": ""}
    member = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
    kinds = []
    pieces = 0
    options = ClaudeAgentOptions(cli_path=os.environ["PAWL"], model="script:partial.yaml", include_partial_messages=True)
    async for message in query(prompt="Go.", options=options):
        if isinstance(message, StreamEvent):
            event = message.event
            kinds.append(event["type"])
            if event["type"] == "content_block_delta":
                delta = event["delta"]
                texts[delta["type"]] += delta[member[delta["type"]]]
                pieces += delta["type"] == "text_delta"
        elif isinstance(message, AssistantMessage):
            print("message of", len(message.content), "blocks, after", kinds[0], "and", kinds[-1])
            kinds = []
    print(texts, pieces > 1)


anyio.run(main)
