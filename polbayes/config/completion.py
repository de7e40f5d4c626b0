"""Completion of command lines in a shell."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from polbayes.config.resources import folder
from polbayes.config.schema import STAGES, RunConfig
from polbayes.config.tasks import TASKS
from polbayes.errors import check_known

# Each asks `polbayes --complete WORD`, which prints a candidate a line.
SCRIPTS: Mapping[str, str] = {
    "bash": r"""_polbayes() {
  local word="${COMP_LINE:0:COMP_POINT}"; word="${word##* }"
  local cut="${word%"${word##*[=:]}"}" IFS=$'\n' one
  COMPREPLY=()
  for one in $(polbayes --complete "$word" 2>/dev/null); do COMPREPLY+=("${one#"$cut"}"); done
}
complete -o nospace -o default -F _polbayes polbayes
""",
    "zsh": r"""#compdef polbayes
_polbayes() {
  local -a found; found=(${(f)"$(polbayes --complete "$PREFIX" 2>/dev/null)"})
  if (( $#found )); then
    compadd -S '' -- $found
  else
    compset -P '*='; _files
  fi
}
compdef _polbayes polbayes
""",
    "fish": r"""function __polbayes_complete
  set -l word (commandline -ct)
  set -l found (polbayes --complete $word 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else if string match -q '*=*' -- $word
    set -l parts (string split -m 1 = -- $word)
    printf "$parts[1]=%s\n" (__fish_complete_path $parts[2])
  end
end
complete -c polbayes -f -a '(__polbayes_complete)'
""",
}
_FLAGS = ("--help", "--version", "--cfg", "--config-dir", "--quiet", "--verbose", "--json")


def script(shell: str) -> str:
    """Return what makes a shell complete command lines of polbayes."""
    check_known("shell", shell, known=SCRIPTS, where="--completion")
    return SCRIPTS[shell]


def candidates(word: str) -> list[str]:
    """Return what a word that was begun may become."""
    key, given, _ = word.partition("=")
    if word.startswith("-"):
        found = list(_FLAGS)
    elif given:
        found = [f"{key}={value}" for value in _values(key.lstrip("+"))]
    else:
        sign = "+" if word.startswith("+") else ""
        found = [f"{sign}{name}" for name in _keys(RunConfig)]
        found += [f"{sign}{group}=" for group in _groups()]
        found += [] if sign else ["+experiment="]
    return sorted({one for one in found if one.startswith(word)})


def _groups() -> list[str]:
    return [path.name for path in folder("conf").iterdir() if path.is_dir()]


def _keys(section: Any, before: str = "") -> Iterator[str]:
    """Yield the keys of the config, nested ones with dots."""
    hints = get_type_hints(section)
    for one in fields(section):
        if is_dataclass(hints[one.name]):
            yield from _keys(hints[one.name], f"{before}{one.name}.")
        else:
            yield f"{before}{one.name}="


def _values(key: str) -> list[str]:
    if key == "task":
        return list(TASKS)
    if key == "stages":
        return [f"[{stage}]" for stage in STAGES]
    place = folder("conf") / key
    return sorted(path.stem for path in place.glob("*.yaml")) if key in _groups() else []
