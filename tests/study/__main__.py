"""The study: no false alarm on sound runs, and the right name for planted faults.

    python -m tests.study [--sound 1000] [--planted 500] [--seed 0] [--only NAME] [--show 3]

Cases are the same for the same seed. Runs are recorded below a temporary folder; one in
memory (TMPDIR=/dev/shm) is faster.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.study.between import BETWEEN
from tests.study.forms import FORMS, draw_form
from tests.study.judging import Tally, judge, loud, outcome_of
from tests.study.planting import FAULTS, plant, rule_of
from tests.study.sound import PAIRS, draw_loader, draw_pair, hide_some

RUN = "one run"


def main() -> int:
    """Run the study; 1 where a target was missed."""
    options = _parse()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        sound = _study_sound(Path(folder), options)
        planted = _study_planted(Path(folder), options)
    false_alarms = _print_sound(sound, options.show)
    share = _print_planted(planted, options.show)
    _tell(f"\n{time.perf_counter() - began:.0f} seconds, seed {options.seed}")
    return int(false_alarms > 0 or share < 0.97)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.study", description=__doc__)
    parser.add_argument("--sound", type=int, default=1000, help="sound runs and pairs")
    parser.add_argument("--planted", type=int, default=500, help="planted faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds whose name has this text")
    parser.add_argument("--show", type=int, default=3, help="failures of a kind to show")
    return parser.parse_args()


def _study_sound(folder: Path, options: argparse.Namespace) -> dict[str, Tally]:
    kinds = [kind for kind in [RUN, *PAIRS, *FORMS] if options.only in kind]
    tallies = {kind: Tally() for kind in kinds}
    for number in range(options.sound if kinds else 0):
        rng = random.Random(f"sound {options.seed} {number}")
        kind = kinds[0] if number % 3 == 0 else kinds[(number - number // 3) % len(kinds)]
        if kind == RUN:
            logs = [draw_loader(rng, hidden=hide_some(rng)).deliver()]
        elif kind in FORMS:
            logs = draw_form(rng, kind)
        else:
            logs = list(reversed(draw_pair(rng, kind)))
        alarms = loud(judge(folder / "case", *logs))
        tallies[kind].outcomes["alarm" if alarms else "clean"] += 1
        if alarms:
            told = "; ".join(f"{alarm.rule} ({alarm.run}): {alarm.message}" for alarm in alarms)
            tallies[kind].failures.append(f"{number}: {told}")
    return tallies


def _study_planted(folder: Path, options: argparse.Namespace) -> dict[str, Tally]:
    kinds = [kind for kind in [*FAULTS, *BETWEEN] if options.only in kind]
    tallies = {kind: Tally() for kind in kinds}
    for number in range(options.planted if kinds else 0):
        rng = random.Random(f"planted {options.seed} {number}")
        kind = kinds[number % len(kinds)]
        case = plant(rng, kind)
        result = judge(folder / "case", case.log, case.baseline)
        outcome = outcome_of(result, case)
        tallies[kind].outcomes[outcome] += 1
        if outcome != "right":
            told = [f"{finding.rule} ({finding.severity})" for finding in result.findings]
            tallies[kind].failures.append(f"{number}: wanted {case.rules}, got {told}")
    return tallies


def _print_sound(tallies: dict[str, Tally], show: int) -> int:
    _tell(f"{'sound':26}{'cases':>7}{'alarms':>8}")
    for kind, tally in tallies.items():
        _tell(f"{kind:26}{tally.outcomes.total():7}{tally.outcomes['alarm']:8}")
    _print_failures(tallies, show)
    return sum(tally.outcomes["alarm"] for tally in tallies.values())


def _print_planted(tallies: dict[str, Tally], show: int) -> float:
    columns = ("right", "other", "none")
    _tell(f"\n{'planted':22}{'rule':24}{'cases':>6}" + "".join(f"{name:>7}" for name in columns))
    for kind, tally in tallies.items():
        counts = "".join(f"{tally.outcomes[name]:7}" for name in columns)
        _tell(f"{kind:22}{rule_of(kind):24}{tally.outcomes.total():6}{counts}")
    cases = sum(tally.outcomes.total() for tally in tallies.values())
    right = sum(tally.outcomes["right"] for tally in tallies.values())
    share = right / max(cases, 1) if cases else 1.0
    _tell(f"{'all':46}{cases:6}{right:7}  {share:.1%} right")
    _print_failures(tallies, show)
    return share


def _print_failures(tallies: dict[str, Tally], show: int) -> None:
    for kind, tally in tallies.items():
        for failure in tally.failures[:show]:
            _tell(f"  {kind}, case {failure}")


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
