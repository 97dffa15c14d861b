"""``icdh sample``: draw rows from a saved model, as they are or under an intervention."""

from dataclasses import dataclass

from icdh.cli._input import do_of, give_table, loaded
from icdh.cli._options import MODEL, OUTPUT_TABLE, Actions, Command, read, whole, written


@dataclass(frozen=True, kw_only=True)
class Sample(Actions, Command):
    """The command."""

    summary = "draw rows from a saved model, also under interventions"
    description = "Draw rows from a saved model, as they are or with variables set from outside, as a table."
    model: str = read(MODEL, "the model")
    rows: int = whole(1000, "number of rows", 1, flags="-n --rows", metavar="M")
    output: str | None = written(OUTPUT_TABLE, flags="-o --output")
    seed: int = whole(0, "random seed of the noise")

    def run(self) -> None:
        """Read, draw and write."""
        model = loaded(self.model)
        give_table(self.output, model.sample(self.rows, self.seed, do=do_of(self, model)), model.names)
