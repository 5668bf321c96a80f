"""Put a file of Markdown on a pull request as a comment, in place of the one that an earlier run put there.

`action.yml` runs it with the environment of GitHub Actions, TOKEN and PULL_REQUEST. It needs nothing but Python.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

MARK = "<!-- senseprobe diff -->"
LONGEST = 60_000  # of the 65,536 characters that a comment may have
MOST_PAGES = 20  # of a hundred comments each


def request(method: str, path: str, data: object = None) -> Any:  # noqa: ANN401 - JSON
    """Return what GitHub answers."""
    url = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues/{path}"
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}", "Accept": "application/vnd.github+json"}
    body = None if data is None else json.dumps(data).encode()
    asked = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - GitHub's address
    with urllib.request.urlopen(asked, timeout=30) as answer:  # noqa: S310
        return json.load(answer)


def find_comment(number: int) -> int | None:
    """Return the id of the comment of an earlier run: one of a bot, since anybody may write the mark."""
    for page in range(1, MOST_PAGES + 1):
        comments = request("GET", f"{number}/comments?per_page=100&page={page}")
        for comment in comments:
            if (comment["user"] or {}).get("type") == "Bot" and comment["body"].startswith(MARK):
                return int(comment["id"])
        if len(comments) < 100:
            return None
    return None


def main() -> None:
    """Write the comment; a token that may not, as on pull requests from forks, is a warning."""
    text, number = Path(sys.argv[1]).read_text(encoding="utf-8"), int(os.environ["PULL_REQUEST"])
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n\n… the summary of the run has all of it."
    try:
        comment = find_comment(number)
        method, path = ("POST", f"{number}/comments") if comment is None else ("PATCH", f"comments/{comment}")
        request(method, path, {"body": f"{MARK}\n{text}"})
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            raise
        sys.stdout.write("::warning title=senseprobe::the token may not comment here: the summary of the run has it\n")


if __name__ == "__main__":
    main()
