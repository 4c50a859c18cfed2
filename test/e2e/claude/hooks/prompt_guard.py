#!/usr/bin/env python3
"""UserPromptSubmit: no secrets in prompts; a shouted prompt gets a note."""
import json
import re
import sys

prompt = json.load(sys.stdin).get("prompt", "")
if re.search(r"(?i)\b(password|secret|api[_ ]?key)\s*[:=]", prompt):
    print(json.dumps({"decision": "block", "reason": "The prompt has something that looks like a secret."}))
elif prompt.isupper():
    print(json.dumps({"systemMessage": "Calm down.", "suppressOutput": True}))
sys.exit(0)
