"""Tables in GitHub's Markdown."""

from parity.report.github import github_table


def test_a_line_of_names_a_rule_and_the_rows():
    table = github_table(["kernel", "time", "share"], [["`neg`", "1 us", "90 %"], ["`exp`", "2 us", ""]], right=2)
    assert table.splitlines() == [
        "| kernel | time | share |",
        "| --- | ---: | ---: |",
        "| `neg` | 1 us | 90 % |",
        "| `exp` | 2 us |  |",
    ]


def test_without_rows_the_names_remain():
    assert github_table(["kernel", "time"], []) == "| kernel | time |\n| --- | --- |"
