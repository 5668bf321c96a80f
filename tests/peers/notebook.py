"""Executes a notebook as Jupyter does, and prints it with its outputs, as JSON: `notebook.py NOTEBOOK`.

`repository/test_notebook.py` runs it with the Python of an environment that has nbclient and ipykernel. The notebook in
docs/ is renewed with `python tests/peers/notebook.py docs/first-look.ipynb > new && mv new docs/first-look.ipynb`.
"""

import sys

import nbformat  # type: ignore[import-not-found,unused-ignore]
from nbclient import NotebookClient  # type: ignore[import-not-found,unused-ignore]

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
for cell in notebook.cells:
    cell.metadata.pop("execution", None)  # times
    if "outputs" in cell:  # on stderr are warnings of other libraries, such as that there are no progress bars
        cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"], "language_info": {"name": "python"}}
sys.stdout.write(nbformat.writes(notebook, indent=1) + "\n")
