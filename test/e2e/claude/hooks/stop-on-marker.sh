#!/bin/bash
# PostToolUse, Bash: everything stops when the build is broken.
OUTPUT=$(jq -r '.tool_response.stdout')
if grep -q 'BUILD BROKEN' <<<"$OUTPUT"; then
  echo '{"continue": false, "stopReason": "The build is broken: a person has to look."}'
fi
