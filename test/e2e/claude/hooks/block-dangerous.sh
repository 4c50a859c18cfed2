#!/bin/bash
# PreToolUse, Bash: block commands that cannot be taken back.
set -euo pipefail
COMMAND=$(jq -r '.tool_input.command')

PATTERNS=('rm -rf' 'git push --force' 'git reset --hard' 'mkfs' 'dd if=')
for pattern in "${PATTERNS[@]}"; do
  if [[ "$COMMAND" == *"$pattern"* ]]; then
    echo "BLOCKED: '$COMMAND' matches dangerous pattern '$pattern'" >&2
    exit 2
  fi
done
exit 0
