"""``sekgnn example``: a small real table of molecules to try the other commands on.

It is every 131st molecule of QM9 as qm9pack lists it, beginning with the 66th: 999 of
130,831. QM9 is in the public domain (CC0): R. Ramakrishnan, P. O. Dral, M. Rupp and
O. A. von Lilienfeld, Scientific Data 1, 140022 (2014).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sekgnn.cli.failures import say
from sekgnn.cli.shared_options import Quiet


def example(
    output: Annotated[Path, typer.Argument(help="CSV file to write")] = Path(
        "molecules.csv"
    ),
    quiet: Quiet = False,
) -> None:
    """Write 999 molecules of QM9 with three properties, to train and predict on.

    Columns: smiles; alpha, polarizability in cubic Bohr radii; gap between the frontier
    orbitals in Hartree; cv, heat capacity in cal/(mol K). An existing file is kept.
    """
    from importlib.resources import files

    from sekgnn.errors import OutputError
    from sekgnn.files import write_atomically

    if output.exists():
        raise OutputError(f"{output} exists; remove it, or name another file.")
    table = files("sekgnn.datasets").joinpath("molecules.csv").read_bytes()
    write_atomically(output, lambda file: file.write(table))
    if not quiet:
        say(
            f"wrote {output}: 999 molecules of QM9 (CC0; Ramakrishnan et al., 2014)\n"
            f"next: sekgnn train {output} --target cv --preset lbfgs --epochs 5"
        )
