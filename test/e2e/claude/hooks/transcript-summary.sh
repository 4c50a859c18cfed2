#!/bin/bash
# Stop: count what was done, from the transcript.
INPUT=$(cat)
TRANSCRIPT=$(echo "$INPUT" | jq -r '.transcript_path')
[ -f "$TRANSCRIPT" ] || { echo "no transcript at $TRANSCRIPT" >&2; exit 2; }

{
  echo "prompt: $(jq -r 'select(.type == "user") | .message.content | if type == "string" then . else .[0].text // empty end' "$TRANSCRIPT" | head -n 1)"
  echo "tools: $(jq -r 'select(.type == "assistant") | .message.content[] | select(.type == "tool_use") | .name' "$TRANSCRIPT" | sort | uniq -c | xargs)"
  echo "last: $(jq -rs 'map(select(.type == "assistant")) | last | .message.content[] | select(.type == "text") | .text' "$TRANSCRIPT")"
  echo "session: $(jq -rs 'map(.sessionId) | unique | join(",")' "$TRANSCRIPT")"
} > "$CLAUDE_PROJECT_DIR/summary.txt"
