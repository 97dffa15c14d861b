"""What nothing else in a table can cause: sex, age, birth and the calendar, by their names in common languages."""

import re
import shlex
import unicodedata
from collections.abc import Collection, Sequence

import numpy as np

from icdh._utils.arrays import Floats
from icdh._utils.labels import printable

GIVEN = frozenset(
    """
    age agegroup agecat asian birthdate birthyear black birthday caucasian date dateofbirth day dob ethnic ethnicity
    female gender hisp hispanic hour male man minority month monthofbirth nonwhite quarter race season sex week
    weekday white woman year yearofbirth yob yr
    alter datum geburtsjahr geschlecht jahr jahreszeit mann mannlich monat tag weiblich
    annee femme genre homme jour mois naissance saison sexe
    ano edad estacion fecha genero hombre mes mujer raza sexo
    anno femmina genere idade maschio mese sesso
    geboortejaar geslacht jaar leeftijd maand man vrouw
    alder fodelsear kjonn plec rok wiek vek pohlavi rik vozrast pol god
    возраст год пол 年齢 性別 年 年龄 性别 나이 성별
    """.split()  # noqa: SIM905 - as words of a text
)


def question_about_roots(adjacency: Floats, names: Sequence[object], dates: Collection[str] = ()) -> str | None:
    """Return the question whether variables such as age have causes; None if no arrow points to one.

    Parameters
    ----------
    adjacency : ndarray, shape (N, N)
        The graph.
    names : sequence
        Its variables.
    dates : collection of str
        Those that are dates.
    """
    given = [n for n, name in enumerate(names) if adjacency[:, n].any() and (name in dates or is_given(str(name)))]
    if not given:
        return None
    arrows = [f"{names[cause]} -> {names[n]}" for n in given for cause in np.flatnonzero(adjacency[:, n]).tolist()]
    roots = printable(",".join(str(names[n]) for n in given))
    question = f"can this be: {printable(', '.join(arrows))}? If nothing causes {roots.replace(',', ', ')}, "
    return f"{question}pass --roots {shlex.quote(roots)}"


def is_given(name: str) -> bool:
    """Return whether a name is that of what nothing else in a table causes, whatever its case, accents and numbers.

    Examples
    --------
    >>> from icdh.cli._roots import is_given
    >>> [is_given(name) for name in ("Birth_Year", "Âge (ans)", "female2", "wage")]
    [True, True, True, False]
    """
    name = re.sub(r"\(.*\)|\[.*\]", "", name).casefold()
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return "".join(filter(str.isalpha, plain)) in GIVEN
