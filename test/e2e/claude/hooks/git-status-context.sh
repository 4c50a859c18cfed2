#!/bin/bash
# UserPromptSubmit: what changed goes along with every prompt.
cd "$CLAUDE_PROJECT_DIR" || exit 0
echo "Branch: $(git branch --show-current 2>/dev/null)"
echo "Uncommitted changes:"
git status --short 2>/dev/null | head -20
