"""Whatever is wrong with an option is said of the option, never of an argument of the library."""

import argparse
import inspect

import pytest

from icdh import ICDH, HNMSearch, bootstrap, causal_direction, cli, simulate
from icdh._estimators.base import CausalGraphEstimator

WRONG = ("-1", "-7.5", "nan", "1e999", "nonsense", "", "0")
COMMANDS = next(
    action for action in cli.build_parser()._actions if isinstance(action, argparse._SubParsersAction)
).choices
OPTIONS = [
    (command, action)
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if action.option_strings and (action.type or action.choices)
]
ASKED = (
    ICDH.__init__,
    HNMSearch.__init__,
    CausalGraphEstimator.sample,
    bootstrap,
    causal_direction,
    simulate.simulate_sem,
    simulate.erdos_renyi,
)
INNER = {
    name
    for function in ASKED
    for name in inspect.signature(function).parameters
    if "_" in name.strip("_") or name == "n_jobs"
}


@pytest.mark.parametrize(("command", "action"), OPTIONS, ids=lambda value: getattr(value, "dest", value))
def test_wrong_values_are_said_of_the_option_that_was_typed(command, action, capsys):
    option = action.option_strings[-1]
    for wrong in WRONG:
        if code := code_of(COMMANDS[command], ["data.csv", f"{option}={wrong}"]):
            said = capsys.readouterr().err
            assert code == 2
            assert said.count("\n") == 1
            if "required" not in said:  # another argument of the command is missing
                assert option in said
                assert not [name for name in INNER if name in said.replace(option, "")], said


def code_of(parser, arguments):
    try:
        parser.parse_args(arguments)
    except SystemExit as end:
        return end.code
    return None
