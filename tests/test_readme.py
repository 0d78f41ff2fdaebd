"""What README.md shows is what the code prints."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_example_is_the_example_file_and_its_output_is_real():
    readme = (ROOT / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```", readme, re.S).groups()
    script = (ROOT / "examples" / "three_cells.py").read_text()
    assert code in script
    run = subprocess.run(
        [sys.executable, "examples/three_cells.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == output


def test_the_games_in_the_readme_are_one_game(tmp_path):
    import levelkit as lk

    readme = (ROOT / "README.md").read_text()
    toml = re.search(r"```toml\n(.*?)```", readme, re.S).group(1)
    (tmp_path / "games.toml").write_text(toml)
    game = lk.read_games(tmp_path / "games.toml")["chicken"]
    scope = {"lk": lk}
    exec(re.search(r"```python\n(game = .*?)```", readme, re.S).group(1), scope)
    assert game.same_payoffs(scope["game"])


def test_the_depth_example_is_the_example_file_and_its_output_is_real():
    readme = (ROOT / "README.md").read_text()
    code, output = re.search(r"## How deep.*?```python\n(.*?)```\n\ngives\n\n```text\n(.*?)```", readme, re.S).groups()
    assert code in (ROOT / "examples" / "depth_games.py").read_text()
    run = subprocess.run(
        [sys.executable, "examples/depth_games.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout == output
