"""The layout of every command's help."""

import argparse


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Show defaults, but for options that have none."""

    def _get_help_string(self, action):
        return action.help if action.default in (None, False) else super()._get_help_string(action)
