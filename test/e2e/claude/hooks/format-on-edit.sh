#!/bin/bash
# PostToolUse, Edit|Write|MultiEdit: format JSON files after each edit.
FILE_PATH=$(jq -r '.tool_input.file_path // empty')

if [[ "$FILE_PATH" == *.json ]]; then
  if ! jq . "$FILE_PATH" > "$FILE_PATH.tmp" 2> /tmp/format-$$.log; then
    echo "$FILE_PATH is not valid JSON: $(head -n 1 /tmp/format-$$.log)" >&2
    rm -f "$FILE_PATH.tmp" /tmp/format-$$.log
    exit 2
  fi
  mv "$FILE_PATH.tmp" "$FILE_PATH"
  rm -f /tmp/format-$$.log
fi
exit 0
