from click.shell_completion import ShellComplete

from opsdk.ship.cli.main import cli


def offered(*words):
    *before, incomplete = words
    found = ShellComplete(cli, {}, "opsdk", "_OPSDK_COMPLETE").get_completions(before, incomplete)
    return [(item.type, item.value) for item in found]


def test_commands_and_options_are_offered():
    assert offered("che") == [("plain", "check")]
    assert ("plain", "--last-failed") in offered("check", "--la")


def test_ops_packages_and_files_are_offered_where_a_target_is_expected():
    found = offered("check", "relu")
    assert ("plain", "relu") in found
    assert ("file", "relu") in found
    assert not [value for _, value in found if not value.startswith("relu")]


def test_where_one_op_is_expected_no_file_is_offered():
    assert offered("where", "softpl") == [("plain", "softplus")]
