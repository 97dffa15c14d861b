"""What the command line refuses: one line on the error stream, exit code 2, nothing written, nothing replaced."""

import argparse
import inspect
import shlex
from pathlib import Path

import pytest
from support.estimators import CausalGraphEstimator

from icdh import ICDH, HNMSearch, bootstrap, causal_direction, cli, simulate
from icdh.files import write_table

LONG = "n" * 300
TEXTS = {
    "dog.csv": "cause,effect\na,dog\n",
    "g.csv": "cause,effect\na,b\n",
    "chain.csv": "a,b,c\n0,1,0\n0,0,1\n0,0,0\n",
    "mixed.csv": "a,b,city\n1,2,Rome\n3,4,Rome\n2,1,Rome\n",
    "head.csv": "a,b\n",
    "words.csv": "city,letter\nRome,x\nOslo,y\n",
    "word.csv": "a,b\n1,2\n3,dog\n",
    "headless.csv": "male,37.0\nfemale,27.0\nmale,32.0\n",
    "gap.csv": "a,b\n1,2\n3,nan\n",
    "gaps.csv": "a,b,c\n1,2,0\n3,nan,1\n",
    "page.csv": "<!DOCTYPE html>\n<html><title>a, b</title>\n<body>404, gone</body></html>\n",
}
REFUSED = [
    # Usage.
    ("", "learn a causal graph from a table"),
    ("nonsense", "'nonsense' is none of fit, predict"),
    ("fti", "did you mean 'fit'? see icdh --help"),
    ("fit", "a table is missing"),
    ("report data.csv", "required: icdh report m.icdh data.csv, after icdh fit data.csv --save m.icdh"),
    ("direction", "the following arguments are required: data"),
    ("fit --drop id data.csv", "it stands before options that take several names"),
    ("fit data.csv --dataset sachs", "not allowed with"),
    ("fit data.csv --noise loud", "'loud'"),
    ("fit data.csv --l1 much", "--l1: invalid number value: 'much'"),
    ("fit data.csv --verbose --quiet", "not allowed with"),
    ("fit data.csv --outputs g.csv", "no such option or argument here: --outputs g.csv"),
    ("fit data.csv --outptu g.csv", "did you mean '--output'? see"),
    ("fit data.csv --method searhc", "did you mean 'search'?"),
    ("fit data.csv more.csv", "no such option or argument here: more.csv; see icdh fit --help"),
    ("fit data.csv --method search --threshold 0.5", "--threshold is no option of --method search"),
    ("fit data.csv --method icdh --max-parents 2", "--max-parents is no option of --method icdh"),
    ("fit data.csv --method icdh --edge-penalty -1", "--edge-penalty: must be at least 0"),
    ("fit data.csv --bootstrap 0", "--bootstrap: must be at least 1"),
    ("fit data.csv --seed -1", "--seed: must be at least 0"),
    ("fit data.csv --jobs 0", "must be at least 1"),
    ("sample model.icdh -n 0", "-n/--rows: must be at least 1"),
    ("check model.icdh data.csv --n-questions 0", "--n-questions: must be at least 1"),
    ("simulate x.csv new.csv --observations 0", "--observations: must be at least 1"),
    ("simulate x.csv new.csv --variables 0", "--variables: must be at least 1"),
    ("simulate x.csv new.csv --edges-per-variable -1", "--edges-per-variable: must be at least 0"),
    ("simulate x.csv new.csv --spread 0", "--spread: must be at least 1"),
    ("simulate x.csv new.csv --noise exp-shared --mechanism gp", "--noise 'exp-shared' shares the hidden layer"),
    ("simulate x.csv new.csv --noise loud", " is none of "),
    ("evaluate chain.csv chain.csv --threshold -1", "--threshold: must be at least 0"),
    ("predict model.icdh data.csv --do a=1 --what std", "leave it out"),
    (
        "sample model.icdh --do a=16,5",
        "--do needs a number, with a decimal point if any, whatever the table has; '16,5'",
    ),
    ("effects model.icdh --cause a", "or neither"),
    ("effects model.icdh --values 1", "name its --cause"),
    ("effects data.csv --cause a --effect b --values 1 --adjust c", "have no --adjust, which are about rows"),
    (
        "effects data.csv --cause a --effect b --adjust c --max-seconds 9 --column-transform log",
        "--max-seconds, --column-transform would say how a graph is learned, and none is here: covariates of --adjust",
    ),
    ("effects data.csv --cause a --effect b --adjust none --method icdh", "need none; leave it out"),
    ("effects model.icdh data.csv --cause a --effect b --jobs 2", "--jobs would say how a graph is learned, and none"),
    ("effects model.icdh --forbid a,b --tiers 'a; b'", "none is here: model.icdh keeps one; leave them out"),
    ("effects model.icdh --cause a --effect b --contrast 0,1 --within c", "have no --within, --contrast"),
    ("fit data.csv --seed 1 --hidden-units 2 --seed 2", "--seed is given twice; keep one"),
    ("fit data.csv --jobs 1 --n-jobs 2", "--n-jobs is given twice"),
    ("fit data.csv --knowledge absent.toml --knowledge new.toml --save absent.toml", "choose another file"),
    ("direction data.csv --seed -1", "--seed: must be at least 0"),
    ("fit data.csv --method icdh --posterior", "--posterior needs the evidence that --method search weighs"),
    # Files.
    ("fit dtaa.csv", "there is no file dtaa.csv; did you mean 'data.csv'?"),
    ("fit data.csv --truth absent.csv", "there is no file absent.csv"),
    ("sample absent.icdh", "there is no file absent.icdh"),
    ("effects absent.icdh data.csv", "there is no file absent.icdh"),
    ("effects absent.icdh data.csv --cause a --effect b", "there is no file absent.icdh"),
    ("evaluate missing.csv chain.csv", "missing.csv"),
    ("check model.icdh data.csv --questions new.txt", "must end in .toml"),
    ("check model.icdh data.csv --questions data.csv", "choose another file"),
    ("fit data.csv --save data.csv", "choose another file"),
    ("fit data.csv --output absent/graph.csv", "there is no folder absent"),
    ("fit data.csv --output graph.xlsx", "choose one of these extensions"),
    (f"fit data.csv --output {LONG}.csv", "File name too long"),
    ("fit data.csv --output /proc/self/graph.csv", "cannot write /proc/self/graph.csv"),
    ("fit data.csv --plot absent/graph.png", "there is no folder absent"),
    ("fit data.csv --plot graph.xyz", "pictures are written as"),
    ("simulate x.csv g.xyz", "g.xyz: graphs are written as"),
    ("simulate nowhere/x.csv new.csv", "there is no folder"),
    ("fit data.csv --output data.csv", "--output would write to data.csv, which is the table"),
    ("fit data.csv --output ./link.csv", "--output would write to ./link.csv, which is the table"),
    ("fit data.csv --truth g.csv --output g.csv", "which is --truth"),
    ("fit data.csv --plot new.svg --output ./new.svg", "--plot would write to new.svg"),
    ("simulate new.csv new.csv", "the graph would write to new.csv, which is the table"),
    ("simulate new.csv g.csv --adjacency g.csv", "which is --adjacency"),
    ("sample model.icdh --output model.icdh", "which is the model"),
    ("predict data.csv model.icdh", "not a fitted model, which icdh fit TABLE --save MODEL.icdh writes; swap"),
    ("sample data.csv", "data.csv is not a fitted model, which icdh fit TABLE --save MODEL.icdh writes"),
    ("fit model.icdh", "model.icdh is a fitted model, not a table"),
    ("effects model.icdh data.csv", "model.icdh answers this without a table; leave data.csv out"),
    ("effects model.icdh data.csv more.csv", "no such option or argument here: data.csv more.csv"),
    # What they hold.
    ("fit head.csv", "the table has 0 rows"),
    ("fit word.csv", "line 3, column 'b': 'dog' is not a number"),
    ("fit data.csv --sep '|' --quiet", "; this reads it: icdh fit data.csv --quiet --sep comma\n"),
    ("fit --delimiter='|' data.csv", "; this reads it: icdh fit data.csv --sep comma\n"),
    ("fit headless.csv", "this reads it: icdh fit headless.csv --no-header\n"),
    ("fit gap.csv", "gaps in 1 of 2 rows: 1 in 'b'; this reads it: icdh fit"),
    (
        "effects data.csv --cause a --effect bb",
        "--effect has the variable 'bb', which is not one of a, b, c; did you mean 'b'?",
    ),
    ("effects data.csv --cause aa --effect b --values 1", "--cause has the variable 'aa'"),
    ("effects data.csv --cause a --effect b --adjust cc", "no column 'cc'; it has a, b, c; did you mean 'c'?"),
    ("effects gap.csv --cause a --effect b", ": icdh effects gap.csv --cause a --effect b --missing drop\n"),
    ("check model.icdh gaps.csv", "this reads it: icdh check model.icdh gaps.csv --missing drop\n"),
    ("direction mixed.csv", "line 2, column 'city': 'Rome' is not a number"),
    ("direction data.csv --columns a dosage", "no column 'dosage'"),
    ("direction words.csv", "'x' is not a number; write the numbers, or leave the column out\n"),  # and no remedy
    ("fit data.csv --na a=-1,b=9", "--na is repeated for each column, as in --na a=-1 --na b=9; got 'a=-1,b=9'"),
    ("direction mixed.csv --columns a a", "names 'a' twice"),
    ("fit data.csv --drop x", "has no column 'x'"),
    ("fit page.csv", "page.csv is a web page, not a table; download the file itself"),
    ("fit data.csv --where 'a>40'", "no option selects rows: write those to read into a file of their own"),
    ("fit --dataset sachs-experiments --condition-column condition", "is about a file"),
    ("fit data.csv --drop a --kinds a=ordinal", "--kinds names 'a', which --drop or --columns leaves out"),
    ("fit data.csv --columns b c --kinds a=ordinal", "--kinds names 'a', which --drop or --columns leaves out"),
    ("fit data.csv --kinds x=ordinal", "no column 'x'"),
    ("fit gaps.csv --weights d", "no column 'd'"),
    ("effects data.csv --cause a --effect b --adjust 'c a'", "no column 'c a'; it has a, b, c"),
    ("fit data.csv --roots a b", "names are separated by commas: --roots A,B"),
    ("effects data.csv --cause a --effect b --level 95", "--level: must be"),
    ("effects data.csv --cause a --effect b --missing impute", "'impute' is none of error, drop"),
    ("effects --model m.icdh", "a model may stand in its place"),
    ("fit data.csv --truth dog.csv", "line 2: 'dog' is not one of the variables a, b, c"),
    ("fit data.csv --delimiter 'too long'", "--sep must be one character"),
    ("predict model.icdh word.csv", "column 'b': 'dog' is not a number"),
    ("sample model.icdh --do z=1", "--do has the variable 'z', which is not one of"),
    ("sample model.icdh --do a", "--do needs NAME=NUMBER"),
    ("sample model.icdh --shift a=one", "'one' is none"),
    ("sample model.icdh --do a=1 --shift a=1", "twice"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, chain):
    """A table, a model, and files that are neither."""
    path = tmp_path_factory.mktemp("refused")
    write_table(path / "data.csv", chain.values, chain.columns)
    HNMSearch(noise_distribution="gaussian").fit(chain).save(path / "model.icdh")
    for name, text in TEXTS.items():
        (path / name).write_text(text)
    (path / "link.csv").symlink_to("data.csv")
    return path


@pytest.mark.parametrize(("command", "said"), REFUSED)
def test_what_is_refused_is_one_line_and_changes_nothing(folder, command, said, refused, monkeypatch):
    monkeypatch.chdir(folder)
    if "--kinds" not in command and "head" not in command:
        monkeypatch.setattr(HNMSearch, "fit", lambda *_, **__: pytest.fail("fitted before it was refused"))
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    err = refused(*shlex.split(command))
    assert err.count("\n") == 1 or not command
    assert err.startswith("icdh") or not command
    assert said in err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_direction_of_no_columns_is_refused_in_a_whole_sentence(folder, refused, monkeypatch):
    monkeypatch.chdir(folder)
    err = refused("direction", "data.csv", "--drop", "a", "b", "c")
    assert err.endswith("error: a direction needs two variables; data.csv has none left\n")


COMMANDS = next(own for own in cli.build_parser()._actions if isinstance(own, argparse._SubParsersAction)).choices
OPTIONS = [
    (command, action)
    for command, parser in COMMANDS.items()
    for action in parser._actions
    if action.option_strings and (action.type or action.choices)
]
ASKED = (ICDH.__init__, HNMSearch.__init__, CausalGraphEstimator.sample, bootstrap, causal_direction)
ASKED = (*ASKED, simulate.simulate_sem, simulate.erdos_renyi)
INNER = {name for own in ASKED for name in inspect.signature(own).parameters if "_" in name.strip("_")}


@pytest.mark.parametrize(("command", "action"), OPTIONS, ids=lambda value: getattr(value, "dest", value))
def test_wrong_values_are_said_of_the_option_that_was_typed(command, action, capsys):
    """Never of an argument of the library."""
    option = action.option_strings[-1]
    for wrong in ("-1", "-7.5", "nan", "1e999", "nonsense", "", "0"):
        code = 0
        try:
            COMMANDS[command].parse_args(["data.csv", f"{option}={wrong}"])
        except SystemExit as end:
            code = end.code
        said = capsys.readouterr().err
        assert (code, said.count("\n")) in ((0, 0), (2, 1))
        if code and "required" not in said:  # another argument of the command is missing
            assert option in said
            assert not [name for name in INNER if name in said.replace(option, "")], said


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_explained(command):
    """Parameters of the estimators by their docstrings."""
    assert [action.dest for action in COMMANDS[command]._actions if len(action.help or "") < 8] == []
