#!/bin/bash
# SessionStart: conventions and the current state, as context.
SOURCE=$(jq -r '.source')
jq -n --arg source "$SOURCE" --arg todo "$(head -n 3 "$CLAUDE_PROJECT_DIR/TODO.md" 2>/dev/null)" '{
  hookSpecificOutput: {
    hookEventName: "SessionStart",
    additionalContext: ("Session started by " + $source + ". Open tasks:\n" + $todo)
  }
}'
