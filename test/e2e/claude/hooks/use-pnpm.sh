#!/bin/bash
# PreToolUse, Bash: npm is pnpm here, and reading commands need no question.
INPUT=$(cat)
COMMAND=$(jq -r '.tool_input.command' <<<"$INPUT")

if [[ "$COMMAND" == npm\ * ]]; then
  jq -n --argjson input "$(jq '.tool_input' <<<"$INPUT")" --arg command "p$COMMAND" '{
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      permissionDecisionReason: "this project uses pnpm",
      updatedInput: ($input + {command: $command}),
      additionalContext: "npm was replaced by pnpm."
    }
  }'
elif [[ "$COMMAND" == ./deploy* ]]; then
  jq -n '{hookSpecificOutput: {hookEventName: "PreToolUse", permissionDecision: "ask", permissionDecisionReason: "deployments are confirmed by a person"}}'
fi
