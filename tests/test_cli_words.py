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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "data.csv", "--method", "icdh", "--edge-cost", "-1"], "--edge-cost: must be at least 0"),
        (["fit", "data.csv", "--bootstrap", "0"], "--bootstrap: must be at least 1"),
        (["fit", "data.csv", "--seed", "-1"], "--seed: must be at least 0"),
        (["fit", "data.csv", "--jobs", "0"], "must be at least 1"),
        (["fit", "data.csv", "--l1", "x"], "--l1: invalid number value: 'x'"),
        (["sample", "model.icdh", "-n", "0"], "-n/--rows: must be at least 1"),
        (["check", "model.icdh", "data.csv", "--n-questions", "0"], "--n-questions: must be at least 1"),
        (["simulate", "x.csv", "g.csv", "--observations", "0"], "--observations: must be at least 1"),
        (["simulate", "x.csv", "g.csv", "--variables", "0"], "--variables: must be at least 1"),
        (["simulate", "x.csv", "g.csv", "--edges-per-variable", "-1"], "--edges-per-variable: must be at least 0"),
        (["simulate", "x.csv", "g.csv", "--spread", "0"], "--spread: must be at least 1"),
    ],
)
def test_numbers_that_an_option_cannot_be(arguments, said, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 2
    assert said in capsys.readouterr().err


def test_what_two_options_cannot_be_together_is_said_of_the_options(tmp_path, capsys):
    arguments = ["simulate", str(tmp_path / "x.csv"), str(tmp_path / "g.csv"), "--noise", "exp-shared"]
    assert cli.main([*arguments, "--mechanism", "gp"]) == 2
    said = capsys.readouterr().err
    assert "--noise 'exp-shared' shares the hidden layer of the mechanism 'mlp', which 'gp' lacks" in said
