#!/usr/bin/env python3
"""PreToolUse, Read|Edit|Write: keep .env, lock files and .git out of reach."""
import json
import sys
from pathlib import Path

PROTECTED = (".env", "package-lock.json", ".git/")

data = json.load(sys.stdin)
path = data.get("tool_input", {}).get("file_path", "")
if path and not Path(path).is_absolute():
    print(f"expected an absolute path, got {path}", file=sys.stderr)
    sys.exit(1)
if any(part in path for part in PROTECTED):
    print(f"{path} is protected", file=sys.stderr)
    sys.exit(2)
sys.exit(0)
