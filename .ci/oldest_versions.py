"""Print pip constraints that pin every requirement of setup.cfg to the oldest series it allows."""

import configparser
import re
import sys


def main(path):
    config = configparser.ConfigParser()
    config.read(path)
    extras = config["options.extras_require"]
    for line in (config["options"]["install_requires"] + extras["test"]).splitlines():
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", line.strip())
        if match:
            print(f"{match[1]}=={match[2]}.*")


if __name__ == "__main__":
    main(sys.argv[1])
