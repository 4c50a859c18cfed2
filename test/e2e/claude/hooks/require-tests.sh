#!/bin/bash
# Stop: the turn does not end while the tests fail. Once is enough, or it would never end.
INPUT=$(cat)
if [ "$(echo "$INPUT" | jq -r '.stop_hook_active')" = "true" ]; then
  exit 0
fi
cd "$CLAUDE_PROJECT_DIR" || exit 0
if ! OUTPUT=$(./run-tests 2>&1); then
  echo "Tests are failing. Fix them before you stop:" >&2
  echo "$OUTPUT" | tail -5 >&2
  exit 2
fi
exit 0
