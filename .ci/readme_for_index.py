"""Print the README with links that work on a package index: relative ones lead to the project's address.

The address is that of ``project_urls`` in setup.cfg, or the one given: ``python .ci/readme_for_index.py [ADDRESS]``.
Pages are looked for below ADDRESS/blob/main, pictures below ADDRESS/raw/main.
"""

import configparser
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^][]*\])*)\]\((?!https?:|#)([^()]+)\)")


def absolute(text, address):
    """Return a page whose relative links lead to the address."""

    def link(match):
        folder = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({address.rstrip('/')}/{folder}/main/{match[3]})"

    return LINK.sub(link, text)


def main(arguments):
    if arguments:
        (address,) = arguments
    else:
        config = configparser.ConfigParser()
        config.read(ROOT / "setup.cfg")
        urls = dict(line.split("=", 1) for line in config["metadata"].get("project_urls", "").strip().splitlines())
        if not urls:
            sys.exit("setup.cfg has no project_urls yet: fill them in, or name the address")
        address = next(iter(urls.values())).strip()
    sys.stdout.write(absolute((ROOT / "README.md").read_text(encoding="utf-8"), address))


if __name__ == "__main__":
    main(sys.argv[1:])
