"""The layout of every command's help."""

import argparse


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Show defaults, but for options that have none."""

    def _get_help_string(self, action):
        silent = action.default is None or action.default is False or action.default == []
        return action.help if silent else super()._get_help_string(action)
