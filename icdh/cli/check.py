"""``icdh check``: whether a saved model fits a table, and which of its arrows can be trusted."""

import json
from dataclasses import dataclass

from icdh.cli import _options as options
from icdh.cli._input import loaded, read_input, succeeds
from icdh.cli._messages import BAD_INPUT
from icdh.files import write_text


def _check_questions(path: str) -> None:
    if not path.lower().endswith(".toml"):
        raise ValueError(f"--questions writes TOML; {path} must end in .toml")


@dataclass(frozen=True, kw_only=True)
class Check(options.Format, options.Relations, options.Experiments, options.Command):
    """The command."""

    summary = "whether a saved model fits a table, and which of its arrows can be trusted"
    description = (
        "Test whether the residual of every variable is independent of its causes, of the mean that they predict, and "
        "of all else that it does not cause. List the arrows, those to settle by knowledge first. No graph is changed."
    )
    model: str = options.read(options.MODEL, "the model")
    data: str = options.read(options.TABLE, "the table")
    questions: str | None = options.written(
        "write the arrows most in doubt as a file to fill in: .toml", _check_questions
    )
    n_questions: int = options.whole(5, "number of arrows in that file", 1)
    knowledge: str | None = options.read("file of background knowledge; arrows that it decides are not tested")
    json: bool = options.flag("print JSON")
    seed: int = options.whole(0, "random seed of rows and initial weights")
    missing: str = options.about_gaps(("error", "drop"))

    def run(self) -> int:
        """Read, check, write the questions and print what was found."""
        from icdh.diagnostics.check import check
        from icdh.knowledge import Knowledge

        model = loaded(self.model, self.data)
        knowledge = Knowledge.read(self.knowledge) if self.knowledge else None
        rows = read_input(self, model).complete()
        result = check(model, rows.table, **rows.relations, knowledge=knowledge, random_state=self.seed)
        done = succeeds(write_text, self.questions, result.questions(self.n_questions))
        print(json.dumps(result.to_dict(), indent=2) if self.json else result.summary())
        return 0 if done else BAD_INPUT
