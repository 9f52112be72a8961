#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""Sums the JUnit files of all runners: durations, skipped and failed tests with reasons, one line.

sum_results.py FOLDER               the sum; exit status 1 when anything failed
sum_results.py --brief FOLDER NAME  one runner, for the progress line

Each runner leaves FOLDER/NAME.rc ("tests 0 12" or "build 0 345": kind, exit status, seconds),
NAME.log and, for tests, NAME.xml. The durations also go to FOLDER/durations.txt. A runner that crashed, ran no tests, or ended badly although every test passed
counts as one failed test, so that nothing fails in silence.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

LOG_LINES = 30


class Runner:
    def __init__(self, folder, name):
        self.name = name
        self.log = folder / f"{name}.log"
        self.passed = 0
        self.failed = []  # (test, reason)
        self.skipped = []
        kind, status, seconds = (folder / f"{name}.rc").read_text().split()
        self.kind, self.status, self.seconds = kind, int(status), int(seconds)
        if kind == "build":
            if self.status:
                self.failed.append((name, f"the build ended with status {self.status}"))
            return
        self.read(folder / f"{name}.xml")
        self.judge_runner()

    def read(self, path):
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except (OSError, ElementTree.ParseError):
            return
        for case in cases:
            test = f"{self.name}: {case.get('classname')}.{case.get('name')}"
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            skip = case.find("skipped")
            if bad is not None:
                self.failed.append((test, first_line(bad)))
            elif skip is not None or case.get("result") in ("skipped", "suppressed"):
                disabled = case.get("status") == "notrun"
                reason = first_line(skip) if skip is not None else ""
                self.skipped.append((test, reason or ("disabled" if disabled else "no reason given")))
            else:
                self.passed += 1

    def judge_runner(self):
        if self.status in (124, 137):
            self.failed.append((self.name, "the runner ran out of time"))
        elif self.passed + len(self.failed) + len(self.skipped) == 0:
            self.failed.append((self.name, f"no test ran; status {self.status}"))
        elif self.status and not self.failed:
            self.failed.append((self.name, f"all tests passed but the runner ended with status {self.status}"))

    def brief(self):
        if self.kind == "build":
            return "FAILED" if self.failed else "built"
        text = f"{self.passed} passed"
        if self.failed:
            text += f", {len(self.failed)} FAILED"
        if self.skipped:
            text += f", {len(self.skipped)} skipped"
        return text


def durations(runners):
    """One line per runner family (what is before the slash), then one per runner, longest first."""
    families = {}
    for runner in runners:
        times = families.setdefault(runner.name.split("/")[0], {"build": 0, "tests": 0})
        times[runner.kind] += runner.seconds
    lines = [f"{'':34} {'build s':>8} {'run s':>8}"]
    for name, times in sorted(families.items(), key=lambda item: -sum(item[1].values())):
        lines.append(f"{name:34} {times['build']:8} {times['tests']:8}")
    lines.append("")
    for runner in sorted(runners, key=lambda runner: -runner.seconds):
        if runner.seconds < 2:
            lines.append("and others of less than two seconds each")
            break
        column = 8 if runner.kind == "build" else 17
        lines.append(f"{runner.name:34} {runner.seconds:{column}}")
    return lines


def first_line(element):
    text = (element.get("message") or element.text or "").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # gtest puts the file and line first; the reason follows.
    if len(lines) > 1 and lines[0].rsplit(":", 1)[-1].isdigit():
        lines = lines[1:]
    return lines[0] if lines else ""


def main():
    if sys.argv[1] == "--brief":
        print(Runner(pathlib.Path(sys.argv[2]), sys.argv[3]).brief())
        return 0
    folder = pathlib.Path(sys.argv[1])
    runners = [Runner(folder, str(path.relative_to(folder).with_suffix("")))
               for path in sorted(folder.rglob("*.rc"))]
    passed = sum(runner.passed for runner in runners)
    failed = [item for runner in runners for item in runner.failed]
    skipped = [item for runner in runners for item in runner.skipped]

    table = durations(runners)
    (folder / "durations.txt").write_text("\n".join(table) + "\n")
    print("\nHow long it took; runners overlap, so the sum is more than the time that passed:")
    print("\n".join(table))
    for runner in runners:
        if runner.failed and runner.log.exists():
            print(f"\n--- the end of {runner.log}")
            print("\n".join(runner.log.read_text(errors="replace").splitlines()[-LOG_LINES:]))
    print()
    for test, reason in skipped:
        print(f"skipped  {test}: {reason}")
    for test, reason in failed:
        print(f"FAILED   {test}: {reason}")
    if not runners or passed + len(failed) == 0:
        failed.append(("all", "no test ran"))
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
