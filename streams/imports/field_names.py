"""How people call the columns of their games: which field a column is, told by its name alone."""

import re
import unicodedata
from collections.abc import Iterable

# What is said of a column by its name, without case, blanks, signs and accents. The first one wins.
_NAMES: dict[str, tuple[str, ...]] = {
    "game_id": (
        *(
            "gameid",
            "matchid",
            "id",
            "uuid",
            "gameno",
            "matchno",
            "gamenumber",
            "matchnumber",
            "gamenr",
            "spielnr",
            "spielnummer",
        ),
        *("playid", "game", "match", "no", "nr", "number", "partie", "spiel", "boardid", "tableid"),
    ),
    "ended_at": (
        *("endedat", "ended", "enddate", "endtime", "finishedat", "finished", "lastmoveat", "date", "datum"),
        *("playedat", "playedon", "played", "gamedate", "matchdate", "playdate", "datetime", "timestamp"),
        *("when", "day", "jour", "fecha", "data", "dato", "time", "start", "startedat", "createdat"),
    ),
    "hour": ("time", "hour", "heure", "uhrzeit", "hora", "kickoff", "starttime", "clock", "tid"),
    "player1": (
        *("white", "home", "hometeam", "player1", "playera", "playerone", "p1", "name1", "team1", "teama"),
        *(
            "side1",
            "sidea",
            "blanc",
            "blancs",
            "weiss",
            "wei",
            "heim",
            "heimteam",
            "domicile",
            "local",
            "first",
        ),
    ),
    "player2": (
        *(
            "black",
            "away",
            "awayteam",
            "visitor",
            "visitors",
            "guest",
            "player2",
            "playerb",
            "playertwo",
            "p2",
        ),
        *(
            "name2",
            "team2",
            "teamb",
            "side2",
            "sideb",
            "noir",
            "noirs",
            "schwarz",
            "gast",
            "gastteam",
            "visiteur",
        ),
        *("opponent", "second", "extrieur"),
    ),
    "winner": ("winner", "winnername", "won", "sieger", "vainqueur", "gagnant", "ganador", "vinder"),
    "loser": ("loser", "losername", "lost", "verlierer", "perdant", "perdedor", "taber"),
    "points1": (
        *("homegoals", "homescore", "homepoints", "score1", "scorea", "points1", "goals1", "pts1", "fthg"),
        *("whitescore", "whitepoints", "p1score", "player1score", "team1score", "result1", "tore1", "hg"),
        *("whiteresult", "scorehome", "scorewhite", "goalshome", "resulthome"),
    ),
    "points2": (
        *("awaygoals", "awayscore", "awaypoints", "score2", "scoreb", "points2", "goals2", "pts2", "ftag"),
        *("blackscore", "blackpoints", "p2score", "player2score", "team2score", "result2", "tore2", "ag"),
        *("blackresult", "scoreaway", "scoreblack", "goalsaway", "resultaway"),
    ),
    "result": ("result", "resultat", "ergebnis", "resultado", "score", "outcome", "res", "stand", "uitslag"),
    "player": (
        "player",
        "playername",
        "playerid",
        "name",
        "nick",
        "username",
        "user",
        "spieler",
        "joueur",
        "who",
    ),
    "rank": ("rank", "place", "position", "placement", "finish", "standing", "rang", "platz", "pos", "plass"),
    "points": ("points", "score", "pts", "punkte", "total", "vp", "victorypoints", "goals"),
    "team": ("team", "side", "teamname", "equipe", "mannschaft"),
    "rated": ("rated", "ranked", "mode", "israted"),
    "game_type": ("gametype", "variant", "type", "gamename", "category", "rules"),
    "ladder": ("ladder", "league", "division", "div", "liga", "ligue", "competition"),
}
# What a path of JSON ends with, behind what tells the field: white.user.name is white's.
_ENDINGS = re.compile(r"(?:(?:user)?name|nick(?:name)?|user|id|player)+$")


def plain_name(name: str) -> str:
    """Return a column's name by its letters and digits alone, without accents or case."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in letters if letter.isalnum() and letter.isascii())


def fields_of(names: Iterable[str]) -> dict[str, str]:
    """Return for each field the column that is called so; no column twice."""
    plain = {name: plain_name(name) for name in names}
    fields: dict[str, str] = {}
    for field, words in _NAMES.items():
        for word in words:
            column = next(
                (
                    name
                    for name, is_called in plain.items()
                    if is_called == word and name not in fields.values()
                ),
                None,
            )
            if column is not None:
                fields[field] = column
                break
    return fields


def fields_of_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return for each field the path of JSON whose end tells it, perhaps before a word such as name."""
    exactly: dict[str, str] = {}
    nearly: dict[str, str] = {}
    for path in paths:
        steps = [plain_name(step) for step in re.split(r"[.\[\]]+", path) if plain_name(step)]
        for count in (1, 2, 3):
            word = "".join(steps[-count:])
            exactly.setdefault(word, path)
            if _ENDINGS.search(word):
                nearly.setdefault(_ENDINGS.sub("", word), path)
    # home.name is home's name, whatever score.home is.
    called = {**exactly, **nearly}
    fields = fields_of(called)
    return {field: called[name] for field, name in fields.items()}
